/* judged.h - what can be said of a kernel that the judge found right, without a profiler: its times case by case against what the
 * machine can do, and what its source says.
 *
 *     kw_rules_load(arena, &rules, &rule_count, err);
 *     kw_explain_judged(c->source, "k.cu", verdict, rules, rule_count, memory, arena, &findings, &count, err);
 *
 * Thread rule: one arena, one thread. */
#ifndef KW_EXPLAIN_JUDGED_H
#define KW_EXPLAIN_JUDGED_H

#include "core/finding.h"
#include "core/verdict.h"
#include "store/store.h"

struct kw_rule;
/* The findings of the case that takes longest, ranked. name: its ending says the language. rules: of kw_rules_load, which takes longer than
 * this does. memory: where the rules' records are (ledger.h), which ranking uses; NULL: none. */
enum kw_status kw_explain_judged(const char *source, const char *name, const struct kw_verdict *v, const struct kw_rule *rules,
				 size_t rule_count, struct kw_store *memory, struct kw_arena *a, struct kw_finding **out, size_t *count,
				 struct kw_error *err);
/* What is known of a refusal's evidence, a line for each rule that explains one of its lines, at most four; "": nothing. NULL: out of memory. */
const char *kw_explain_refused(const char *evidence, const struct kw_rule *rules, size_t rule_count, struct kw_arena *a);
struct kw_falls_short;
/* The timed cases in which the best baseline is faster, each with the finding that says why. */
enum kw_status kw_explain_shortfalls(const char *source, const char *name, const struct kw_verdict *v, struct kw_arena *a,
				     struct kw_falls_short **out, size_t *count, struct kw_error *err);
/* The timed case that takes longest, which the findings are about; NULL: none was timed. */
const struct kw_case_result *kw_explain_longest(const struct kw_verdict *v);

/* Whether its times are a GPU's, as far as its backend tells. */
bool kw_explain_on_gpu(const struct kw_verdict *v);

#endif
