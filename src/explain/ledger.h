/* ledger.h - what came of the rules' advice: the effect that was predicted against the one that was measured, kept in the user's
 * store under "rule", so that ranking and people see which rules keep their promises.
 *
 *     kw_ledger_add(memory, "uncoalesced_loads", 0.5, 0.4, arena, err);
 *     kw_ledger_read(memory, rules, rule_count, arena, &records, &count, err);
 *
 * Effects are shares of the time: 0.4 is given back, -0.1 is a tenth slower. Thread rule: that of the store. */
#ifndef KW_EXPLAIN_LEDGER_H
#define KW_EXPLAIN_LEDGER_H

#include "store/store.h"

struct kw_rule;
/* What is known of a rule that was applied: how often, and what came of what it promised (1: all of it). */
struct kw_rule_record {
	const char *rule;
	int tried, promised;              /* how often it was applied; of them with a gain that was predicted */
	double predicted, measured;       /* of the last of those, shares of the time */
	double kept;                      /* median of measured gain over predicted gain; 1: nothing was promised yet */
};
/* One application of a rule's directive; several processes may add at once. predicted 0: the rule promised no number, so this says nothing of its promises. */
enum kw_status kw_ledger_add(struct kw_store *memory, const char *rule, double predicted, double measured, struct kw_arena *a,
			     struct kw_error *err);
/* The records of the rules that were applied; strings are the rules' own. */
enum kw_status kw_ledger_read(struct kw_store *memory, const struct kw_rule *rules, size_t rule_count, struct kw_arena *a,
			      struct kw_rule_record **out, size_t *count, struct kw_error *err);

#endif
