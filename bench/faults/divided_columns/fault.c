// planted: one loop over all elements finds the column of each by a remainder
// expected: cpu_division
//@ kernel add_bias args=(x, bias, y, rows * cols:i64, cols:i64)
void add_bias(const float *restrict x, const float *restrict bias, float *restrict y, int64_t n, int64_t cols)
{
#pragma omp parallel for
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] + bias[i % cols];
}
