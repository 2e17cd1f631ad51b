/* ncu.h - what Nsight Compute prints, in any of its forms, to launches (launches.h).
 *
 *     struct kw_ncu r;
 *     kw_ncu_init(&r, &launches, kw_number_style_of(head, head_len));
 *     while (next line)
 *             kw_ncu_line(&r, line);
 *     kw_ncu_finish(&r);
 *
 * Long CSV (12, 15 or 20 columns, in any order), the raw page (a row a launch, a row of units), summaries, the details
 * page as text, and the lines of a profiler that could not measure; forms may follow each other in one file, between
 * lines of other programs. Names of 2020 to 2025. Push: memory is bounded by what is found, not by the file. */
#ifndef KW_PROFILE_NCU_H
#define KW_PROFILE_NCU_H

#include "profile/csv.h"
#include "profile/launches.h"

enum kw_ncu_column {
	KW_NCU_ID, KW_NCU_PID, KW_NCU_KERNEL, KW_NCU_TIME, KW_NCU_CONTEXT, KW_NCU_STREAM, KW_NCU_BLOCK, KW_NCU_GRID, KW_NCU_CC, KW_NCU_SECTION,
	KW_NCU_METRIC, KW_NCU_UNIT, KW_NCU_VALUE, KW_NCU_RULE, KW_NCU_RULE_TYPE, KW_NCU_RULE_TEXT, KW_NCU_EST_TYPE,
	KW_NCU_EST, KW_NCU_INVOCATIONS, KW_NCU_MIN, KW_NCU_MAX, KW_NCU_AVERAGE, KW_NCU_COLUMNS
};
enum { KW_NCU_SIDE = 12 };
enum kw_ncu_mode { KW_NCU_NOTHING, KW_NCU_LONG, KW_NCU_SUMMARY, KW_NCU_WIDE };
struct kw_ncu_wide {
	int metric;                       /* -1: none of ours */
	double scale;
	bool device_name;
	const char *name;
};
struct kw_ncu {
	struct kw_launches *out;
	struct kw_csv csv;
	enum kw_number_style style;
	enum kw_ncu_mode mode;
	int line, column[KW_NCU_COLUMNS]; /* -1: the header has no such column */
	struct kw_ncu_wide *wide;
	size_t header_count, wide_units;  /* wide_units: the row of units was read */
	bool wide_chosen;                 /* one column a metric */
	size_t first;                     /* launches before it belong to another capture */
	struct kw_launch *now;
	const char *now_pid, *now_id;
	size_t now_index;
	const char **pids, **ids;         /* of each launch, for rows that come back to it */
	size_t keys_cap;
	uint32_t *slots;                  /* where a key was seen last: index + 1; a hint that is checked */
	bool in_section, text_summary;    /* the details page */
	char last[400];                   /* its last line, which is a name where a line of a launch has none: it was wrapped */
	struct kw_launch *side[KW_NCU_SIDE]; /* launches that stand beside each other, a column each */
	size_t side_count;
	struct kw_buf rule;               /* text of a rule of the details page */
	char rule_type[8];
	bool permission, failed, no_kernels, device_error, busy, no_device; /* since the last capture began */
	size_t launches_before;           /* when that began */
	struct kw_buf pending;            /* a record whose quotes are still open */
	int pending_line;
	int cut_line;                     /* before any header: a row that ends inside a quoted field; 0: none */
};
void kw_ncu_init(struct kw_ncu *r, struct kw_launches *out, enum kw_number_style style);
void kw_ncu_line(struct kw_ncu *r, struct kw_str line);
/* Ends the last capture and releases what the reader holds; the launches stay. */
void kw_ncu_finish(struct kw_ncu *r);

/* --- ncu_text.c: for ncu.c --- */
/* A line of the details page or of another program. */
void kw_ncu_text_line(struct kw_ncu *r, struct kw_str line);
void kw_ncu_text_end_rule(struct kw_ncu *r);
/* --- ncu_said.c --- */
/* Keeps a result of the profiler's rules, and takes the numbers out of its sentence that no metric of the export has. */
void kw_ncu_said(struct kw_launch *k, struct kw_str name, struct kw_str type, struct kw_str text, struct kw_str kind,
		 double estimate_pct);
/* --- ncu.c: for ncu_text.c --- */
void kw_ncu_value(struct kw_ncu *r, struct kw_launch *k, struct kw_str name, struct kw_str unit, struct kw_str value);
/* "(384, 1, 1)" */
bool kw_ncu_triple(struct kw_str s, int64_t out[3]);
#endif
