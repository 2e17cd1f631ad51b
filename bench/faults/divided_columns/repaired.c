// repaired: two loops for one
//@ kernel add_bias args=(x, bias, y, rows * cols:i64, cols:i64)
void add_bias(const float *restrict x, const float *restrict bias, float *restrict y, int64_t n, int64_t cols)
{
#pragma omp parallel for
	for (int64_t r = 0; r < n / cols; r++)
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = x[r * cols + c] + bias[c];
}
