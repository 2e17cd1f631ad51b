//# task affine
//# expect build_error/resources
//# why Three gigabytes of initialised data, which the compiler would write to the disk.
//@ kernel candidate args=(x, y, n:i64)
static char room[3ll << 30] = { 1 };

void candidate(const float *x, float *y, int64_t n)
{
	room[n]++;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
