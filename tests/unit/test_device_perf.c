/* Counters of another process: what is granted counts what it did; what is refused says what to ask for. */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/perf.h"
#include "profile/input.h"
#include "tap.h"

enum { PAGES = 512 };

/* A process that waits for a byte, touches pages, computes, answers, and waits again. */
static pid_t worker(int to[2], int from[2])
{
	pid_t pid;

	if (pipe(to) != 0 || pipe(from) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char c;
		volatile double sum = 0;

		while (read(to[0], &c, 1) == 1) {
			void *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			volatile char *p = memory;

			madvise(memory, PAGES * 4096, MADV_NOHUGEPAGE);
			for (int i = 0; i < PAGES; i++)
				p[i * 4096] = 1;
			for (int i = 0; i < 20000000; i++)
				sum += i;
			munmap(memory, PAGES * 4096);
			if (write(from[1], &c, 1) != 1)
				break;
		}
		_exit(sum < 0);
	}
	return pid;
}

static void granted(void)
{
	struct kw_launches l;
	struct kw_arena a;
	struct kw_perf p;
	struct kw_buf text;
	char c = 'x', why[400];
	int to[2], from[2];
	pid_t pid = worker(to, from);

	ok(kw_perf_open(pid, &p), "a process's counters");
	if (!p.granted) {
		kw_perf_why(&p, why, sizeof(why));
		ok(why[0] != '\0', "none is granted here, and it is said why: %s", why);
		goto out;
	}
	kw_perf_start(&p);
	ok(write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1, "it works while it is counted");
	kw_perf_stop(&p);
	kw_buf_init(&text, 1 << 16);
	kw_perf_write(&p, 1, 1e9, &text);
	kw_arena_init(&a, 16 << 20);
	kw_launches_init(&l, &a, "p");
	is_int(kw_input_recognise("", text.ptr, text.len), KW_INPUT_PERF_STAT, "is written as perf stat writes it");
	kw_input_read(KW_INPUT_PERF_STAT, text.ptr, text.len, &l);
	is_int((long long)l.count, 1, "and read as one launch");
	if (l.count == 1) {
		const double *v = l.list[0]->value;

		ok(v[KW_M_TASK_CLOCK] > 1e6 && v[KW_M_TASK_CLOCK] < 60e9, "task clock: %g ns", v[KW_M_TASK_CLOCK]);
		ok(v[KW_M_PAGE_FAULTS] >= PAGES && v[KW_M_PAGE_FAULTS] < PAGES + 200, "page faults: %g", v[KW_M_PAGE_FAULTS]);
		ok(v[KW_M_CORE_WAIT] >= 0, "time without a core: %g ns", v[KW_M_CORE_WAIT]);
		if (p.hardware)
			ok(v[KW_M_CPU_INST] > 2e7, "instructions: %g", v[KW_M_CPU_INST]);
	}
	kw_perf_why(&p, why, sizeof(why));
	ok((p.hardware > 0) == (why[0] == '\0'), "what is missing is said, and only then: %s", why);
	kw_perf_stop(&p);
	kw_buf_release(&text);
	kw_arena_release(&a);
out:
	kw_perf_close(&p);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* In a process that the kernel refuses with this number. */
static void refused(int number, const char *says)
{
	int out[2], status;
	char why[400] = "";
	pid_t pid;

	if (pipe(out) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
		struct kw_perf p;
		bool good = c && seccomp_rule_add(c, SCMP_ACT_ERRNO((unsigned)number), SCMP_SYS(perf_event_open), 0) == 0 && seccomp_load(c) == 0 &&
			    kw_perf_open(getpid(), &p) && p.granted == 0 && p.hardware == 0;

		kw_perf_start(&p);
		kw_perf_stop(&p);
		if (good)
			kw_perf_why(&p, why, sizeof(why));
		kw_perf_close(&p);
		_exit(write(out[1], why, sizeof(why)) == sizeof(why) ? 0 : 1);
	}
	ok(read(out[0], why, sizeof(why)) == sizeof(why) && waitpid(pid, &status, 0) == pid && strstr(why, says), "refused with %s: %s",
	   strerror(number), why);
}

int main(void)
{
	struct kw_perf p;
	char why[400];

	granted();
	refused(EACCES, "sysctl kernel.perf_event_paranoid=1");
	refused(EPERM, "CAP_PERFMON");
	refused(ENOSYS, "CONFIG_PERF_EVENTS");
	refused(ENOENT, "virtual PMU");
	refused(EMFILE, "Too many open files");
	ok(kw_perf_open(999999999, &p) && p.granted == 0, "a process that is gone has no counters");
	kw_perf_why(&p, why, sizeof(why));
	ok(strstr(why, "No such process") != NULL, "and says so: %s", why);
	kw_perf_close(&p);
	return done();
}
