//# task attention
//# expect ok
//# why A running maximum, key by key. Large numbers make near ties of scores, which rounding decides.
//@ kernel candidate args=(q, k, v, y, heads:i64, seq:i64, width:i64)
#include <math.h>
#include <stdint.h>

static void query(const float *q, const float *k, const float *v, float *y, int64_t keys, int64_t width)
{
	float o[64] = { 0 }, scale = 1.0f / sqrtf((float)width), m = -INFINITY, s = 0.0f;

	for (int64_t j = 0; j < keys; j++) {
		float z = 0.0f, e;

		for (int64_t d = 0; d < width; d++)
			z += q[d] * k[j * width + d];
		z *= scale;
		if (z > m) {
			float f = expf(m - z);

			s *= f;
			for (int64_t d = 0; d < width; d++)
				o[d] *= f;
			m = z;
		}
		e = expf(z - m);
		s += e;
		for (int64_t d = 0; d < width; d++)
			o[d] += e * v[j * width + d];
	}
	for (int64_t d = 0; d < width; d++)
		y[d] = o[d] / s;
}

void candidate(const float *q, const float *k, const float *v, float *y, int64_t heads, int64_t seq, int64_t width)
{
	for (int64_t h = 0; h < heads; h++)
		for (int64_t i = 0; i < seq; i++) {
			int64_t row = (h * seq + i) * width, head = h * seq * width;

			query(q + row, k + head, v + head, y + row, i + 1, width);
		}
}
