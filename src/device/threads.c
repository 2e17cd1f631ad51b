#include "device/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = KW_CPU_SETS * CPU_SETSIZE, CPU_FIELD = 39 };
enum { IDLER = 8 }; /* who has run for less than this part of what another one has */

struct seen {
	pid_t thread;
	char state;
	int cpu;	/* where it ran last */
	int64_t ran_ns; /* so far; only where that is asked for */
};

/* "123 (name) R 1 2 3 ...": the name may hold anything but ends with the last parenthesis. */
static bool parse_stat(char *text, struct seen *out)
{
	char *at = strrchr(text, ')');
	int field = 3;

	if (!at || at[1] != ' ' || !at[2])
		return false;
	out->state = at[2];
	for (at += 2; field < CPU_FIELD && at; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	out->cpu = at ? (int)strtol(at, NULL, 10) : -1;
	return true;
}

static bool read_stat(int dir, const char *thread, struct seen *out)
{
	char path[64], text[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.20s/stat", thread);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	out->thread = (pid_t)strtol(thread, NULL, 10);
	return parse_stat(text, out);
}

static DIR *open_tasks(pid_t pid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return opendir(path);
}

/* The next thread of the list; false at its end. */
static bool next_seen(DIR *d, struct seen *out)
{
	struct dirent *e;

	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && read_stat(dirfd(d), e->d_name, out))
			return true;
	return false;
}

bool kw_threads_runnable(pid_t pid)
{
	DIR *d = open_tasks(pid);
	struct seen s;
	bool found = false;

	while (d && !found && next_seen(d, &s))
		found = s.state == 'R';
	if (d)
		closedir(d);
	return found;
}

/* ---- places ---- */

/* The first thread first; 0 when there are more than max. */
static size_t list_threads(pid_t pid, struct seen *list, size_t max)
{
	DIR *d = open_tasks(pid);
	struct seen s;
	size_t n = 0;

	while (d && next_seen(d, &s)) {
		if (n == max) {
			n = 0;
			break;
		}
		list[n++] = s;
		if (s.thread == pid) {
			list[n - 1] = list[0];
			list[0] = s;
		}
	}
	if (d)
		closedir(d);
	return n;
}

/* "time on a core, time of waiting for one, times it got one"; 0 where the kernel does not count. */
static int64_t ran_ns(pid_t process, pid_t thread, int64_t *waited)
{
	char path[64], text[128], *end;
	int64_t ran;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)process, (int)thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	*waited = 0;
	if (n <= 0)
		return 0;
	text[n] = '\0';
	ran = strtoll(text, &end, 10);
	*waited = strtoll(end, NULL, 10);
	return ran;
}

int64_t kw_threads_waited_ns(pid_t pid)
{
	DIR *d = open_tasks(pid);
	struct seen s;
	int64_t sum = 0, waited;

	while (d && next_seen(d, &s)) {
		ran_ns(pid, s.thread, &waited);
		sum += waited;
	}
	if (d)
		closedir(d);
	return sum;
}

static int longest_first(const void *pa, const void *pb)
{
	const struct seen *a = pa, *b = pb;

	return (a->ran_ns < b->ran_ns) - (a->ran_ns > b->ran_ns);
}

/* More threads than cores. A library may have made some that never do anything (PyTorch has a second pool): the first thread and those
 * that have run longest remain, or none where the next one has run about as long. */
static size_t leave_out_idlers(pid_t pid, struct seen *list, size_t n, size_t cores)
{
	int64_t ignored;

	for (size_t i = 1; i < n; i++)
		list[i].ran_ns = ran_ns(pid, list[i].thread, &ignored);
	qsort(list + 1, n - 1, sizeof(*list), longest_first);
	return cores < 2 || list[cores].ran_ns >= list[cores - 1].ran_ns / IDLER ? 0 : cores;
}

static bool is_free(const cpu_set_t *free_cpus, int cpu)
{
	return cpu >= 0 && cpu < CPUS_MAX &&
	       CPU_ISSET_S(cpu, sizeof(cpu_set_t) * KW_CPU_SETS, free_cpus);
}

/* Its last core, else the first free one but `avoid`, else that. */
static int choose(const cpu_set_t *free_cpus, int last, int avoid)
{
	if (is_free(free_cpus, last) && last != avoid)
		return last;
	for (int cpu = 0; cpu < CPUS_MAX; cpu++)
		if (cpu != avoid && is_free(free_cpus, cpu))
			return cpu;
	return is_free(free_cpus, avoid) ? avoid : -1;
}

static bool put(pid_t thread, int cpu)
{
	cpu_set_t one[KW_CPU_SETS];

	memset(one, 0, sizeof(one));
	CPU_SET_S(cpu, sizeof(one), one);
	return sched_setaffinity(thread, sizeof(one), one) == 0;
}

void kw_threads_place(pid_t pid, struct kw_places *p)
{
	struct seen list[KW_PLACES_MAX];
	cpu_set_t left[KW_CPU_SETS];
	size_t n, cores;

	p->count = 0;
	memset(p->all, 0, sizeof(p->all));
	if (sched_getaffinity(0, sizeof(p->all), p->all) != 0)
		return;
	n = list_threads(pid, list, KW_PLACES_MAX);
	cores = (size_t)CPU_COUNT_S(sizeof(p->all), p->all);
	if (n > cores)
		n = leave_out_idlers(pid, list, n, cores);
	memcpy(left, p->all, sizeof(left));
	/* The caller's own core comes last: the first thread is to start while the caller still
	 * runs, and nobody may take it away to where another one waits. */
	for (size_t i = 0; i < n; i++) {
		int cpu = choose(left, list[i].cpu, sched_getcpu());

		if (cpu < 0 || !put(list[i].thread, cpu))
			break;
		CPU_CLR_S(cpu, sizeof(left), left);
		p->thread[p->count++] = list[i].thread;
	}
}

/* A thread that has ended in between is no matter. */
static void anywhere(struct kw_places *p, pid_t thread)
{
	(void)sched_setaffinity(thread, sizeof(p->all), p->all);
}

void kw_threads_free_first(struct kw_places *p)
{
	if (p->count > 0)
		anywhere(p, p->thread[0]);
}

void kw_threads_free(struct kw_places *p)
{
	for (size_t i = 0; i < p->count; i++)
		anywhere(p, p->thread[i]);
	p->count = 0;
}
