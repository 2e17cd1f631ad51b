/* The size of a tune space. */
#include <string.h>

#include "core/plan.h"
#include "core/plan_internal.h"

enum { MAX_POINTS = 10000000 };

struct check {
	const struct kw_plan *plan;
	bool tunes_only;
};

static void on_name(void *arg, const char *name)
{
	struct check *c = arg;

	for (size_t i = 0; i < c->plan->tune_count; i++)
		if (strcmp(c->plan->tunes[i].name, name) == 0)
			return;
	c->tunes_only = false;
}

static bool holds(const struct kw_intexpr *const *wheres, size_t count, const struct kw_intenv *env)
{
	int64_t v = 0;

	/* A condition that cannot be computed at a point excludes the point. */
	for (size_t i = 0; i < count; i++)
		if (kw_intexpr_eval(wheres[i], env, &v, NULL) != KW_OK || v == 0)
			return false;
	return true;
}

int64_t kw_plan_space_size(const struct kw_plan *p)
{
	const struct kw_intexpr *wheres[KW_PLAN_MAX_LINES];
	struct kw_intenv_var vars[KW_PLAN_MAX_LINES];
	struct kw_intenv env = { vars, p->tune_count, NULL };
	size_t at[KW_PLAN_MAX_LINES] = { 0 }, where_count = 0, i;
	int64_t product = 1, count = 0;

	for (i = 0; i < p->tune_count; i++) {
		vars[i] = (struct kw_intenv_var){ p->tunes[i].name, p->tunes[i].values[0] };
		product *= (int64_t)p->tunes[i].value_count;
		if (product > MAX_POINTS)
			return -1;
	}
	for (i = 0; i < p->where_count; i++) {
		struct check c = { p, true };

		kw_intexpr_names(p->wheres[i], on_name, &c);
		if (c.tunes_only)
			wheres[where_count++] = p->wheres[i];
	}
	if (where_count == 0)
		return product;
	do { /* the digits of a number whose places have their own bases */
		count += holds(wheres, where_count, &env);
		for (i = 0; i < p->tune_count; i++) {
			at[i] = at[i] + 1 == p->tunes[i].value_count ? 0 : at[i] + 1;
			vars[i].value = p->tunes[i].values[at[i]];
			if (at[i] != 0)
				break;
		}
	} while (i < p->tune_count);
	return count;
}
