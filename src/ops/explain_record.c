/* What came of a rule's directive: predicted against measured, kept in the user's store under "rule". */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain/ledger.h"
#include "ops/explain_internal.h"

enum kw_status kw_op_rule_records(struct kw_store *memory, struct kw_arena *a, struct kw_rule_record **out,
				  size_t *count, struct kw_error *err)
{
	struct kw_rule *rules;
	size_t n;
	enum kw_status s = kw_rules_load(a, &rules, &n, err);

	*count = 0;
	if (s != KW_OK)
		return s;
	s = kw_ledger_read(memory, rules, n, a, out, count, err);
	/* The names outlive the rules. */
	for (size_t i = 0; s == KW_OK && i < *count; i++)
		if (!((*out)[i].rule = kw_arena_strdup(a, (*out)[i].rule)))
			s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_rules_release(rules, n);
	return s;
}

static const struct kw_explained_finding *finding_of(const struct kw_explained_input *in, const char *rule)
{
	for (size_t i = 0; i < in->launches.count; i++)
		for (size_t k = 0; k < in->explained[i].count; k++)
			if (strcmp(in->explained[i].findings[k].rule->name, rule) == 0 ||
			    strcmp(in->explained[i].findings[k].rule->directive_id, rule) == 0)
				return &in->explained[i].findings[k];
	return NULL;
}

/* Why the two times are none of a change: another device, clock or size; NULL where they may be. */
static const char *not_comparable(const struct kw_op_explain *r)
{
	const struct kw_explained_input *in = &r->all.inputs[1];

	for (size_t i = 0; i < in->launches.count; i++)
		for (size_t k = 0; k < in->explained[i].count; k++) {
			const struct kw_rule *rule = in->explained[i].findings[k].rule;

			if (rule->about == KW_ABOUT_COMPARE && strcmp(rule->cls, "measurement") == 0)
				return rule->title;
		}
	return NULL;
}

enum kw_status kw_op_rule_applied(struct kw_op_explain *r, const char *rule, struct kw_error *err)
{
	const struct kw_explained_finding *f;
	struct kw_store *memory;
	const char *other;
	double before, after, measured;
	enum kw_status s;

	if (!r->all.compared)
		return kw_fail(err, KW_ERR_USAGE, "", "--applied goes with --compare BEFORE AFTER");
	f = finding_of(&r->all.inputs[0], rule);
	before = r->all.inputs[0].total_ns;
	after = r->all.inputs[1].total_ns;
	if (!f)
		return kw_fail(err, KW_ERR_INPUT, r->all.inputs[0].file, "no finding of the first input is '%.60s'",
			       rule);
	if (isnan(before) || isnan(after))
		return kw_fail(err, KW_ERR_INPUT, "", "both inputs must have times, to say what came of '%.60s'", rule);
	other = not_comparable(r);
	if (other)
		return kw_fail(err, KW_ERR_INPUT, r->all.inputs[1].file, "nothing is kept of '%.60s': %s", rule, other);
	measured = 1 - after / before;
	s = kw_store_memory_open(&memory, err);
	if (s != KW_OK)
		return s;
	s = kw_ledger_add(memory, f->rule->name, isnan(f->gain) ? 0 : f->gain, measured, &r->arena, err);
	kw_store_close(memory);
	r->recorded = kw_arena_printf(&r->arena, "kept: %s gave %.0f%% of the time back%s", f->rule->name,
				      100 * measured, isnan(f->gain) ? "; nothing was predicted" : "");
	if (s == KW_OK && !isnan(f->gain))
		r->recorded = kw_arena_printf(&r->arena,
					      "kept: %s gave %.0f%% of the time back; at most %.0f%% was predicted",
					      f->rule->name, 100 * measured, 100 * f->gain);
	return s;
}
