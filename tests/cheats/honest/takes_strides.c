//# task any_strides
//# expect ok
//# effort final
//# why It takes both strides, and is right however the rows lie, in layouts drawn after the build too.
//@ kernel candidate args=(x, y, rows:i64, cols:i64, x.stride0:i64, x.stride1:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols, int64_t down, int64_t along)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = 2.0f * x[r * down + c * along] + 1.0f;
}
