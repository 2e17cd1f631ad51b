/* launches.h - what the readers of this folder make of an input: launches with their values, and notes about what could
 * not be read.
 *
 *     struct kw_launches l;
 *     kw_launches_init(&l, &arena, "export.csv");
 *     struct kw_launch *k = kw_launches_add(&l, "saxpy(int)", 7);
 *     kw_launch_set(k, KW_M_DURATION_NS, 2000);
 *
 * A value that nobody set is NaN: missing, never zero. Everything is in the arena; nothing to release. When the arena is
 * full or memory is out, `full` is set and what is there stays. Thread rule: one owner. */
#ifndef KW_PROFILE_LAUNCHES_H
#define KW_PROFILE_LAUNCHES_H

#include "base/arena.h"
#include "base/error.h"
#include "core/profile.h"
#include "profile/metrics.h"

/* A result of the profiler's own rules. Its estimate is the profiler's, and "local" ones are no speedup of the kernel. */
struct kw_profiler_rule {
	const char *name, *type, *text;   /* "SOLBottleneck", "OPT", sentence */
	const char *estimate_kind;        /* "global", "local"; "" */
	double estimate_pct;              /* NaN: none */
	const struct kw_profiler_rule *next;
};
/* A place in the code that a fact is about. */
struct kw_place {
	int metric, line, last;           /* last: line where it ends; the same for all but loops */
	const char *text;                 /* the line, or the instruction; may be NULL */
	const struct kw_place *next;
};
struct kw_launch {
	const char *kernel, *id, *device; /* "" where not told */
	int line;                         /* of the input, from 1 */
	int64_t grid[3], block[3];        /* 0: not told */
	double value[KW_M_COUNT];         /* NaN: missing */
	uint8_t rank[KW_M_COUNT];         /* how well the name that a value came under says it; 0: best */
	const char *const *unknown;       /* names that the profiler did not know (n/a) */
	size_t unknown_count;
	const struct kw_profiler_rule *rules; /* newest first */
	const struct kw_place *places;    /* newest first */
	struct kw_launches *owner;
};
struct kw_note {
	int line;                         /* 0: of the whole input */
	const char *text;
	int count;                        /* how often; the line is the first */
};
/* Why an input has no launch at all: PERMISSION, ... */
#define KW_OUTCOME_LIST(X)                                       \
	X(NONE, "none")                                          \
	X(PERMISSION, "permission")                              \
	X(REPLAY_FAILED, "replay_failed")                        \
	X(REPLAY_FAILED_NO_KERNELS, "replay_failed_and_no_kernels") \
	X(DEVICE_ERROR, "unknown_device_error")                  \
	X(BUSY, "profiler_busy")                                 \
	X(NO_KERNELS, "no_kernels")                              \
	X(NO_DEVICE, "no_device")
enum kw_outcome {
#define X(e, name) KW_OUTCOME_##e,
	KW_OUTCOME_LIST(X)
#undef X
};
const char *kw_outcome_name(enum kw_outcome o);

struct kw_launches {
	struct kw_arena *arena;
	const char *file;
	struct kw_launch **list;
	size_t count, cap;
	struct kw_note *notes;
	size_t note_count;
	enum kw_outcome *outcomes;        /* one a run of the profiler in the input */
	size_t outcome_count;
	const char *form;                 /* "Nsight Compute CSV, long, 15 columns" */
	bool full;
	const char **interned;            /* kernel names and the like, once each */
	size_t interned_count, interned_cap;
};
void kw_launches_init(struct kw_launches *l, struct kw_arena *a, const char *file);
/* NULL only when out of memory. */
struct kw_launch *kw_launches_add(struct kw_launches *l, struct kw_str kernel, int line);
/* One copy of equal texts; "" when out of memory. */
const char *kw_launches_intern(struct kw_launches *l, struct kw_str s);
/* Equal texts are counted, not repeated; at most 60. */
void kw_launches_note(struct kw_launches *l, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void kw_launches_outcome(struct kw_launches *l, enum kw_outcome o);
/* A second value for the same metric that differs by more than 2% is noted, and the first is kept. */
void kw_launch_set(struct kw_launch *k, int metric, double v);
/* A value under one of a tool's names: a better name (kw_metric_rank) replaces what a worse one said, and of the parts of one unit the
 * busiest stays (kw_metric_is_greatest). */
void kw_launch_set_as(struct kw_launch *k, int metric, struct kw_str name, double v);
static inline bool kw_launch_has(const struct kw_launch *k, int metric)
{
	return k->value[metric] == k->value[metric];
}
void kw_launch_add_count(struct kw_launch *k, int metric, double v); /* missing counts as 0 here */
void kw_launch_place(struct kw_launch *k, int metric, int line, struct kw_str text);
void kw_launch_place_lines(struct kw_launch *k, int metric, int line, int last, struct kw_str text);
void kw_launch_unknown(struct kw_launch *k, struct kw_str name);
/* The portable record: only what is there, and what was asked for in vain. NULL: out of memory. */
struct kw_profile *kw_launch_profile(const struct kw_launch *k, const char *tool, struct kw_arena *a);

#endif
