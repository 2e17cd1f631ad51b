//# task refused
//# expect wrong/precision
//# why Both factors keep 10 fraction bits; the task has them refused.
//@ kernel product args=(a, b, c, m:i64, n:i64, k:i64)
#include <math.h>
#include <stdint.h>
#include <string.h>

static float tf32(float v)
{
	uint32_t u;

	if (!isfinite(v))
		return v;
	memcpy(&u, &v, sizeof(u));
	u = (u + 0x0fff + ((u >> 13) & 1)) & 0xffffe000u;
	memcpy(&v, &u, sizeof(v));
	return v;
}

void product(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			float s = 0.0f;

			for (int64_t l = 0; l < k; l++)
				s += tf32(a[i * k + l]) * tf32(b[l * n + j]);
			c[i * n + j] = s;
		}
}
