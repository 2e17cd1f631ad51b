#include "search/split.h"

#include <math.h>
#include <string.h>

#include "explain/rule.h"
#include "profile/launches.h"
#include "search/space.h"

enum { RANGES_MAX = 4, TEXT_MAX = 1 << 16, SCRATCH_BYTES = 8 << 20 };
/* Of the mean over the cases: less is not worth a kernel that is harder to read. */
static const double worth = 0.995;

/* Sizes of one dim that have one point, ascending. */
struct range {
	int64_t from, to;
	const struct kw_split_point *point;
};
struct finder {
	const struct kw_candidate *c;
	const struct kw_task *t;
	const struct kw_split_point *points;
	size_t count;
};
struct found {
	struct range ranges[RANGES_MAX];
	size_t count, dim;
	double ns;
	int related;
};

static bool timed(const struct kw_split_point *p, size_t k)
{
	return p->ns[k] > 0.0;
}

/* The sum of the times' logarithms over the cases with this size that the best has a time of; false: it lacks one. */
static bool sum_of(const struct finder *f, const struct kw_split_point *p, size_t dim, int64_t size, double *sum, bool *beyond)
{
	const struct kw_split_point *best = &f->points[0];

	*sum = 0.0;
	*beyond = false;
	for (size_t k = 0; k < f->t->perf_count; k++) {
		if (!timed(best, k) || f->t->cases[k].dims[dim] != size)
			continue;
		if (!timed(p, k))
			return false;
		*sum += log(p->ns[k]);
		*beyond = *beyond || (p->high_ns[k] < best->ns[k] && p->ns[k] < best->low_ns[k]);
	}
	return true;
}

static const struct kw_split_point *fastest(const struct finder *f, size_t dim, int64_t size, double *sum)
{
	const struct kw_split_point *best = &f->points[0];
	bool beyond;

	sum_of(f, best, dim, size, sum, &beyond);
	for (size_t i = 1; i < f->count; i++) {
		double own;

		if (sum_of(f, &f->points[i], dim, size, &own, &beyond) && beyond && own < *sum) {
			*sum = own;
			best = &f->points[i];
		}
	}
	return best;
}

/* The next larger size of the timed cases; false: there is none. */
static bool next_size(const struct finder *f, size_t dim, bool first, int64_t after, int64_t *out)
{
	bool any = false;

	for (size_t k = 0; k < f->t->perf_count; k++) {
		int64_t size = f->t->cases[k].dims[dim];

		if (!timed(&f->points[0], k) || (!first && size <= after) || (any && size >= *out))
			continue;
		*out = size;
		any = true;
	}
	return any;
}

struct both {
	const struct finder *f;
	const struct found *o;
	bool dim, tune;
};

static bool differs(const struct found *o, size_t tune)
{
	for (size_t i = 1; i < o->count; i++)
		if (o->ranges[i].point->values[tune] != o->ranges[0].point->values[tune])
			return true;
	return false;
}

static void note_name(void *arg, const char *name)
{
	struct both *b = arg;

	b->dim = b->dim || strcmp(name, b->f->t->dims[b->o->dim].name) == 0;
	for (size_t i = 0; i < b->f->c->plan.tune_count; i++)
		b->tune = b->tune || (strcmp(name, b->f->c->plan.tunes[i].name) == 0 && differs(b->o, i));
}

static int uses_both(const struct finder *f, const struct found *o, const struct kw_intexpr *e)
{
	struct both b = { .f = f, .o = o };

	if (e)
		kw_intexpr_names(e, note_name, &b);
	return b.dim && b.tune;
}

static void note_dim(void *arg, const char *name)
{
	struct both *b = arg;

	b->dim = b->dim || strcmp(name, b->f->t->dims[b->o->dim].name) == 0;
}

/* How much a dim has to do with what differs: expressions that have both; then how far inside the first input it is, where what depends on a
 * size mostly lies. Sizes that change together fit equally well. */
static int relation(const struct finder *f, const struct found *o)
{
	const struct kw_plan *p = &f->c->plan;
	const struct kw_tensor_decl *x = f->t->input_count ? &f->t->inputs[0] : NULL;
	int n = 0;

	for (size_t i = 0; i < p->define_count; i++)
		n += uses_both(f, o, p->defines[i].expr);
	for (size_t i = 0; i < p->where_count; i++)
		n += uses_both(f, o, p->wheres[i]);
	for (size_t i = 0; i < p->require_count; i++)
		n += uses_both(f, o, p->requires[i]);
	for (size_t i = 0; i < p->kernel_count; i++)
		for (int k = 0; k < p->kernels[i].grid_rank; k++)
			n += uses_both(f, o, p->kernels[i].grid[k]);
	n *= KW_MAX_RANK + 1;
	for (int k = 0, at = 0; x && k < x->rank; k++) {
		struct both b = { .f = f, .o = o };

		kw_intexpr_names(x->shape[k], note_dim, &b);
		n += b.dim ? k + 1 - at : 0;
		at = b.dim ? k + 1 : at;
	}
	return n;
}

/* Its cases by one dim: neighbours with the same point are one range. */
static bool try_dim(const struct finder *f, size_t dim, struct found *o)
{
	double logs = 0.0, sum;
	int64_t size = 0;
	int covered = 0;

	*o = (struct found){ .dim = dim };
	for (bool first = true; next_size(f, dim, first, size, &size); first = false) {
		const struct kw_split_point *p = fastest(f, dim, size, &sum);

		logs += sum;
		if (o->count && o->ranges[o->count - 1].point == p) {
			o->ranges[o->count - 1].to = size;
			continue;
		}
		if (o->count == RANGES_MAX)
			return false;
		o->ranges[o->count++] = (struct range){ size, size, p };
	}
	for (size_t k = 0; k < f->t->perf_count; k++)
		covered += timed(&f->points[0], k);
	if (o->count < 2)
		return false;
	o->ns = exp(logs / covered);
	o->related = relation(f, o);
	return true;
}

/* A round number between two sizes: the power of two at or below their geometric middle, where there is one. */
static int64_t between(int64_t below, int64_t above)
{
	int64_t middle = (int64_t)sqrt((double)below * (double)above), power = 1;

	middle = middle < below ? below : middle >= above ? above - 1 : middle;
	while (power <= middle / 2)
		power *= 2;
	return power >= below && power <= middle ? power : middle;
}

/* "cols > 2048 ? 512 : 128" */
static const char *choice(const struct finder *f, const struct found *o, size_t tune, struct kw_arena *a)
{
	const char *dim = f->t->dims[o->dim].name;
	struct kw_buf b;
	const char *text;

	kw_buf_init(&b, TEXT_MAX);
	for (size_t i = o->count - 1; i > 0; i--) {
		int64_t above = o->ranges[i].point->values[tune];

		if (above != o->ranges[i - 1].point->values[tune])
			kw_buf_printf(&b, "%s > %lld ? %lld : ", dim, (long long)between(o->ranges[i - 1].to, o->ranges[i].from),
				      (long long)above);
	}
	kw_buf_printf(&b, "%lld", (long long)o->ranges[0].point->values[tune]);
	text = b.full ? NULL : kw_arena_strndup(a, b.ptr, b.len);
	kw_buf_release(&b);
	return text;
}

static const struct kw_tune_split *make(const struct finder *f, const struct found *o, struct kw_arena *a)
{
	size_t n = f->c->plan.tune_count;
	struct kw_tune_split *s = kw_arena_calloc(a, 1, sizeof(*s));
	const char **lines = kw_arena_calloc(a, n + 1, sizeof(*lines));
	int64_t *values = kw_arena_calloc(a, n + 1, sizeof(*values));

	if (!s || !lines || !values)
		return NULL;
	*s = (struct kw_tune_split){ .text = "", .lines = lines, .values = values, .ns = o->ns };
	for (size_t i = 0; i < n; i++) {
		values[i] = o->ranges[0].point->values[i];
		if (!differs(o, i))
			continue;
		lines[i] = choice(f, o, i, a);
		s->text = lines[i] ? kw_arena_printf(a, "%s%s%s = %s", s->text, *s->text ? "; " : "", f->c->plan.tunes[i].name, lines[i])
				   : NULL;
		if (!s->text)
			return NULL;
	}
	return s;
}

/* Of equal ones, but for rounding, the one with fewer ranges; then the one that has more to do with it. */
static bool preferred(const struct found *a, const struct found *b)
{
	if (a->ns < b->ns * (1 - 1e-9) || b->ns < a->ns * (1 - 1e-9))
		return a->ns < b->ns;
	return a->count != b->count ? a->count < b->count : a->related > b->related;
}

enum kw_status kw_split_find(const struct kw_candidate *c, const struct kw_task *t, const struct kw_split_point *points, size_t count,
			     struct kw_arena *a, const struct kw_tune_split **out, struct kw_error *err)
{
	struct finder f = { c, t, points, count };
	struct found best = { 0 }, one;
	double logs = 0.0;
	int covered = 0;

	*out = NULL;
	for (size_t k = 0; count && k < t->perf_count; k++)
		if (timed(&points[0], k)) {
			logs += log(points[0].ns[k]);
			covered++;
		}
	for (size_t d = 0; covered > 1 && count > 1 && d < t->dim_count; d++) {
		bool better = try_dim(&f, d, &one) && one.ns < worth * exp(logs / covered);

		if (better && (!best.count || preferred(&one, &best)))
			best = one;
	}
	if (!best.count)
		return KW_OK;
	*out = make(&f, &best, a);
	return *out ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a split by size");
}

/* The tune lines that became defines, each with its own marker, above all that knows them. */
static void add_defines(const struct kw_candidate *c, const struct kw_tune_split *s, struct kw_str like, struct kw_buf *out)
{
	bool python = kw_str_holds(like, "#@");

	kw_buf_printf(out, KW_STR_FMT "%s Split by size: of the values that were timed, each was the fastest on the cases of its range.\n",
		      (int)strspn(like.ptr, " \t"), like.ptr, python ? "#" : "//");
	for (size_t i = 0; i < c->plan.tune_count; i++)
		if (s->lines[i])
			kw_buf_printf(out, KW_STR_FMT "%s define %s = %s\n", (int)strspn(like.ptr, " \t"), like.ptr, python ? "#@" : "//@",
				      c->plan.tunes[i].name, s->lines[i]);
}

static bool goes(const struct kw_candidate *c, const struct kw_tune_split *s, int line)
{
	for (size_t i = 0; i < c->plan.tune_count; i++)
		if (s->lines[i] && c->plan.tunes[i].line == line)
			return true;
	return false;
}

static void rewrite(const struct kw_candidate *c, const struct kw_tune_split *s, struct kw_buf *out)
{
	struct kw_str rest = { c->source, c->source_len }, line;
	int at = c->plan.define_count ? c->plan.defines[0].line : 0, n = 0;

	for (size_t i = 0; i < c->plan.tune_count; i++)
		if (s->lines[i] && (!at || c->plan.tunes[i].line < at))
			at = c->plan.tunes[i].line;
	while (kw_str_split(&rest, '\n', &line)) {
		if (++n == at)
			add_defines(c, s, line, out);
		if (!goes(c, s, n)) {
			kw_buf_add(out, line.ptr, line.len);
			if (rest.ptr)
				kw_buf_addc(out, '\n');
		}
	}
}

/* Whether it applies to every case of the task that c at its point applies to. */
static bool serves_as_many(const struct kw_candidate *c, const struct kw_candidate *by_size, const struct kw_task *t,
			   const struct kw_hardware *hw)
{
	struct kw_bound_plan bound;
	struct kw_arena scratch;
	bool all = true;

	kw_arena_init(&scratch, SCRATCH_BYTES);
	for (size_t i = 0; i < t->case_count && all; i++) {
		kw_arena_reset(&scratch);
		all = !kw_space_bind(c, t, &t->cases[i], hw, c->tune_values, &scratch, &bound) ||
		      kw_space_bind(by_size, t, &t->cases[i], hw, by_size->tune_values, &scratch, &bound);
	}
	kw_arena_release(&scratch);
	return all;
}

enum kw_status kw_split_apply(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw,
			      const struct kw_tune_split *split, struct kw_arena *a, struct kw_candidate *out, struct kw_error *err)
{
	const char *name = kw_arena_printf(a, "%s_by_size", c->name);
	struct kw_buf text;
	size_t kept = 0;
	enum kw_status status;

	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES);
	rewrite(c, split, &text);
	status = name && !text.full ? kw_candidate_from_text(out, name, c->backend, text.ptr, text.len, t, a, err)
				    : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a split by size");
	kw_buf_release(&text);
	if (status != KW_OK)
		return status == KW_ERR_INPUT ? KW_NO : status;
	out->origin = kw_arena_printf(a, "%s, split by size", c->origin ? c->origin : "");
	out->tune_values = kw_arena_calloc(a, c->plan.tune_count + 1, sizeof(*out->tune_values));
	if (!out->origin || !out->tune_values)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a split by size");
	for (size_t i = 0; i < c->plan.tune_count; i++)
		if (!split->lines[i])
			out->tune_values[kept++] = split->values[i];
	return serves_as_many(c, out, t, hw) ? KW_OK : KW_NO;
}

/* ---- what models are told ----------------------------------------------------------------------- */

static const char rule_name[] = "one_value_for_all_sizes";
static const char table[] = "split";

const char *kw_split_key(const struct kw_candidate *c, const struct kw_hardware *hw, struct kw_arena *a)
{
	const char *key = kw_arena_printf(a, "%s|%s|%s|%d", c->sha256, hw->name, hw->arch, hw->units);

	return key ? key : c->sha256;
}

/* "n=1 is fastest with T=2 (7 ms), n=2 with T=3 (2.90 ms)" */
static const char *which_is_best(const struct kw_tune_report *r, struct kw_arena *a)
{
	const char *text = "";
	char ns[40];

	for (size_t i = 0; text && i < r->case_count; i++)
		text = kw_arena_printf(a, "%s%s%s %s%s (%s)", text, i ? ", " : "", r->cases[i].label, i ? "with " : "is fastest with ",
				       r->cases[i].fastest, kw_human_ns(r->cases[i].fastest_ns, ns, sizeof(ns)));
	return text;
}

enum kw_status kw_split_remember(struct kw_store *memory, const char *key, const struct kw_tune_report *r, struct kw_arena *a,
				 struct kw_error *err)
{
	const char *old = NULL, *best = r && r->split ? which_is_best(r, a) : "";
	struct kw_buf text;
	json_t *j;
	enum kw_status status;

	if (!r || !r->split) {
		status = kw_store_kv_get(memory, table, key, a, &old, err);
		return status == KW_OK && old && *old ? kw_store_kv_put(memory, table, key, "", err) : status;
	}
	j = best ? json_pack("{s:s, s:s, s:f, s:f}", "define", r->split->text, "best", best, "one_value_ns", r->best_ns, "by_size_ns", r->split->ns)
		 : NULL;
	kw_buf_init(&text, TEXT_MAX);
	status = j ? kw_json_canonical(j, &text, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a split by size");
	if (status == KW_OK)
		status = kw_store_kv_put(memory, table, key, text.ptr, err);
	json_decref(j);
	kw_buf_release(&text);
	return status;
}

static enum kw_status say(const json_t *j, const struct kw_rule *rule, double mean_ns, struct kw_arena *a, struct kw_finding *out, bool *found,
			  struct kw_error *err)
{
	double now[KW_M_COUNT], share;
	struct kw_facts f = { .now = now };
	const char *evidence, *change;

	for (int m = 0; m < KW_M_COUNT; m++)
		now[m] = NAN;
	now[KW_M_ONE_VALUE_NS] = kw_json_get_f64(j, "one_value_ns", 0);
	now[KW_M_BY_SIZE_NS] = kw_json_get_f64(j, "by_size_ns", 0);
	if (!kw_rule_fires(rule, &f))
		return KW_OK;
	share = now[KW_M_BY_SIZE_NS] / now[KW_M_ONE_VALUE_NS];
	evidence = kw_rule_say(rule, rule->evidence, &f, a);
	change = kw_rule_say(rule, rule->directive, &f, a);
	*out = (struct kw_finding){ .id = rule_name, .rule = kw_arena_strdup(a, rule->file), .gain_ns = (1 - share) * (mean_ns > 0 ? mean_ns : now[KW_M_ONE_VALUE_NS]) };
	out->sentence = evidence ? kw_arena_printf(a, "%s %s.", evidence, kw_json_get_str(j, "best", "")) : NULL;
	out->directive = (struct kw_directive){
		.id = kw_arena_strdup(a, rule->directive_id),
		.text = change ? kw_arena_printf(a, "%s Here: `define %s`.", change, kw_json_get_str(j, "define", "")) : NULL,
		.wrong_when = kw_arena_strdup(a, rule->wrong_when),
		.prediction = { KW_SPLIT_METRIC, share, 1 - rule->sure * (1 - share) },
	};
	*found = out->rule && out->sentence && out->directive.id && out->directive.text && out->directive.wrong_when;
	return *found ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a finding");
}

enum kw_status kw_split_finding(struct kw_store *memory, const char *key, const struct kw_rule *rules, size_t rule_count, double mean_ns,
				struct kw_arena *a, struct kw_finding *out, bool *found, struct kw_error *err)
{
	const struct kw_rule *rule = kw_rule_find(rules, rule_count, rule_name);
	const char *text = NULL;
	json_t *j = NULL;
	enum kw_status status;

	*found = false;
	if (!memory || !rule)
		return KW_OK;
	status = kw_store_kv_get(memory, table, key, a, &text, err);
	if (status == KW_OK && text && *text)
		status = kw_json_parse("a split by size", text, strlen(text), &j, err);
	if (status == KW_OK && j)
		status = say(j, rule, mean_ns, a, out, found, err);
	json_decref(j);
	return status;
}
