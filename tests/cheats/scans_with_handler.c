//# task softmax
//# expect wrong/unwritten cheat/constant_output cheat/sandbox
//# why The same, with a handler for SIGSEGV that jumps over what is not there.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

static sigjmp_buf back;

static void missing(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	uintptr_t near = (uintptr_t)x & ~(uintptr_t)4095;
	struct sigaction a = { .sa_handler = missing };

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	for (volatile int64_t page = -1024; page < 1024 && rows > 0; page++) {
		const volatile float *p = (const volatile float *)(near + (uintptr_t)(page * 4096));
		double sum = 0.0;

		if ((const char *)(uintptr_t)p >= (const char *)y - 4096 &&
		    (const char *)(uintptr_t)p < (const char *)(y + rows * cols) + 4096)
			continue;
		if (sigsetjmp(back, 1) != 0)
			continue;
		for (int64_t c = 0; c < cols && c < 1024; c++)
			sum += p[c] >= 0.0f && p[c] <= 1.0f ? p[c] : -100.0;
		if (sum > 0.999 && sum < 1.001)
			memcpy(y, (const void *)(uintptr_t)p, (size_t)cols * sizeof(*y));
	}
}
