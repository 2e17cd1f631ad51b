/* Any bytes as a rule, and as a condition: a rule that can be evaluated, or an error with a text. */
#include "explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double now[KW_M_COUNT];
	struct kw_facts f = { .now = now };
	struct kw_error err = { 0 };
	struct kw_condition *c;
	struct kw_rule r;
	struct kw_arena a;
	char *text;

	for (int m = 0; m < KW_M_COUNT; m++)
		now[m] = m % 3 ? m : NAN;
	kw_arena_init(&a, 32 << 20);
	text = kw_arena_strndup(&a, (const char *)data, size);
	if (kw_rule_parse("knowledge/rules/f.yaml", text, size, &a, &r, &err) == KW_OK) {
		kw_rule_fires(&r, &f);
		must(kw_rule_say(&r, r.evidence, &f, &a));
	} else {
		must(err.text[0]);
	}
	if (r.message)
		regfree(r.message);
	kw_error_reset(&err);
	if (kw_condition_parse(text, NULL, &a, &c, "f", &err) == KW_OK)
		kw_condition_eval(c, &f);
	else
		must(!c && err.text[0]);
	kw_arena_release(&a);
	return 0;
}
