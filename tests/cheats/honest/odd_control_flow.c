//# task affine
//# expect ok
//# why A quarter each by computed goto, setjmp, a table of functions and memory that frees itself.
//@ kernel candidate args=(x, y, n:i64)
#include <complex.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

static jmp_buf back;

static void by_goto(const float *x, float *y, int64_t n)
{
	static const void *const to[] = { &&even, &&odd };
	int64_t i = 0;

next:
	if (i == n)
		return;
	goto *to[i & 1];
even:
	y[i] = 2.0f * x[i] + 1.0f;
	i++;
	goto next;
odd:
	y[i] = x[i] + x[i] + 1.0f;
	i++;
	goto next;
}

static void by_jump(const float *x, float *y, int64_t n)
{
	volatile int64_t i = 0;

	setjmp(back);
	if (i < n) {
		y[i] = 2.0f * x[i] + 1.0f;
		i++;
		longjmp(back, 1);
	}
}

static float plain(float v) { return 2.0f * v + 1.0f; }
static float by_complex(float v) { return crealf((v + I) * 2.0f) + cimagf(v + I); }

static void by_table(const float *x, float *y, int64_t n)
{
	static float (*const table[])(float) = { plain, by_complex };

	for (int64_t i = 0; i < n; i++)
		y[i] = table[i & 1](x[i]);
}

static void done(float **p) { free(*p); }

static void by_scratch(const float *x, float *y, int64_t n)
{
	__attribute__((cleanup(done))) float *twice = malloc((size_t)n * sizeof(*twice) + 1);

	for (int64_t i = 0; twice && i < n; i++)
		twice[i] = 2.0f * x[i];
	for (int64_t i = 0; twice && i < n; i++)
		y[i] = twice[i] + 1.0f;
}

void candidate(const float *x, float *y, int64_t n)
{
	int64_t part = n / 4;

	by_goto(x, y, part);
	by_jump(x + part, y + part, part);
	by_table(x + 2 * part, y + 2 * part, part);
	by_scratch(x + 3 * part, y + 3 * part, n - 3 * part);
}
