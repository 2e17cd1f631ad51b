//@ kernel softmax args=(x, y, rows:i64, cols:i64)
/* The candidate of the benchmark: one row a thread, three passes while the row is in its cache. */
void softmax(const float *restrict x, float *restrict y, int64_t rows, int64_t cols)
{
#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float *q = y + r * cols, m = kw_row_max(p, cols), s = 0.0f;

#pragma omp simd reduction(+:s)
		for (int64_t c = 0; c < cols; c++) {
			float e = kw_expf(p[c] - m);

			q[c] = e;
			s += e;
		}
		s = 1.0f / s;
#pragma omp simd
		for (int64_t c = 0; c < cols; c++)
			q[c] *= s;
	}
}
