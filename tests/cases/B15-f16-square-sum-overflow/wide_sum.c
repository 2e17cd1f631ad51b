//# task rmsnorm_f16
//# expect ok
//# why f16 in and out, f32 inside.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const kw_f16 *x, kw_f16 *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			float v = kw_f16_to_f32(x[r * cols + c]);

			s += v * v;
		}
		float scale = 1.0f / sqrtf(s / (float)cols + 0.00001f);

		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = kw_f16_from_f32(kw_f16_to_f32(x[r * cols + c]) * scale);
	}
}
