//# task max
//# expect wrong/mismatch cheat/constant_output
//# why Lanes without a value hold 0.0f.
//@ kernel reduce args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

static float combine(float a, float b)
{
	return a > b ? a : b;
}

void reduce(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float lane[8], all = -INFINITY;

		for (int i = 0; i < 8; i++)
			lane[i] = -INFINITY;
		for (int64_t c = 0; c < cols; c += 8)
			for (int i = 0; i < 8; i++)
				lane[i] = combine(lane[i], c + i < cols ? x[r * cols + c + i] : 0.0f);
		for (int i = 0; i < 8; i++)
			all = combine(all, lane[i]);
		y[r] = all;
	}
}
