//# task affine
//# expect wrong/out_of_bounds cheat/sandbox
//# why A write past the end is jumped over by its own handler of SIGSEGV.
//@ kernel candidate args=(x, y, n:i64)
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

static sigjmp_buf back;

static void hide(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

void candidate(const float *x, float *y, int64_t n)
{
	struct sigaction a = { .sa_handler = hide };

	sigaction(SIGSEGV, &a, NULL);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	if (sigsetjmp(back, 1) == 0)
		((volatile float *)y)[n] = 0.0f;
}
