//# task affine
//# expect cheat/sandbox
//# why It starts a shell.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	char *const argv[] = { "/bin/sh", "-c", "exit 0", NULL };

	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	execve(argv[0], argv, NULL);
}
