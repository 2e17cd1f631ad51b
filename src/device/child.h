/* child.h - a player as a process: started, stopped, continued, killed, and spoken to. Private to device/.
 *
 *     kw_child_init(&c);
 *     kw_child_start(&c, true, threads, err);
 *     kw_child_send(&c, &message, sizeof(message), fds, count, err);
 *     kw_child_await(&c, deadline_ns, &reply, sizeof(reply), &when);
 *     kw_child_close(&c);                 // in any state
 *
 * Replies have one fixed size; another size is KW_GOT_FORGED. One owner. */
#ifndef KW_DEVICE_CHILD_H
#define KW_DEVICE_CHILD_H

#include "device/spawn.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct kw_child {
	struct kw_spawned process;
	int control;
	bool dead, stopped;
	int64_t awake_ns;              /* from its beginning on, that a wait for an answer does not sleep */
	clockid_t cpu_clock;
	bool has_clock;
	siginfo_t end;                 /* when dead */
	int64_t peak_bytes;            /* when dead: most memory it held, shared memory too */
};
enum kw_got { KW_GOT_REPLY, KW_GOT_TIMEOUT, KW_GOT_END, KW_GOT_FORGED, KW_GOT_INTERRUPTED };

void kw_child_init(struct kw_child *c);
/* isolate: in namespaces of its own, as far as they are granted. */
enum kw_status kw_child_start(struct kw_child *c, bool isolate, int threads, struct kw_error *err);
/* One that somebody else made for us: it is a child of this process, and control is the other end of its channel, which is taken. */
enum kw_status kw_child_adopt(struct kw_child *c, pid_t pid, int control, unsigned layers, struct kw_error *err);
/* Kills, reaps, closes. */
void kw_child_close(struct kw_child *c);

/* CPU time used so far, -1 when it cannot be told; and since such a value, 0 when either cannot. */
int64_t kw_child_cpu_ns(const struct kw_child *c);
int64_t kw_child_cpu_since(const struct kw_child *c, int64_t before);
/* A limit of time means time that a player could have used: what it waited for a core comes on top, up to KW_PATIENCE times the limit in all, and not
 * where its own threads have had the cores all the while. ask: how much later it may end by now, 0: no more. */
enum { KW_PATIENCE = 10 };
struct kw_patience {
	int64_t limit_ns, given_ns, cpu_ns, waited_ns;
};
void kw_patience_begin(struct kw_patience *p, const struct kw_child *c, int64_t limit_ns);
int64_t kw_patience_ask(struct kw_patience *p, const struct kw_child *c);
/* Notes an end, leaving the process unreaped: its number stays ours until close. */
bool kw_child_has_ended(struct kw_child *c);
/* The same of one whose channel is closed: that comes a moment before the end. */
bool kw_child_ends(struct kw_child *c);
/* What other processes, or the system for want of memory, end or stop this one with; 0: it did not end so. For who dies
 * without an own doing of a signal that is not caught: faults and abort() are none of these. Only the kernel's word counts. */
int kw_child_ended_by(struct kw_child *c);
/* While a player starts nothing but our own code runs in it: who ended it then was somebody else, and another is started, up to
 * KW_START_TRIES. By which signal; 0: it did not end so. And the failure where each of them ended so. */
enum { KW_START_TRIES = 3 };
int kw_child_killed_early(struct kw_child *c);
enum kw_status kw_child_killed_each_time(int number, struct kw_error *err);
/* Whether it is stopped, though nobody here stopped it. */
bool kw_child_is_held(const struct kw_child *c);
/* Returns when every thread has stopped, or the process has ended. */
void kw_child_stop(struct kw_child *c);
void kw_child_go(struct kw_child *c);
void kw_child_kill(struct kw_child *c);
/* Kills it, and whether it had been ending by itself: a process with much memory, or a GPU's, takes a while to die of a fault. */
bool kw_child_was_ending(struct kw_child *c);
/* Kills it too, and does not wait for its end: kw_child_close does. */
void kw_child_doom(struct kw_child *c);

/* The same as kw_child_close, but its end goes on beside the caller: a process with a GPU's context takes a tenth of a second to die. Until
 * kw_children_gone returns it may still hold memory and make the device slow. */
void kw_child_leave(struct kw_child *c);
void kw_children_gone(void);

/* Up to WIRE_MAPS_MAX descriptors go along. A process that has ended is no failure: the caller finds out by its end. */
enum kw_status kw_child_send(struct kw_child *c, const void *bytes, size_t len, const int *fds, int count,
			     struct kw_error *err);
/* One message, if one is there. */
enum kw_got kw_child_take(struct kw_child *c, void *reply, size_t len);
/* when: the clock at the moment the answer was seen. */
enum kw_got kw_child_await(struct kw_child *c, int64_t deadline_ns, void *reply, size_t len, int64_t *when);

#endif
