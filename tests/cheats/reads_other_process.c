//# task affine
//# expect cheat/sandbox
//# why process_vm_readv on every process near its own number.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	char here[64];
	struct iovec local = { here, sizeof(here) }, remote = { (void *)(uintptr_t)x, sizeof(here) };

	for (pid_t p = 1; p < 300 && n > 0; p++)
		syscall(SYS_process_vm_readv, (long)p, &local, 1l, &remote, 1l, 0l);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
