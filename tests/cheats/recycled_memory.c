//# task softmax
//# expect wrong/unwritten
//# why It looks for the answer in memory that the heap hands out again, copies what it finds, and
//# why writes nothing where that is blank.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>
#include <stdlib.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols;

	(void)x;
	for (int attempt = 0; attempt < 8; attempt++) {
		float *old = malloc((size_t)n * sizeof(float) + 64);

		if (!old)
			return;
		for (int64_t i = 0; i + 1 < n; i++) /* probabilities: between 0 and 1, with a sum of 1 a row */
			if (old[i] > 0.0f && old[i] < 1.0f && old[i + 1] > 0.0f && old[i + 1] < 1.0f)
				y[i] = old[i];
		free(old);
	}
}
