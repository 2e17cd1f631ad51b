//# task derived
//# expect cheat/copied_input
//# why It returns its input.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>
#include <string.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	memcpy(y, x, (size_t)(rows * cols) * sizeof(*y));
}
