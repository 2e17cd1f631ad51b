#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static volatile sig_atomic_t interrupt_count;

int64_t kw_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t kw_wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void kw_sleep_ns(int64_t ns)
{
	struct timespec t;

	if (ns <= 0)
		return;
	t.tv_sec = (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	while (nanosleep(&t, &t) < 0 && errno == EINTR && !interrupt_count)
		;
}

const char *kw_wall_text(int64_t wall_ms, char *out, size_t out_bytes)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (!gmtime_r(&s, &tm) || strftime(out, out_bytes, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(out, out_bytes, "?");
	return out;
}

uint64_t kw_random_u64(void)
{
	uint64_t v;
	ssize_t n;

	do
		n = getrandom(&v, sizeof(v), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(v)) {
		fputs("kwright: the kernel gives no random numbers\n", stderr);
		abort();
	}
	return v;
}

/* The first signal asks; the second one, of a user who will not wait, ends the process. */
static void on_interrupt(int number)
{
	if (interrupt_count++ > 0) {
		signal(number, SIG_DFL);
		raise(number);
	}
}

void kw_interrupt_install(void)
{
	struct sigaction a = { .sa_handler = on_interrupt }, hang_up;

	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	if (sigaction(SIGHUP, NULL, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) /* of nohup */
		sigaction(SIGHUP, &a, NULL);
}

int kw_interrupted(void)
{
	return interrupt_count != 0;
}
