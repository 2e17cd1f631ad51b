//# task rowsum
//# expect wrong/race
//# why Two threads add to the same element without a lock; which additions are lost changes from run
//# why to run.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <sched.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	volatile float *out = y;

	for (int64_t r = 0; r < rows; r++)
		out[r] = 0.0f;
#pragma omp parallel for schedule(static, 1) num_threads(4)
	for (int64_t c = 0; c < cols; c++)
		for (int64_t r = 0; r < rows; r++) {
			float before = out[r];

			if ((c + r) % 16 == 0)
				sched_yield(); /* makes sure that it happens, on one processor too */
			out[r] = before + x[r * cols + c];
		}
}
