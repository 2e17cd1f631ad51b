#include "device/perf.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

#define CACHE(which, result) \
	(PERF_COUNT_HW_CACHE_##which | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* By the names that perf stat gives them. */
static const struct {
	uint32_t type;
	uint64_t config;
	const char *name;
} events[KW_PERF_EVENTS] = {
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "task-clock" },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page-faults" },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "context-switches" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, "cache-references" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "cache-misses" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "branch-misses" },
	{ PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS), "L1-dcache-loads" },
	{ PERF_TYPE_HW_CACHE, CACHE(L1D, MISS), "L1-dcache-load-misses" },
	{ PERF_TYPE_HW_CACHE, CACHE(DTLB, ACCESS), "dTLB-loads" },
	{ PERF_TYPE_HW_CACHE, CACHE(DTLB, MISS), "dTLB-load-misses" },
	{ PERF_TYPE_HW_CACHE, CACHE(LL, MISS), "LLC-load-misses" },
};

static int open_one(size_t event, pid_t thread, bool kernel_too)
{
	struct perf_event_attr a = { .size = sizeof(a), .type = events[event].type, .config = events[event].config, .disabled = 1, .inherit = 1,
				     .exclude_hv = 1, .exclude_kernel = !kernel_too,
				     .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING };

	return (int)syscall(SYS_perf_event_open, &a, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The process's threads; 0: it is gone. */
static size_t threads_of(pid_t pid, pid_t list[KW_PERF_THREADS])
{
	char path[48];
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && n < KW_PERF_THREADS && (e = readdir(d)))
		if (e->d_name[0] != '.')
			list[n++] = (pid_t)strtol(e->d_name, NULL, 10);
	if (d)
		closedir(d);
	return n;
}

bool kw_perf_open(pid_t pid, struct kw_perf *p)
{
	pid_t list[KW_PERF_THREADS];

	*p = (struct kw_perf){ .threads = threads_of(pid, list), .pid = pid, .wait_ns = -1 };
	p->fd = kw_calloc(KW_PERF_EVENTS * KW_PERF_THREADS, sizeof(*p->fd));
	if (!p->fd)
		return false;
	for (size_t i = 0; i < KW_PERF_EVENTS * KW_PERF_THREADS; i++)
		p->fd[i] = -1;
	/* All or nothing of the kernel's part: sums of both kinds would mean nothing. */
	if (p->threads) {
		int probe = open_one(0, list[0], true);

		p->wide = probe >= 0;
		if (probe >= 0)
			close(probe);
	}
	for (size_t e = 0; e < KW_PERF_EVENTS; e++) {
		/* The kernel switches, so without its part there is nothing to count: that is no 0. */
		bool hidden = !p->wide && events[e].type == PERF_TYPE_SOFTWARE && events[e].config == PERF_COUNT_SW_CONTEXT_SWITCHES;

		p->error[e] = !p->threads ? ESRCH : hidden ? EACCES : 0;
		for (size_t t = 0; t < p->threads && !p->error[e]; t++) {
			int fd = open_one(e, list[t], p->wide);

			if (fd < 0)
				p->error[e] = errno;
			p->fd[e * KW_PERF_THREADS + t] = fd;
		}
		p->granted += !p->error[e];
		p->hardware += !p->error[e] && events[e].type != PERF_TYPE_SOFTWARE;
	}
	return true;
}

static void all(struct kw_perf *p, unsigned long what)
{
	for (size_t e = 0; e < KW_PERF_EVENTS; e++)
		for (size_t t = 0; t < p->threads && !p->error[e]; t++)
			ioctl(p->fd[e * KW_PERF_THREADS + t], what, 0);
}

/* How long all of its threads ever waited for a core: the second number of schedstat. -1: not known. */
static double waited(pid_t pid)
{
	pid_t list[KW_PERF_THREADS];
	size_t n = threads_of(pid, list);
	double sum = n ? 0 : -1;

	for (size_t i = 0; i < n && sum >= 0; i++) {
		char path[80], *end;
		struct kw_buf b;
		struct kw_error ignored;

		kw_error_reset(&ignored);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)list[i]);
		kw_buf_init(&b, 4096);
		if (kw_file_read(path, 200, &b, &ignored) == KW_OK && (strtoull(b.ptr, &end, 10), *end == ' '))
			sum += (double)strtoull(end, NULL, 10);
		else
			sum = -1;
		kw_buf_release(&b);
	}
	return sum;
}

void kw_perf_start(struct kw_perf *p)
{
	p->wait_ns = waited(p->pid);
	all(p, PERF_EVENT_IOC_RESET);
	all(p, PERF_EVENT_IOC_ENABLE);
}

void kw_perf_stop(struct kw_perf *p)
{
	double now = waited(p->pid);

	all(p, PERF_EVENT_IOC_DISABLE);
	p->wait_ns = p->wait_ns >= 0 && now >= p->wait_ns ? now - p->wait_ns : -1;
}

/* More events than counters take turns: what was counted is scaled to the whole time. False: it never had its turn. */
static bool count_of(const struct kw_perf *p, size_t event, double *out)
{
	bool any = false;

	*out = 0;
	for (size_t t = 0; t < p->threads; t++) {
		struct {
			uint64_t value, enabled, running;
		} got;

		if (read(p->fd[event * KW_PERF_THREADS + t], &got, sizeof(got)) != sizeof(got) || got.running == 0)
			continue;
		any = true;
		*out += (double)got.value * ((double)got.enabled / (double)got.running);
	}
	return any;
}

void kw_perf_write(const struct kw_perf *p, int calls, double wall_ns, struct kw_buf *out)
{
	kw_buf_addz(out, "\n Performance counter stats for one call:\n\n");
	for (size_t e = 0; e < KW_PERF_EVENTS; e++) {
		double v;

		if (p->error[e])
			continue;
		if (!count_of(p, e, &v))
			kw_buf_printf(out, "   <not counted>      %s\n", events[e].name);
		else if (e == 0)
			kw_buf_printf(out, "   %.6f msec %s\n", v / 1e6 / calls, events[e].name);
		else
			kw_buf_printf(out, "   %.3f      %s\n", v / calls, events[e].name);
	}
	if (p->wait_ns >= 0)
		kw_buf_printf(out, "   %.6f msec core-wait\n", p->wait_ns / 1e6 / calls);
	kw_buf_printf(out, "\n   %.9f seconds time elapsed\n", wall_ns / 1e9 / calls);
}

void kw_perf_write_device_time(double ns, double wall_ns, struct kw_buf *out)
{
	if (!out->len)
		kw_buf_addz(out, "\n Performance counter stats for one call:\n\n");
	kw_buf_printf(out, "   %.6f msec device-time\n   %.6f msec call-time\n", ns / 1e6, wall_ns / 1e6);
}

/* Which number stands in the way. */
static void paranoid(char *out, size_t bytes)
{
	struct kw_buf b;
	struct kw_error ignored;

	kw_error_reset(&ignored);
	kw_buf_init(&b, 4096);
	if (kw_file_read("/proc/sys/kernel/perf_event_paranoid", 64, &b, &ignored) == KW_OK)
		snprintf(out, bytes, "%.*s", (int)strcspn(b.ptr, "\n"), b.ptr);
	else
		snprintf(out, bytes, "cannot be read");
	kw_buf_release(&b);
}

void kw_perf_why(const struct kw_perf *p, char *out, size_t bytes)
{
	char number[32];
	int why = p->error[3];

	out[0] = '\0';
	if (p->hardware)
		return;
	paranoid(number, sizeof(number));
	if (why == EACCES || why == EPERM)
		snprintf(out, bytes,
			 "the kernel refuses counters (perf_event_paranoid is %s): ask for `sysctl kernel.perf_event_paranoid=1`, or for "
			 "CAP_PERFMON; in a container also for a seccomp profile that permits perf_event_open",
			 number);
	else if (why == ENOSYS)
		snprintf(out, bytes, "this kernel has no perf_event_open: ask for CONFIG_PERF_EVENTS, or for a sandbox that passes it on");
	else if (why == ENOENT || why == ENODEV || why == EOPNOTSUPP)
		snprintf(out, bytes,
			 "this machine shows no hardware counters (a virtual machine without a PMU): ask its host for a virtual PMU, or "
			 "measure on hardware of its own; perf_event_paranoid is %s, and is not what stands in the way",
			 number);
	else
		snprintf(out, bytes, "hardware counters cannot be opened: %s", strerror(why));
}

void kw_perf_close(struct kw_perf *p)
{
	for (size_t i = 0; p->fd && i < KW_PERF_EVENTS * KW_PERF_THREADS; i++)
		if (p->fd[i] >= 0)
			close(p->fd[i]);
	kw_free(p->fd);
	*p = (struct kw_perf){ .fd = NULL };
}
