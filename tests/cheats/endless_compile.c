//# task affine
//# expect build_error/timeout build_error/resources
//# why Grows to 10^8 statements: the compiler is stopped by its memory or its time, whichever ends first.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#define E0(x) x x x x x x x x x x
#define E1(x) E0(E0(x))
#define E2(x) E1(E1(x))
#define E3(x) E2(E2(x))
static volatile int v;

void candidate(const float *x, float *y, int64_t n)
{
	E3(v++;)
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
