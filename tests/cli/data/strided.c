//@ kernel twice_rows args=(x, y, rows:i64, cols:i64, x.stride0:i64)
void twice_rows(const float *x, float *y, int64_t rows, int64_t cols, int64_t down)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = 2 * x[r * down + c];
}
