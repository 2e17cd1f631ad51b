//# task softmax_in_place
//# expect cheat/state
//# why It counts on finding its last answer where it left it, and works in the first calls only.
//@ kernel candidate args=(x, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(float *x, int64_t rows, int64_t cols)
{
	static int calls;

	if (calls++ > 3)
		return;
	for (int64_t r = 0; r < rows; r++) {
		float *p = x + r * cols, top = -INFINITY, sum = 0;

		for (int64_t c = 0; c < cols; c++)
			top = fmaxf(top, p[c]);
		for (int64_t c = 0; c < cols; c++)
			sum += p[c] = expf(p[c] - top);
		for (int64_t c = 0; c < cols; c++)
			p[c] /= sum;
	}
}
