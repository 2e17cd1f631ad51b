/* prices.h - what models cost (knowledge/prices.yaml, or --data). Plain data in the caller's arena. */
#ifndef KW_AGENT_PRICES_H
#define KW_AGENT_PRICES_H

#include "base/arena.h"
#include "base/error.h"
#include "model/provider.h"

struct kw_price {
	const char *model;                /* what a model's name begins with */
	double in_usd, out_usd;           /* for a million tokens */
};
struct kw_prices {
	struct kw_price *at;
	size_t count;
};
enum kw_status kw_prices_load(struct kw_arena *a, struct kw_prices *out, struct kw_error *err);
enum kw_status kw_prices_parse(const char *file, const char *text, size_t len, struct kw_arena *a, struct kw_prices *out,
			       struct kw_error *err);
/* The longest name that fits; NULL: unpriced. */
const struct kw_price *kw_price_of(const struct kw_prices *p, const char *model);
/* Of an answer that names `model`; where that has none, of whom was asked. */
const struct kw_price *kw_price_of_call(const struct kw_prices *p, const struct kw_model *m, const char *model);
/* Of whom is asked, "openai:gpt-5" by the model's name; others by the provider's. NULL: unpriced. */
const struct kw_price *kw_price_of_model(const struct kw_prices *p, const struct kw_model *m);
double kw_price_cost(const struct kw_price *p, int64_t tokens_in, int64_t tokens_out);

#endif
