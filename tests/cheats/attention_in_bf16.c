//# task attention
//# expect wrong/precision wrong/mismatch
//# why Scores rounded to bf16 before the softmax.
//@ kernel candidate args=(q, k, v, y, heads:i64, seq:i64, width:i64)
#include <math.h>
#include <stdint.h>
#include "kw.h"

static void query(const float *q, const float *k, const float *v, float *y, int64_t keys, int64_t width)
{
	float z[512], o[64] = { 0 }, scale = 1.0f / sqrtf((float)width), m = -INFINITY, s = 0.0f;

	for (int64_t j = 0; j < keys; j++) {
		z[j] = 0.0f;
		for (int64_t d = 0; d < width; d++)
			z[j] += q[d] * k[j * width + d];
		z[j] = kw_bf16_to_f32(kw_bf16_from_f32(z[j] * scale));
		m = fmaxf(m, z[j]);
	}
	for (int64_t j = 0; j < keys; j++) {
		s += z[j] = expf(z[j] - m);
		for (int64_t d = 0; d < width; d++)
			o[d] += z[j] * v[j * width + d];
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
