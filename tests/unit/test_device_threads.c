/* The threads of another process: one core each while it is stopped, everywhere again afterwards.
 */
#include "device/threads.h"

#include "base/clock.h"
#include "device/device.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "tap.h"

enum { WORK_NS = 400000000 }; /* of which an eighth is far more than a thread needs to start, also where a hypervisor takes the core away */

static struct kw_places places;

static void *nap(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* The first thread waits until all that are to work have worked. */
static pthread_barrier_t worked;

static void *work(void *arg)
{
	struct timespec now = { 0 };

	while (now.tv_sec == 0 && now.tv_nsec < WORK_NS)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	pthread_barrier_wait(&worked);
	return nap(arg);
}

/* Between fork and its end: a process of so many threads, which sleep, or of one that computes. So many of its threads but the first have
 * worked before. */
static _Noreturn void live(int threads, int workers, int ready)
{
	struct timespec now;
	pthread_t id;
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_init(&worked, NULL, (unsigned)workers + 1);
	/* The last ones work, so that they are no first ones of a list by chance. */
	for (int i = 1; i < threads; i++)
		if (pthread_create(&id, NULL, threads - i > workers ? nap : work, NULL) != 0)
			_exit(1);
	pthread_barrier_wait(&worked);
	if (write(ready, &byte, 1) != 1)
		_exit(1);
	while (threads == 0)
		clock_gettime(CLOCK_MONOTONIC, &now);
	nap(NULL);
	_exit(0);
}

static pid_t start_workers(int threads, int workers)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		live(threads, workers, ends[1]);
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		diag("the process did not start");
	close(ends[0]);
	return pid;
}

static pid_t start(int threads)
{
	return start_workers(threads, 0);
}

static void stop(pid_t pid)
{
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* How many cores a thread may run on; the first of them in *cpu. */
static int cores_of(pid_t thread, int *cpu)
{
	cpu_set_t set[KW_CPU_SETS];

	if (sched_getaffinity(thread, sizeof(set), set) != 0)
		return -1;
	for (*cpu = 0; *cpu < KW_CPU_SETS * CPU_SETSIZE && !CPU_ISSET_S(*cpu, sizeof(set), set);)
		(*cpu)++;
	return CPU_COUNT_S(sizeof(set), set);
}

static void test_places(void)
{
	int usable = kw_host_cores(), threads = usable > 4 ? 4 : usable, cpu[4] = { 0 }, other;
	pid_t pid = start(threads), list[4];
	bool apart = true, one_each = true, all = true;

	stop(pid);
	kw_threads_place(pid, &places);
	is_int(places.count, threads, "each thread has a place");
	is_int(places.thread[0], pid, "the first one is first");
	for (int i = 0; i < (int)places.count && i < 4; i++) {
		list[i] = places.thread[i];
		one_each = one_each && cores_of(list[i], &cpu[i]) == 1;
		for (int k = 0; k < i; k++)
			apart = apart && cpu[k] != cpu[i];
	}
	ok(one_each, "of one core");
	ok(apart, "no two the same");
	kw_threads_free_first(&places);
	is_int(cores_of(pid, &other), usable, "the first one may run anywhere again");
	if (threads > 1)
		is_int(cores_of(list[threads - 1], &other), 1, "another one not yet");
	else
		skip(1, "one core");
	kw_threads_free(&places);
	for (int i = 0; i < threads; i++)
		all = all && cores_of(list[i], &other) == usable;
	ok(all, "then all may");
	is_int(places.count, 0, "and no place is left to free");
	kw_threads_free(&places);
	kw_threads_free_first(&places);
	end(pid);
}

static void test_none(void)
{
	int usable = kw_host_cores(), cpu;
	pid_t pid;

	if (usable < KW_PLACES_MAX - 1) {
		pid = start_workers(usable + 1, usable);
		stop(pid);
		kw_threads_place(pid, &places);
		is_int(places.count, 0, "more threads that work than cores have no places");
		is_int(cores_of(pid, &cpu), usable, "and run where they may");
		end(pid);
	} else {
		skip(2, "too many cores");
	}
	kw_threads_place(0x7ffffff0, &places);
	is_int(places.count, 0, "no process, no places");
	ok(!kw_threads_runnable(0x7ffffff0), "and nothing that runs");
}

static bool counts(void)
{
	FILE *f = fopen("/proc/self/schedstat", "r");
	char text[64] = "";
	bool some = f && fgets(text, sizeof(text), f) && strtoll(text, NULL, 10) > 0;

	if (f)
		fclose(f);
	return some;
}

/* As PyTorch's second pool, which is made with its first one and never used. */
static void test_idlers(void)
{
	int usable = kw_host_cores(), cpu;
	bool one_each = true;
	pid_t pid;

	if (usable < 2 || usable >= KW_PLACES_MAX - 1 || !counts()) {
		skip(3, usable < 2 ? "one core" : usable >= KW_PLACES_MAX - 1 ? "many cores" : "this kernel does not count how long threads run");
		return;
	}
	pid = start_workers(usable + 2, usable - 1);
	stop(pid);
	kw_threads_place(pid, &places);
	is_int(places.count, usable, "who has never worked takes no place from who has");
	is_int(places.count ? places.thread[0] : 0, pid, "the first one is first");
	for (size_t i = 0; i < places.count; i++)
		one_each = one_each && cores_of(places.thread[i], &cpu) == 1;
	ok(one_each, "of one core");
	kw_threads_free(&places);
	end(pid);
}

static void test_runnable(void)
{
	pid_t idle = start(2), busy = start(0);
	bool sleeps = false;

	ok(kw_threads_runnable(busy), "who computes is seen");
	for (int i = 0; i < 2000 && !sleeps; i++) {
		sleeps = !kw_threads_runnable(idle);
		kw_sleep_ns(1000000);
	}
	ok(sleeps, "who sleeps is seen");
	end(idle);
	end(busy);
}

int main(void)
{
	test_places();
	test_none();
	test_idlers();
	test_runnable();
	return done();
}
