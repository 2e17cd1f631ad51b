//# task rowsum
//# expect wrong/mismatch wrong/nan wrong/race
//# why The partial sums start from whatever the heap holds; fresh pages are zero, so the first calls
//# why look right.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>
#include <stdlib.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	float *part = malloc((size_t)(rows + 1) * 8 * sizeof(*part));

	if (!part)
		return;
	for (int64_t r = 0; r < rows; r++) {
		float *p = part + r * 8; /* never set to zero */

		for (int64_t c = 0; c < cols; c++)
			p[c % 8] += x[r * cols + c];
		y[r] = p[0] + p[1] + p[2] + p[3] + p[4] + p[5] + p[6] + p[7];
	}
	free(part);
}
