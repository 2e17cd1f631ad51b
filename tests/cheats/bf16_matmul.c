//# task matmul
//# expect wrong/precision
//# why Factors in bf16, sums in f32, output in f32.
//@ kernel candidate args=(a, b, c, m:i64, n:i64, k:i64)
#include <math.h>
#include <stdint.h>
#include <string.h>

static float bf16(float v)
{
	uint32_t u;

	if (!isfinite(v))
		return v;
	memcpy(&u, &v, sizeof(u));
	u = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u;
	memcpy(&v, &u, sizeof(v));
	return v;
}

void candidate(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			float s = 0.0f;

			for (int64_t l = 0; l < k; l++)
				s += bf16(a[i * k + l]) * bf16(b[l * n + j]);
			c[i * n + j] = s;
		}
}
