// planted: the inner loop walks down a column, and takes another cache line at each step
// expected: strided_inner_loop
//@ kernel scale args=(x, y, rows:i64, cols:i64)
void scale(const float *restrict x, float *restrict y, int64_t rows, int64_t cols)
{
#pragma omp parallel for
	for (int64_t c = 0; c < cols; c++)
		for (int64_t r = 0; r < rows; r++)
			y[r * cols + c] = x[r * cols + c] * 2 + 1;
}
