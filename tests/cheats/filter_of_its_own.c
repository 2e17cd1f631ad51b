//# task affine
//# expect cheat/sandbox
//# why A filter for system calls on top of the player's: it could make those fail that end a call.
//@ kernel candidate args=(x, y, n:i64)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, all };

	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
