//@ kernel f args=(x, y, n:i64)
void f(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] + 1;
}
