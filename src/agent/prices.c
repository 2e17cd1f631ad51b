#include "agent/prices.h"

#include <string.h>

#include "base/file.h"
#include "base/yaml.h"

static const char path[] = "knowledge/prices.yaml";

static enum kw_status read_price(const struct kw_yaml *n, struct kw_price *out, struct kw_error *err)
{
	static const char *const keys[] = { "model", "in", "out", NULL };
	enum kw_status status;

	if (n->kind != KW_YAML_MAP)
		return kw_yaml_fail(n, err, "a price is { model: NAME, in: USD, out: USD }");
	status = kw_yaml_check_keys(n, keys, err);
	if (status == KW_OK)
		status = kw_yaml_get_str(n, "model", true, &out->model, err);
	if (status == KW_OK)
		status = kw_yaml_get_f64(n, "in", true, &out->in_usd, err);
	if (status == KW_OK)
		status = kw_yaml_get_f64(n, "out", true, &out->out_usd, err);
	if (status == KW_OK && !(out->in_usd >= 0 && out->out_usd >= 0))
		status = kw_yaml_fail(n, err, "a price is 0 or more dollars for a million tokens");
	return status;
}

enum kw_status kw_prices_parse(const char *file, const char *text, size_t len, struct kw_arena *a, struct kw_prices *out,
			       struct kw_error *err)
{
	static const char *const keys[] = { "since", "prices", NULL };
	struct kw_yaml *root;
	const struct kw_yaml *list;
	enum kw_status status = kw_yaml_parse(file, text, len, a, &root, err);

	*out = (struct kw_prices){ 0 };
	if (status == KW_OK)
		status = kw_yaml_check_keys(root, keys, err);
	if (status != KW_OK)
		return status;
	list = kw_yaml_find(root, "prices");
	if (!list || list->kind != KW_YAML_SEQ)
		return kw_yaml_fail(root, err, "the file has no list 'prices'");
	out->at = kw_arena_calloc(a, list->child_count + 1, sizeof(*out->at));
	if (!out->at)
		return kw_fail(err, KW_ERR_NOMEM, file, "out of memory for prices");
	for (const struct kw_yaml *n = list->first; n && status == KW_OK; n = n->next)
		status = read_price(n, &out->at[out->count++], err);
	return status;
}

enum kw_status kw_prices_load(struct kw_arena *a, struct kw_prices *out, struct kw_error *err)
{
	char *text;
	size_t len;
	enum kw_status status = kw_data_read(path, a, &text, &len, err);

	return status == KW_OK ? kw_prices_parse(path, text, len, a, out, err) : status;
}

const struct kw_price *kw_price_of(const struct kw_prices *p, const char *model)
{
	const char *base = strrchr(model, '/') ? strrchr(model, '/') + 1 : model;
	const struct kw_price *best = NULL;

	for (size_t i = 0; i < p->count; i++) {
		size_t n = strlen(p->at[i].model);

		/* "gpt-5.4" is another model than "gpt-5", and "gpt-5-2026" is not. */
		if (strncmp(base, p->at[i].model, n) == 0 && (base[n] == '\0' || strchr("-:@", base[n])) && (!best || n > strlen(best->model)))
			best = &p->at[i];
	}
	return best;
}

const struct kw_price *kw_price_of_model(const struct kw_prices *p, const struct kw_model *m)
{
	return kw_price_of(p, kw_model_paid(m) == KW_PAID_BY_NAME ? strchr(kw_model_spec(m), ':') + 1 : kw_model_provider(m));
}

const struct kw_price *kw_price_of_call(const struct kw_prices *p, const struct kw_model *m, const char *model)
{
	/* A command or a folder that is called like a model is none. */
	const struct kw_price *own = strcmp(model, kw_model_spec(m)) == 0 ? NULL : kw_price_of(p, model);

	return own ? own : kw_price_of_model(p, m);
}

double kw_price_cost(const struct kw_price *p, int64_t tokens_in, int64_t tokens_out)
{
	return p ? ((double)tokens_in * p->in_usd + (double)tokens_out * p->out_usd) / 1e6 : 0.0;
}
