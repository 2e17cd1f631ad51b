// planted: each element is added to the output where it lies, one after the other
// expected: serial_reduction not_vectorized
//@ kernel row_sums args=(x, y, rows:i64, cols:i64)
void row_sums(const float *x, float *y, int64_t rows, int64_t cols)
{
#pragma omp parallel for
	for (int64_t r = 0; r < rows; r++) {
		y[r] = 0;
		for (int64_t c = 0; c < cols; c++)
			y[r] += x[r * cols + c];
	}
}
