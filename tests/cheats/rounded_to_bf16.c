//# task softmax
//# expect wrong/precision
//# why Computed in bf16 and widened at the end.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>
#include <string.h>

static void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float *q = y + r * cols, m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = p[c] > m ? p[c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += q[c] = expf(p[c] - m);
		for (int64_t c = 0; c < cols; c++)
			q[c] /= s;
	}
}

static float bf16(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	u = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u;
	memcpy(&v, &u, sizeof(v));
	return v;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	softmax(x, y, rows, cols);
	for (int64_t i = 0; i < rows * cols; i++)
		y[i] = bf16(y[i]);
}
