//# task affine
//# expect runtime_error/illegal_access build_error/syntax
//# why GNU C's function inside a function, whose address is made of code on the stack. clang has none.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

static float call(float (*f)(float), float v)
{
	__asm__ volatile("" : "+r"(f));
	return f(v);
}

void candidate(const float *x, float *y, int64_t n)
{
	float affine(float v)
	{
		return 2.0f * v + (float)(n >= 0);
	}

	for (int64_t i = 0; i < n; i++)
		y[i] = call(affine, x[i]);
}
