/* explain.h - bytes through a reader, the rules and the reports: shared by the fuzz targets of `explain`. */
#ifndef KW_TESTS_FUZZ_EXPLAIN_H
#define KW_TESTS_FUZZ_EXPLAIN_H

#include <math.h>

#include "report/explain.h"

#include "fuzz.h"

static struct kw_arena rules_arena;
static struct kw_rule_set rule_set;

static inline void load_rules(void)
{
	struct kw_rule *rules;
	struct kw_error err = { 0 };

	if (rule_set.rules)
		return;
	kw_arena_init(&rules_arena, 64 << 20);
	must(kw_rules_load(&rules_arena, &rules, &rule_set.count, &err) == KW_OK);
	rule_set.rules = rules;
}

static inline void check_explained(const struct kw_explained *e)
{
	must(e->verdict && e->bottleneck);
	for (size_t i = 0; i < e->count; i++) {
		const struct kw_explained_finding *f = &e->findings[i];

		must(f->evidence && f->directive && f->check && f->where);
		must(isnan(f->gain) || (f->gain >= 0 && f->gain <= 1));
	}
	for (int m = 0; m < KW_M_COUNT; m++)
		must(!isinf(e->launch->value[m]));
}

/* kind: as recognised, or forced. */
static inline void explain_bytes(enum kw_input_kind kind, const uint8_t *data, size_t size)
{
	struct kw_explained_input in = { .file = "f", .kind = kind };
	struct kw_explanation all = { .inputs = &in, .count = 1, .verdict_class = "" };
	struct kw_buf out;
	struct kw_arena a;
	json_t *j;
	char *text;

	load_rules();
	kw_arena_init(&a, 256 << 20);
	text = kw_arena_strndup(&a, (const char *)data, size);
	kw_launches_init(&in.launches, &a, "f");
	if (kw_input_read(kind, text, size, &in.launches)) {
		must(kw_explain_text(&rule_set, &in, text, size, "", &a));
		must(kw_explain_input(&rule_set, &in, NULL, &a));
		for (size_t i = 0; i < in.launches.count; i++)
			check_explained(&in.explained[i]);
		kw_buf_init(&out, 64 << 20);
		must(kw_report_explain_text(&all, true, &out));
		kw_buf_reset(&out);
		must(kw_report_explain_html(&all, &out));
		kw_buf_release(&out);
		j = kw_report_explain_json(&all);
		must(j != NULL);
		json_decref(j);
	}
	kw_arena_release(&a);
}

#endif
