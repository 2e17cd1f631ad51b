/* Tune points as text and back. */
#include "core/plan.h"

#include <inttypes.h>
#include <string.h>

enum { TUNE_TEXT_MAX = 1 << 16 };

const char *kw_plan_tune_text(const struct kw_plan *p, const int64_t *values, struct kw_arena *a)
{
	struct kw_buf b;
	const char *text;

	kw_buf_init(&b, TUNE_TEXT_MAX);
	for (size_t i = 0; i < p->tune_count; i++)
		kw_buf_printf(&b, "%s%s=%" PRId64, i ? " " : "", p->tunes[i].name,
			      values ? values[i] : p->tunes[i].default_value);
	text = b.full ? NULL : kw_arena_strndup(a, b.ptr ? b.ptr : "", b.len);
	kw_buf_release(&b);
	return text;
}

static bool listed(const struct kw_plan_tune *t, int64_t value)
{
	for (size_t i = 0; i < t->value_count; i++)
		if (t->values[i] == value)
			return true;
	return false;
}

static enum kw_status set_one(const struct kw_plan *p, struct kw_str word, int64_t *values,
			      struct kw_error *err)
{
	struct kw_str rest = word, name;
	int64_t value;

	kw_str_split(&rest, '=', &name);
	for (size_t i = 0; i < p->tune_count; i++) {
		if (!kw_str_eqz(name, p->tunes[i].name))
			continue;
		if (!kw_str_to_i64(rest, &value) || !listed(&p->tunes[i], value))
			return kw_fail(err, KW_ERR_INPUT, "", "%s cannot be " KW_STR_FMT
				       ": its tune line does not list that", p->tunes[i].name,
				       KW_STR_ARG(rest));
		values[i] = value;
		return KW_OK;
	}
	return kw_fail(err, KW_ERR_INPUT, "", "the plan has no tune line for " KW_STR_FMT,
		       KW_STR_ARG(name));
}

enum kw_status kw_plan_tune_parse(const struct kw_plan *p, const char *text, int64_t *values,
				  struct kw_error *err)
{
	struct kw_str rest = kw_str_from(text), word;
	enum kw_status status = KW_OK;

	for (size_t i = 0; i < p->tune_count; i++)
		values[i] = p->tunes[i].default_value;
	while (status == KW_OK && kw_str_split(&rest, ' ', &word))
		if (word.len)
			status = set_one(p, word, values, err);
	return status;
}
