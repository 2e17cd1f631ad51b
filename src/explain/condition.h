/* condition.h - the expressions of rules: numbers, metrics by name, + - * /, comparisons, && || !, and functions.
 *
 *     struct kw_condition *c;
 *     kw_condition_parse("dram_pct >= 88 && !(sm_busy_pct > 80)", names, arena, &c, where, err);
 *     v = kw_condition_eval(c, &facts);         // 1, 0, or NaN: not known
 *
 * A value that is missing is NaN, and what follows from it is not known: a comparison with it is NaN; `a && b` is false
 * when one side is, else not known when one side is not; likewise ||. So a rule fires only on what is there. `!a` is "not
 * known to be a": an exception that nobody measured does not hold a rule back. has(x) is 1
 * or 0; first(a, b) the first that is there; min and max take those that are there; also abs, floor, ceil.
 * before.NAME is the value of the export that is compared with. Parsed once into the arena, then immutable; any thread. */
#ifndef KW_EXPLAIN_CONDITION_H
#define KW_EXPLAIN_CONDITION_H

#include "base/arena.h"
#include "base/error.h"
#include "profile/metrics.h"

enum { KW_MAX_CAPTURES = 8, KW_MAX_SAID = 16 };
struct kw_condition;                      /* opaque */
/* Names that a message's pattern captures. */
struct kw_captures {
	const char *name[KW_MAX_CAPTURES];
	size_t count;
};
struct kw_facts {
	const double *now, *before;       /* KW_M_COUNT each; before may be NULL */
	double captured[KW_MAX_CAPTURES];
	struct kw_str said[KW_MAX_SAID];  /* a message's groups as they stand, from 1; ptr NULL: it took no part. Borrowed of the line */
};
/* An unknown name is refused with the nearest. captures may be NULL. where: "rule.yaml:3:7". */
enum kw_status kw_condition_parse(const char *text, const struct kw_captures *captures, struct kw_arena *a,
				  struct kw_condition **out, const char *where, struct kw_error *err);
double kw_condition_eval(const struct kw_condition *c, const struct kw_facts *f);
/* Calls fn for each metric that is used (not before.NAME, not captures). */
void kw_condition_metrics(const struct kw_condition *c, void (*fn)(void *arg, int metric), void *arg);

#endif
