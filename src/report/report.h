/* report.h - what a run or a verdict was, for people and for programs. Reads the store and nothing else.
 *
 *     struct kw_report r;
 *     kw_report_load(&r, store, run_id, err);
 *     kw_report_text(&r, &buf);                 // or kw_report_json(&r)
 *     kw_report_release(&r);
 *
 * Facts of a run (store.h) that are shown when present: "tune" (a list of tuner reports), "files" (object: kernel,
 * header, report), "reasons" (list of sentences: why patterns did not fit), "parts" (object: divided_by, parts),
 * "time" (object: wall_ns and what of it was judging_ns, building_ns, models_ns; budget_ns and beyond_ns where a budget of time was not
 * kept to). */
#ifndef KW_REPORT_REPORT_H
#define KW_REPORT_REPORT_H

#include "base/str.h"
#include "core/verdict.h"
#include "explain/explanation.h"
#include "store/store.h"

enum { KW_REPORT_BASELINES = 16 };   /* that are named where they failed */

struct kw_report_count {
	const char *cls, *subclass;
	int count;
};
struct kw_report_point {
	int evaluations;                  /* after how many verdicts of the run */
	double best_ns;
};
struct kw_report {
	struct kw_arena arena;
	struct kw_run_row run;
	struct kw_round *rounds;
	size_t round_count;
	struct kw_verdict_row *verdicts;  /* oldest first */
	size_t verdict_count;
	struct kw_report_count *counts;   /* by class and sub-class */
	size_t count_count;
	struct kw_report_point *curve;    /* of full and final verdicts; falls strictly */
	size_t curve_count;
	bool has_best, proven;            /* proven: the best of a run that is over; else it is the best so far */
	bool of_whole;                    /* of a part: what it found has its final check with the whole, run.parent */
	struct kw_verdict_row best_row;
	struct kw_verdict best;           /* from its record */
	struct kw_falls_short *falls_short; /* cases in which the best baseline is faster than the best */
	size_t falls_short_count;
	struct kw_result_list result;
	json_t *tune, *files, *reasons, *time; /* NULL when the run has none */
	json_t *parts;                    /* likewise: what became of the parts of a task of several operations */
	struct kw_model_call *calls;      /* of models, oldest first; then those of its parts */
	size_t call_count;
};

enum kw_status kw_report_load(struct kw_report *r, struct kw_store *s, int64_t run_id, struct kw_error *err);
void kw_report_release(struct kw_report *r);
void kw_report_text(const struct kw_report *r, struct kw_buf *out);
json_t *kw_report_json(const struct kw_report *r);       /* NULL: out of memory */

/* One verdict: the line of its class, a block a case, its evidence. name: what was judged. */
void kw_report_verdict_text(const struct kw_verdict *v, const char *name, struct kw_buf *out);
/* The verdict of a stored row, from its record. Initialises v (release it on KW_OK only). */
enum kw_status kw_report_verdict_load(const struct kw_verdict_row *row, struct kw_verdict *v, struct kw_error *err);
/* "where it falls short of the best baseline", a case a line; nothing where there is none. */
void kw_report_shortfalls(const struct kw_falls_short *list, size_t count, struct kw_buf *out);
json_t *kw_report_shortfalls_json(const struct kw_falls_short *list, size_t count); /* NULL: out of memory */
/* Two runs of the same task side by side: case, times, ratio, or "no difference". */
void kw_report_diff_text(const struct kw_report *a, const struct kw_report *b, struct kw_buf *out);
json_t *kw_report_diff_json(const struct kw_report *a, const struct kw_report *b);
/* The JSON of `eval` and of a run's best (design 14): a verdict with its name, its number, its record's hash and its
 * findings (none yet: profilers will add them). */
json_t *kw_report_verdict_json(const struct kw_verdict *v, const char *name, int64_t id, const char *record_sha);
/* How far a run is, in words: what every list, table and report says of it. Of one that is not over: by which process. */
enum { KW_REPORT_STATE_MAX = 192 };
const char *kw_report_state(const struct kw_run_row *r, char out[KW_REPORT_STATE_MAX]);
json_t *kw_report_run_json(const struct kw_run_row *r);  /* one row of `runs list` */

#endif
