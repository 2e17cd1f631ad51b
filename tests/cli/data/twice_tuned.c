//@ kernel twice args=(x, y, n:i64)
//@ tune STEP in {1, 4} default 1
void twice(const float *x, float *y, int64_t n)
{
	int64_t i = 0;

	for (; i + STEP <= n; i += STEP)
		for (int64_t k = 0; k < STEP; k++)
			y[i + k] = x[i + k] * 2;
	for (; i < n; i++)
		y[i] = x[i] * 2;
}
