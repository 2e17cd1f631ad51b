#include "device/seccomp.h"

#include "base/alloc.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a compute kernel, malloc, a thread library and dlopen of one descriptor need. The player has no descriptor but
 * /dev/null, its control socket and the artefact, and can open none, so reads, writes and maps need no argument checks. */
static const int plain[] = {
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek),
	SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(dup), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendto),
	SCMP_SYS(sendmsg), SCMP_SYS(poll), SCMP_SYS(ppoll),
	SCMP_SYS(munmap), SCMP_SYS(brk),
	SCMP_SYS(membarrier), SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list),
	SCMP_SYS(rseq), SCMP_SYS(set_tid_address), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigpending),
	SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
	SCMP_SYS(sched_get_priority_min), SCMP_SYS(sched_get_priority_max), SCMP_SYS(getcpu),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(getrusage),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getrlimit),
#ifdef __x86_64__
	SCMP_SYS(arch_prctl),
#endif
};
/* What libraries try and do well without. */
static const struct {
	int call, error;
} refused[] = {
	{ SCMP_SYS(clone3), ENOSYS },  /* its flags are in memory: glibc falls back to clone, which can be checked */
	{ SCMP_SYS(ioctl), ENOTTY },   { SCMP_SYS(fcntl), EPERM },	  { SCMP_SYS(mbind), EPERM },
	{ SCMP_SYS(set_mempolicy), EPERM }, { SCMP_SYS(get_mempolicy), EPERM }, { SCMP_SYS(mlock), EPERM },
	{ SCMP_SYS(getcwd), ENOENT },
	/* glibc 2.34 and later place threads with this one. */
	{ SCMP_SYS(sched_setaffinity), EPERM }, { SCMP_SYS(futex_waitv), ENOSYS },
};

static struct scmp_arg_cmp equals(unsigned argument, scmp_datum_t value)
{
	return (struct scmp_arg_cmp){ .arg = argument, .op = SCMP_CMP_EQ, .datum_a = value };
}

static struct scmp_arg_cmp masked(unsigned argument, scmp_datum_t mask, scmp_datum_t value)
{
	return (struct scmp_arg_cmp){ .arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value };
}

/* Memory is never writable and executable, and nothing becomes executable but pages of a file: the artefact, which is
 * sealed. So the code that runs is the code that was built. */
static int add_memory(scmp_filter_ctx c)
{
	static const int advice[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE,
				      MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_COLD, MADV_DONTDUMP, MADV_DODUMP };
	int bad = 0;

	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, masked(2, PROT_EXEC, 0));
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, masked(2, PROT_EXEC | PROT_WRITE, PROT_EXEC),
				masked(3, MAP_ANONYMOUS, 0));
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, masked(2, PROT_EXEC, 0));
	/* realloc grows large blocks so; not onto a given address. */
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mremap), 1, equals(3, MREMAP_MAYMOVE));
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
		bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(madvise), 1, equals(2, (scmp_datum_t)advice[i]));
	return bad;
}

/* abort() and raise() of a fault reach the player's handlers, which report them. All others are refused: those that a first process
 * of a namespace would ignore (SIGKILL, SIGSTOP), and those that others end a process with (player.c). Handlers are never changed: who does that wants to hide a
 * fault or to run when the judge sends SIGCONT; only abort() and the thread library (32 to 34) change their own. */
static int add_signals(scmp_filter_ctx c)
{
	static const int send[] = { SIGABRT, SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGXCPU, 32, 33, 34 };
	static const int handle[] = { SIGABRT, 32, 33, 34 };
	scmp_datum_t self = (scmp_datum_t)getpid();
	int bad = 0;

	for (size_t i = 0; i < sizeof(send) / sizeof(send[0]); i++) {
		bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2, equals(0, self),
					equals(2, (scmp_datum_t)send[i]));
		bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2, equals(0, self),
					equals(1, (scmp_datum_t)send[i]));
	}
	for (size_t i = 0; i < sizeof(handle) / sizeof(handle[0]); i++)
		bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), 1, equals(0, (scmp_datum_t)handle[i]));
	/* Asking is fine. */
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), 1, equals(1, 0));
	return bad;
}

static bool add_checked(scmp_filter_ctx c)
{
	int bad = add_memory(c) | add_signals(c);

	/* Threads only. Without CLONE_THREAD it would be a process. */
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				masked(0, CLONE_THREAD | CLONE_NEWUSER, CLONE_THREAD));
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, equals(3, 0x1000 /* AT_EMPTY_PATH */));
	/* Reading limits only, its own. */
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, equals(0, 0), equals(2, 0));
	bad |= seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, equals(0, PR_SET_NAME));
	bad |= seccomp_rule_add(c, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, equals(0, 0x53564d41 /* PR_SET_VMA */));
	return bad == 0;
}

/* The program of a context as an array of our own. */
static bool take_code(scmp_filter_ctx c, struct kw_seccomp_filter *out)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	off_t bytes;
	bool ok = false;

	if (fd < 0)
		return false;
	if (seccomp_export_bpf(c, fd) == 0 && (bytes = lseek(fd, 0, SEEK_END)) > 0 &&
	    (size_t)bytes / sizeof(struct sock_filter) < BPF_MAXINSNS) {
		out->code = kw_alloc((size_t)bytes);
		out->count = (unsigned short)((size_t)bytes / sizeof(struct sock_filter));
		ok = out->code && pread(fd, out->code, (size_t)bytes, 0) == (ssize_t)bytes;
	}
	close(fd);
	if (!ok)
		kw_seccomp_filter_release(out);
	return ok;
}

static bool allow(struct kw_seccomp_filter *out, uint32_t otherwise)
{
	scmp_filter_ctx c = seccomp_init(otherwise);
	bool ok = c != NULL;

	*out = (struct kw_seccomp_filter){ 0 };
	if (!ok || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) {
		seccomp_release(c);
		return false;
	}
	seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; ok && i < sizeof(plain) / sizeof(plain[0]); i++)
		ok = seccomp_rule_add(c, SCMP_ACT_ALLOW, plain[i], 0) == 0;
	for (size_t i = 0; ok && i < sizeof(refused) / sizeof(refused[0]); i++)
		if (SCMP_ACT_ERRNO((unsigned)refused[i].error) != otherwise) /* no rule may say what is so anyway */
			ok = seccomp_rule_add(c, SCMP_ACT_ERRNO((unsigned)refused[i].error), refused[i].call, 0) == 0;
	ok = ok && add_checked(c) && take_code(c, out);
	seccomp_release(c);
	return ok;
}

bool kw_seccomp_compute(struct kw_seccomp_filter *out)
{
	return allow(out, SCMP_ACT_TRAP);
}

bool kw_seccomp_python(struct kw_seccomp_filter *out)
{
	return allow(out, SCMP_ACT_ERRNO(EPERM));
}

/* What neither a compiler nor a driver does. */
static const int never[] = {
	SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen),
	SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
	SCMP_SYS(setns), SCMP_SYS(unshare), SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
	SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(io_uring_setup),
	SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd), SCMP_SYS(kexec_load), SCMP_SYS(init_module),
	SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(setsid),
	SCMP_SYS(setpgid), SCMP_SYS(shmget), SCMP_SYS(msgget), SCMP_SYS(semget),
};
/* The compiler runs programs and writes files. */
static const int never_compiler[] = { SCMP_SYS(socketpair) };
/* A driver with a context opens nothing and starts nothing but threads. */
static const int never_gpu[] = {
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(kill), SCMP_SYS(tkill),
	SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(creat), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(symlink),
	SCMP_SYS(symlinkat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat),
	SCMP_SYS(chown), SCMP_SYS(fchown), SCMP_SYS(truncate), SCMP_SYS(pidfd_send_signal),
};

/* A list of what is refused, for programs whose needs we do not know in full. */
static bool deny(struct kw_seccomp_filter *out, const int *more, size_t count)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
	bool ok = c != NULL;

	*out = (struct kw_seccomp_filter){ 0 };
	if (!ok || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) {
		seccomp_release(c);
		return false;
	}
	for (size_t i = 0; ok && i < sizeof(never) / sizeof(never[0]); i++)
		ok = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), never[i], 0) == 0;
	for (size_t i = 0; ok && i < count; i++)
		ok = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), more[i], 0) == 0;
	ok = ok && take_code(c, out);
	seccomp_release(c);
	return ok;
}

bool kw_seccomp_compiler(struct kw_seccomp_filter *out)
{
	return deny(out, never_compiler, sizeof(never_compiler) / sizeof(never_compiler[0]));
}

bool kw_seccomp_gpu(struct kw_seccomp_filter *out)
{
	return deny(out, never_gpu, sizeof(never_gpu) / sizeof(never_gpu[0]));
}

/* What a program written in Python never does either. */
static const int never_module[] = {
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(pidfd_send_signal), SCMP_SYS(process_madvise), SCMP_SYS(memfd_secret),
};

/* Signals to itself that are no fault would look as if somebody else had ended it. */
static int add_module_signals(scmp_filter_ctx c)
{
	static const int others[] = { SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCONT, SIGSTOP };
	int bad = 0;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		bad |= seccomp_rule_add(c, SCMP_ACT_KILL_PROCESS, SCMP_SYS(kill), 1, equals(1, (scmp_datum_t)others[i]));
		bad |= seccomp_rule_add(c, SCMP_ACT_KILL_PROCESS, SCMP_SYS(tgkill), 1, equals(2, (scmp_datum_t)others[i]));
	}
	return bad;
}

bool kw_seccomp_module(struct kw_seccomp_filter *out)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
	bool ok = c != NULL;

	*out = (struct kw_seccomp_filter){ 0 };
	if (!ok || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) {
		seccomp_release(c);
		return false;
	}
	seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; ok && i < sizeof(never) / sizeof(never[0]); i++)
		if (never[i] != SCMP_SYS(socket))
			ok = seccomp_rule_add(c, SCMP_ACT_KILL_PROCESS, never[i], 0) == 0;
	for (size_t i = 0; ok && i < sizeof(never_module) / sizeof(never_module[0]); i++)
		ok = seccomp_rule_add(c, SCMP_ACT_KILL_PROCESS, never_module[i], 0) == 0;
	/* The C library asks a local service for names of users. */
	ok = ok && seccomp_rule_add(c, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 1, equals(0, 1 /* AF_UNIX */)) == 0 &&
	     seccomp_rule_add(c, SCMP_ACT_KILL_PROCESS, SCMP_SYS(socket), 1,
			      (struct scmp_arg_cmp){ .arg = 0, .op = SCMP_CMP_NE, .datum_a = 1 }) == 0 &&
	     seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
	     seccomp_rule_add(c, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1, masked(0, CLONE_THREAD, 0)) == 0 &&
	     /* The judge reads its memory and limits it. */
	     seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1, equals(0, PR_SET_DUMPABLE)) == 0 &&
	     seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1, equals(0, PR_SET_PDEATHSIG)) == 0 &&
	     add_module_signals(c) == 0 && take_code(c, out);
	seccomp_release(c);
	return ok;
}

bool kw_seccomp_load(const struct kw_seccomp_filter *f)
{
	struct sock_fprog p = { .len = f->count, .filter = f->code };

	if (!f->code)
		return true;
	/* SPEC_ALLOW: without it older kernels turn off store speculation under a filter, and times would not compare. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &p) == 0)
		return true;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0) == 0;
}

bool kw_seccomp_load_everywhere(const struct kw_seccomp_filter *f)
{
	struct sock_fprog p = { .len = f->count, .filter = f->code };

	return f->code && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				  SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &p) == 0;
}

void kw_seccomp_filter_release(struct kw_seccomp_filter *f)
{
	kw_free(f->code);
	*f = (struct kw_seccomp_filter){ 0 };
}

const char *kw_syscall_name(int number, char *out, size_t out_bytes)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

	if (name)
		snprintf(out, out_bytes, "%s", name);
	else
		snprintf(out, out_bytes, "number %d", number);
	free(name);
	return out;
}
