/* Any bytes: an expression that can be evaluated and whose text reads back as the same, or an error
 * with a place and a text. */
#include "core/intexpr.h"

#include "fuzz.h"

static void count(void *arg, const char *name)
{
	must(*name);
	++*(int *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kw_intenv_var vars[] = { { "rows", 1000 }, { "cols", -7 }, { "x.stride0", 0 } };
	static const struct kw_intenv env = { vars, 3, NULL };
	struct kw_error err = { 0 };
	struct kw_intexpr *e = NULL, *again = NULL;
	struct kw_arena a;
	int64_t v = 0, w = 0;
	int names = 0;

	kw_arena_init(&a, 16 << 20);
	if (kw_intexpr_parse((struct kw_str){ (const char *)data, size }, "f", 1, 1, &a, &e, &err) != KW_OK) {
		must(!e && err.text[0] && strncmp(err.where, "f:1:", 4) == 0);
	} else {
		enum kw_status s = kw_intexpr_eval(e, &env, &v, &err);

		must(s == KW_OK || (s == KW_ERR_INPUT && err.text[0]));
		kw_intexpr_names(e, count, &names);
		must(kw_intexpr_parse(kw_str_from(kw_intexpr_text(e)), "f", 1, 1, &a, &again, &err) == KW_OK);
		must(kw_intexpr_eval(again, &env, &w, &err) == s && (s != KW_OK || v == w));
	}
	kw_arena_release(&a);
	return 0;
}
