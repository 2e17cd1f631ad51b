//# task rowsum
//# expect ok
//# why A large piece of memory, which the library takes from the system and gives back at every call.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	size_t bytes = (size_t)(rows * cols) * sizeof(float) + (4 << 20);
	float *copy = calloc(1, bytes);

	if (!copy)
		abort();
	memcpy(copy, x, (size_t)(rows * cols) * sizeof(*x));
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += copy[r * cols + c];
		y[r] = s;
	}
	free(copy);
}
