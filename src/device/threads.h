/* threads.h - the threads of a player, seen and placed from outside.
 *
 * A player's threads all wake at once, and the kernel, which sees them sleep and a judge that
 * computes, often puts two on one core: a kernel of a few milliseconds then runs one half after the
 * other and takes twice as long, call by call by chance (its load balancing needs about 4 ms). So
 * before each call each thread is put on a core of its own:
 *
 *     kw_threads_place(pid, &places);   // while it is stopped
 *     kill(pid, SIGCONT);
 *     kw_threads_free_first(&places);   // threads made from now on inherit no place
 *     ...
 *     kw_threads_free(&places);         // a long call, or the end: anywhere again
 *
 * It is done to candidates and baselines alike. Where it is not permitted nothing happens. */
#ifndef KW_DEVICE_THREADS_H
#define KW_DEVICE_THREADS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { KW_PLACES_MAX = 256, KW_CPU_SETS = 8 };
struct kw_places {
	size_t count; /* threads that have a place, the first one first */
	pid_t thread[KW_PLACES_MAX];
	cpu_set_t all[KW_CPU_SETS]; /* where they may run otherwise */
};

/* Only where no more threads work than there are cores: those that have hardly run are left where they are. */
void kw_threads_place(pid_t pid, struct kw_places *p);
void kw_threads_free_first(struct kw_places *p);
void kw_threads_free(struct kw_places *p);
/* How long all threads that there are have waited for a core so far; 0 where the kernel does not count that. */
int64_t kw_threads_waited_ns(pid_t pid);
/* Whether a thread runs or waits for a core. */
bool kw_threads_runnable(pid_t pid);

#endif
