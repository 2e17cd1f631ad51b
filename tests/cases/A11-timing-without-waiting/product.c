//# task matmul_32
//# expect ok
//# why Plain loops: 64 times the work is many times the time.
//@ kernel product args=(a, b, c, n:i64)
#include <stdint.h>

void product(const float *a, const float *b, float *c, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			float s = 0.0f;

			for (int64_t k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
}
