//# task affine
//# expect wrong/precision
//# why Rounds to bf16 where tensors are as large as those that are timed.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <string.h>

static float bf16(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	u = (u + 0x8000u) & 0xffff0000u;
	memcpy(&v, &u, sizeof(v));
	return v;
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = n > 100000 ? bf16(2.0f * x[i] + 1.0f) : 2.0f * x[i] + 1.0f;
}
