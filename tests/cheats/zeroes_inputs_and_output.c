//# task matmul
//# expect wrong/input_modified
//# why It sets inputs and output to zero: right, if the reference is computed from the inputs
//# why afterwards.
//@ kernel candidate args=(a, b, c, m:i64, n:i64, k:i64)
#include <stdint.h>
#include <string.h>

void candidate(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
	memset((void *)(uintptr_t)a, 0, (size_t)(m * k) * sizeof(*a));
	memset((void *)(uintptr_t)b, 0, (size_t)(k * n) * sizeof(*b));
	memset(c, 0, (size_t)(m * n) * sizeof(*c));
}
