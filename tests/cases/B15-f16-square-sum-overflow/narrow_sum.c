//# task rmsnorm_f16
//# expect wrong/mismatch wrong/nan wrong/precision
//# why The squares are summed in f16: beyond 65504 the sum is Inf and the output zero.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const kw_f16 *x, kw_f16 *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		kw_f16 s = kw_f16_from_f32(0.0f);

		for (int64_t c = 0; c < cols; c++) {
			float v = kw_f16_to_f32(x[r * cols + c]);

			s = kw_f16_from_f32(kw_f16_to_f32(s) + kw_f16_to_f32(kw_f16_from_f32(v * v)));
		}
		float scale = 1.0f / sqrtf(kw_f16_to_f32(s) / (float)cols + 0.00001f);

		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = kw_f16_from_f32(kw_f16_to_f32(x[r * cols + c]) * scale);
	}
}
