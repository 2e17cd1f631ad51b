/* agent_life.c - how an agent begins and ends: its models, their prices, the store and what it knows already. */
#include "agent/agent_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model/replay.h"

static enum kw_status open_model(struct kw_agent *g, const char *spec, struct kw_model **out, struct kw_error *err)
{
	struct kw_provider_opts o = { .base_url = g->opts.base_url, .key_file = g->opts.key_file,
				      .timeout_ns = g->opts.timeout_ns, .retries = g->opts.retries };
	enum kw_status status;

	for (size_t i = 0; i < g->own_count; i++)
		if (strcmp(kw_model_spec(g->own[i]), spec) == 0) {
			*out = g->own[i];
			return KW_OK;
		}
	status = kw_model_open(spec, &o, out, err);
	if (status == KW_OK)
		g->own[g->own_count++] = *out;
	return status;
}

/* A budget of money means nothing where a price is not known. */
static enum kw_status check_price(const struct kw_agent *g, struct kw_error *err)
{
	for (size_t i = 0; g->opts.budget_usd > 0 && i < g->own_count; i++) {
		const struct kw_model *m = g->own[i];
		const char *spec = kw_model_spec(m);

		if (kw_model_paid(m) == KW_PAID_NOTHING || kw_price_of_model(&g->prices, m))
			continue;
		if (kw_model_paid(m) == KW_PAID_BY_NAME)
			return kw_fail(err, KW_ERR_USAGE, "", "the price of %.100s is not in knowledge/prices.yaml, so its cost "
				       "cannot be kept to a budget; add it there (--data DIR), or use --budget-tokens", spec);
		if (kw_model_paid(m) == KW_PAID_UNSEEN)
			return kw_fail(err, KW_ERR_USAGE, "", "nobody can tell what an answer of %.100s costs, so it cannot be kept to a budget; "
				       "give '%s' a price in knowledge/prices.yaml (--data DIR), or use --budget-tokens", spec,
				       kw_model_provider(m));
		kw_log(KW_LOG_WARN, "the budget of %g USD binds only where an answer of %.100s names a model of knowledge/prices.yaml; any other "
		       "costs nothing by it, and --budget-tokens counts them all", g->opts.budget_usd, spec);
	}
	return KW_OK;
}

/* An agent that has no models yet; NULL when out of memory. */
static struct kw_agent *begin(const struct kw_agent_opts *o, struct kw_error *err)
{
	struct kw_agent *g = kw_calloc(1, sizeof(*g));

	if (!g) {
		kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an agent");
		return NULL;
	}
	kw_arena_init(&g->arena, 64 << 20);
	g->opts = *o;
	g->mark = g->prefix = "";
	g->stop = KW_RUN_EXHAUSTED;
	return g;
}

enum kw_status kw_agent_new(const struct kw_agent_opts *o, struct kw_agent **out, struct kw_error *err)
{
	struct kw_agent *g = begin(o, err);
	enum kw_status status;

	*out = NULL;
	if (!g)
		return KW_ERR_NOMEM;
	status = kw_prices_load(&g->arena, &g->prices, err);
	for (int i = 0; i < KW_ROLE_COUNT && status == KW_OK; i++)
		status = open_model(g, o->role_model[i] ? o->role_model[i] : o->model ? o->model : "none", &g->models[i], err);
	if (status == KW_OK)
		status = check_price(g, err);
	if (status != KW_OK) {
		kw_agent_free(g);
		return status;
	}
	*out = g;
	return KW_OK;
}

enum kw_status kw_agent_part(struct kw_agent *whole, const struct kw_agent_opts *o, const char *prefix, struct kw_agent **out,
			     struct kw_error *err)
{
	struct kw_agent *g = begin(o, err);
	enum kw_status status;

	*out = NULL;
	if (!g)
		return KW_ERR_NOMEM;
	memcpy(g->models, whole->models, sizeof(g->models));
	g->prefix = kw_arena_strdup(&g->arena, prefix);
	status = g->prefix ? kw_prices_load(&g->arena, &g->prices, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an agent");
	if (status != KW_OK) {
		kw_agent_free(g);
		return status;
	}
	*out = g;
	return KW_OK;
}

void kw_agent_free(struct kw_agent *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->own_count; i++)
		kw_model_close(g->own[i]);
	kw_free(g->known);
	kw_arena_release(&g->arena);
	kw_free(g);
}

enum kw_status kw_agent_join(struct kw_agent *g, struct kw_store *store, int64_t run_id, const char *mark,
			     struct kw_error *err)
{
	struct kw_model_call *calls = NULL;
	size_t n = 0;
	enum kw_status status = kw_store_model_call_list(store, run_id, &g->arena, &calls, &n, err);

	g->store = store;
	g->run_id = run_id;
	g->mark = kw_arena_strdup(&g->arena, mark);
	if (status == KW_OK && !g->mark)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an agent");
	if (status == KW_OK && g->opts.record)
		status = kw_record_begin(g->opts.record, true, err);
	return status;
}

bool kw_agent_knows(const struct kw_agent *g, const char *sha)
{
	for (size_t i = 0; i < g->known_count; i++)
		if (strcmp(g->known[i], sha) == 0)
			return true;
	return false;
}

enum kw_status kw_agent_know(struct kw_agent *g, const char *sha256, struct kw_error *err)
{
	if (kw_agent_knows(g, sha256))
		return KW_OK;
	if (g->known_count == g->known_room) {
		size_t room = g->known_room ? 2 * g->known_room : 64;
		void *more = room <= KNOWN_MAX ? kw_realloc(g->known, room * sizeof(*g->known)) : NULL;

		if (!more)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the kernels of a run");
		g->known = more;
		g->known_room = room;
	}
	snprintf(g->known[g->known_count++], KW_SHA256_HEX, "%s", sha256);
	return KW_OK;
}
