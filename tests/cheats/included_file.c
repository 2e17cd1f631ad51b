//# task affine
//# expect build_error/include build_error/syntax
//# why The compiler is asked to read a file of the machine.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include "/etc/passwd"

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
