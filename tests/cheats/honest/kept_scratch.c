//# task rowsum
//# expect ok
//# why Memory is taken once and kept for later calls; nothing of an earlier call is read.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float *scratch;
static int64_t scratch_count;

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	if (scratch_count < rows) {
		free(scratch);
		scratch = malloc((size_t)rows * sizeof(*scratch));
		scratch_count = scratch ? rows : 0;
	}
	if (scratch_count < rows)
		abort();
	for (int64_t r = 0; r < rows; r++)
		scratch[r] = 0.0f;
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < cols; c++)
			scratch[r] += x[r * cols + c];
	if (rows > 0)
		memcpy(y, scratch, (size_t)rows * sizeof(*y));
}
