/* explain.h - launches (profile/launches.h) and rules to findings, ranked by the time that they can give back.
 *
 *     struct kw_explained e;
 *     kw_explain_launch(&set, launch, NULL, arena, &e);
 *     puts(e.verdict);                      // one sentence; then e.findings[0 .. e.count)
 *
 * A rule's gain is a share of the time at best. It is capped by what the change does not relieve: a kernel whose fp64 pipe
 * is busy for 85% of the time gets at most 15% from better loads. What is left under 2% is not told, and why is kept in
 * `dropped`. A gain that cannot be known is NaN and ranks behind those that can. Thread rule: one arena, one thread. */
#ifndef KW_EXPLAIN_EXPLAIN_H
#define KW_EXPLAIN_EXPLAIN_H

#include "core/finding.h"
#include "core/verdict.h"
#include "explain/ledger.h"
#include "explain/rule.h"
#include "profile/launches.h"

struct kw_rule_set {
	const struct kw_rule *rules;
	size_t count;
	const struct kw_rule_record *records;
	size_t record_count;
};
struct kw_explained_finding {
	const struct kw_rule *rule;
	const char *evidence, *directive, *check, *where; /* where: places in the code; "" */
	double gain;                      /* share of the time, after the cap; NaN: not known */
	double bound;                     /* what the roof leaves for this change at most, gain known or not; NaN: no roof is known */
	double rank;                      /* gain by the record */
	double factor_low, factor_high;   /* of the time now; NaN: not known */
	const char *against;              /* the other rule where it is a choice; NULL */
};
struct kw_dropped {
	const struct kw_rule *rule;
	const char *why;
};
enum { KW_MAX_FINDINGS = 24 };
struct kw_roof_unit {
	const char *name;                 /* "DRAM", "L2", "L1 and shared memory", "compute", "memory units" (which one is not known) */
	double pct;                       /* of the time of the whole kernel; NaN: missing */
	unsigned relieved_by;
};
enum { KW_ROOF_UNITS = 5 };
struct kw_explained {
	const struct kw_launch *launch;
	const char *verdict;
	const char *bottleneck;           /* name of the first rule; "none", "unknown" */
	const char *resources;            /* registers, shared memory, spills, and what they leave room for; "" */
	struct kw_roof_unit unit[KW_ROOF_UNITS];
	double roof_pct;                  /* of the busiest; NaN: none known */
	const char *roof_name;
	struct kw_explained_finding *findings;
	size_t count;
	struct kw_dropped *dropped;
	size_t dropped_count;
};
/* Fills in what follows from other values (derive.c). */
void kw_explain_derive(struct kw_launch *k);
/* What the resources of a kernel leave room for on a multiprocessor, what limits it, and the next step in each direction
 * (occupancy.c). "" where registers are not known; NULL: out of memory. */
const char *kw_explain_resources(const struct kw_launch *k, struct kw_arena *a);
/* before: what it is compared with; may be NULL. False: out of memory. */
bool kw_explain_launch(const struct kw_rule_set *set, struct kw_launch *k, const struct kw_launch *before,
		       struct kw_arena *a, struct kw_explained *out);
/* The message rules that explain a line of a log; out has room for max. Returns how many. */
size_t kw_explain_line(const struct kw_rule_set *set, const char *line, struct kw_arena *a,
		       struct kw_explained_finding *out, size_t max);
/* The core's form of a finding. */
void kw_explained_core(const struct kw_explained_finding *f, const struct kw_launch *k, struct kw_finding *out);
/* A timed case of a verdict as a launch, with the facts of the source (judged.c); a case without times is left out. False: out of
 * memory. */
bool kw_explain_add_case(struct kw_launches *l, const struct kw_case_result *c, bool gpu, const struct kw_launches *facts);
/* What a profiler measured of a judged case, whose launch has its label: a plan's one kernel is that launch, of several each is a launch of
 * its own. The judge's time stays. text: as kw_read_ncu takes it. False: out of memory. */
bool kw_explain_add_profile(struct kw_launches *l, const char *label, const char *text, size_t len);

#endif
