// repaired: a sum of its own, which may be added up in another order
//@ kernel row_sums args=(x, y, rows:i64, cols:i64)
void row_sums(const float *x, float *y, int64_t rows, int64_t cols)
{
#pragma omp parallel for
	for (int64_t r = 0; r < rows; r++) {
		float sum = 0;

#pragma omp simd reduction(+:sum)
		for (int64_t c = 0; c < cols; c++)
			sum += x[r * cols + c];
		y[r] = sum;
	}
}
