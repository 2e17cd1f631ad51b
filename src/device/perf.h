/* perf.h - counters of the kernel (perf_event_open) of another process's threads, where it grants them.
 *
 *     kw_perf_open(pid, &p);            // while it is stopped; hardware counters, and those that the kernel keeps itself
 *     kw_perf_start(&p);
 *     ... it runs ...
 *     kw_perf_stop(&p);
 *     kw_perf_write(&p, calls, wall_ns, &buf);   // the form of perf stat, per call
 *     kw_perf_close(&p);
 *
 * Threads that are made while it counts are counted too. Only what the process itself does is counted, not the kernel on its behalf,
 * where no more is permitted. Thread rule: one thread. */
#ifndef KW_DEVICE_PERF_H
#define KW_DEVICE_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

enum { KW_PERF_EVENTS = 14, KW_PERF_THREADS = 256 };
struct kw_perf {
	int *fd;                       /* of each event for each thread; -1: none. fd[event * KW_PERF_THREADS + thread] */
	size_t threads;
	int error[KW_PERF_EVENTS];     /* errno of an event that was refused; 0: it counts */
	size_t granted, hardware;      /* events that count, and of them the processor's own */
	bool wide;                     /* the kernel's part is counted too */
	pid_t pid;
	double wait_ns;                /* that its threads could run and had no core, while it counted; -1: not known */
};
/* False: out of memory. What was refused is in p. */
bool kw_perf_open(pid_t pid, struct kw_perf *p);
void kw_perf_start(struct kw_perf *p);
void kw_perf_stop(struct kw_perf *p);
void kw_perf_write(const struct kw_perf *p, int calls, double wall_ns, struct kw_buf *out);
/* Two more lines, of a clock that the kernel does not have, and of the call beside it. */
void kw_perf_write_device_time(double ns, double wall_ns, struct kw_buf *out);
/* Why hardware counters are missing, and exactly what to ask for; "" where they are there. */
void kw_perf_why(const struct kw_perf *p, char *out, size_t bytes);
void kw_perf_close(struct kw_perf *p);

#endif
