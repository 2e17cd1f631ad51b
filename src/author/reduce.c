/* reduce.c - reductions of the loop patterns: running results, how they are taken in and joined.
 *
 * On a CPU a strip's lanes fold to one. On a GPU each thread folds its own lanes, and the team of
 * threads that shares the row (or the columns) joins what they have. With partial results a block
 * (split) later passes begin by joining those: on a CPU in the same function, on a GPU in the next
 * kernel. */
#include <string.h>

#include "author/emit_internal.h"
#include "author/forms.h"

const char *kw_au_red_init(const struct kw_au_red *r)
{
	bool f64 = r->dtype == KW_F64, f32 = r->dtype == KW_F32;

	switch (r->kind) {
	case KW_AU_SUM:
		return f32 ? "0.0f" : f64 ? "0.0" : "0";
	case KW_AU_PROD:
		return f32 ? "1.0f" : f64 ? "1.0" : "1";
	case KW_AU_MAX:
		return f32		    ? "-KW_INF"
		       : f64		    ? "-(double)KW_INF"
		       : r->dtype == KW_I64 ? "INT64_MIN"
					    : "INT32_MIN";
	case KW_AU_MIN:
		return f32		    ? "KW_INF"
		       : f64		    ? "(double)KW_INF"
		       : r->dtype == KW_I64 ? "INT64_MAX"
					    : "INT32_MAX";
	case KW_AU_ANY:
		return "0";
	case KW_AU_ALL:
		return "1";
	case KW_AU_INDEX:
		return "INT32_MAX";
	}
	return "0";
}

/* `into` takes `value` in; fold: value is a partial result of the same kind. */
const char *kw_au_take_in(struct kw_au_emit *e, const struct kw_au_red *r, const char *into,
			  const char *value)
{
	bool flt = kw_dtype_is_float(r->dtype);
	const char *suffix = r->dtype == KW_F64 ? "" : "f";

	if (flt || r->kind == KW_AU_SUM || r->kind == KW_AU_PROD)
		value = kw_au_bare(e, value);

	switch (r->kind) {
	case KW_AU_SUM:
		return kw_au_printf(e, "%s += %s;", into, value);
	case KW_AU_PROD:
		return kw_au_printf(e, "%s *= %s;", into, value);
	case KW_AU_MAX:
		return flt ? kw_au_printf(e, "%s = kw_max%s(%s, %s);", into, suffix, into, value)
			   : kw_au_printf(e, "%s = %s > %s ? %s : %s;", into, into, value, into,
					  value);
	case KW_AU_MIN:
		return flt ? kw_au_printf(e, "%s = kw_min%s(%s, %s);", into, suffix, into, value)
			   : kw_au_printf(e, "%s = %s < %s ? %s : %s;", into, into, value, into,
					  value);
	case KW_AU_ANY:
		return kw_au_printf(e, "%s |= (%s) != 0;", into, value);
	case KW_AU_ALL:
		return kw_au_printf(e, "%s &= (%s) != 0;", into, value);
	case KW_AU_INDEX:
		return kw_au_printf(e, "%s = %s < %s ? %s : %s;", into, into, value, into, value);
	}
	return "";
}

static bool add_red(struct kw_au_emit *e, struct kw_au_red r, const char *what)
{
	const char *base =
		kw_au_printf(e, "%s_%s", e->g->form == KW_AU_COLUMNS ? "col" : "row", what);

	if (e->red_count == KW_AU_MAX_REDS)
		return false;
	r.name = kw_au_name(e, base);
	e->red[e->red_count++] = r;
	return true;
}

static enum kw_dtype red_dtype(const struct kw_node *n)
{
	if (kw_dtype_is_float(n->dtype))
		return n->dtype == KW_F64 ? KW_F64 : KW_F32;
	return n->dtype == KW_I64 ? KW_I64 : KW_I32;
}

static const struct {
	const char *op;
	int kind;
} kinds[] = { { "sum", KW_AU_SUM }, { "mean", KW_AU_SUM },   { "prod", KW_AU_PROD },
	      { "max", KW_AU_MAX }, { "min", KW_AU_MIN },    { "any", KW_AU_ANY },
	      { "all", KW_AU_ALL }, { "argmax", KW_AU_MAX }, { "argmin", KW_AU_MIN } };

int kw_au_red_kind(const struct kw_node *n)
{
	if (kw_au_is_dot(n))
		return KW_AU_SUM;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		if (strcmp(kw_au_op(n), kinds[k].op) == 0)
			return kinds[k].kind;
	return -1;
}

bool kw_au_list_reds(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;

	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];
		int stage = e->g->nodes[n->id].stage,
		    kind = kw_au_is_reduce(n) ? kw_au_red_kind(n) : 0;
		struct kw_au_red r = { .node = n, .pass = stage - 1, .dtype = red_dtype(n) };
		bool arg = kw_au_is_argreduce(n);

		if (!kw_au_is_reduce(n) || !e->g->nodes[n->id].live || e->g->nodes[n->id].total ||
		    e->g->nodes[n->id].same)
			continue;
		if (kind < 0)
			e->why = kw_au_printf(e, "no pattern knows the reduction %s", kw_au_op(n));
		memcpy(&r.kind, &kind, sizeof(kind));
		r.pass -= arg;
		r.dtype = arg ? red_dtype(n->args[0]) : r.dtype;
		/* The first mean of a row decides how exact x - mean is when the row is nearly
		 * constant. A team of threads adds in a tree, which is exact enough; and doubles
		 * are slow on most GPUs. */
		if (kw_au_is_mean(n) && r.pass == 0 && r.dtype == KW_F32 &&
		    e->g->form == KW_AU_ROWS && !e->lang->device)
			r.dtype = KW_F64;
		if (kind < 0 || !add_red(e, r,
					 arg		    ? "best"
					 : kw_au_is_mean(n) ? "sum"
							    : kw_au_op(n)))
			return false;
		if (!arg)
			continue;
		r.best = e->red[e->red_count - 1].name;
		r.kind = KW_AU_INDEX;
		r.pass = stage - 1;
		r.dtype = KW_I32;
		if (!add_red(e, r, "index"))
			return false;
	}
	return true;
}

/* How many values a reduction takes in, as C text. */
static const char *count_text(struct kw_au_emit *e)
{
	const struct kw_au_graph *g = e->g;
	const char *s = g->form == KW_AU_COLUMNS ? NULL : "cols";

	for (int i = 0; i < g->seg_count; i++) {
		const char *var = g->atoms[g->seg_atoms[i]].var;

		s = s ? kw_au_printf(e, "%s * %s", s, var) : var;
	}
	return kw_au_printf(e, strchr(s, ' ') ? "(%s)" : "%s", s);
}

static const char *index_position(struct kw_au_emit *e)
{
	if (e->g->form == KW_AU_COLUMNS)
		return "(int32_t)seg";
	return e->g->seg_count ? "(int32_t)(seg * cols + col + i)" : "(int32_t)(col + i)";
}

static const char *lanes_of(struct kw_au_emit *e, const struct kw_au_red *r)
{
	return e->g->form == KW_AU_COLUMNS ? r->name : kw_au_printf(e, "%s_lanes", r->name);
}

static const char *reduced_value(struct kw_au_emit *e, const struct kw_node *n)
{
	const char *value = kw_au_expression(e, n->args[0]);

	return kw_au_is_dot(n)
		       ? kw_au_printf(e, "(%s) * (%s)", value, kw_au_expression(e, n->args[1]))
		       : value;
}

const char *kw_au_accumulate(struct kw_au_emit *e, const struct kw_au_red *r)
{
	const char *value = reduced_value(e, r->node),
		   *lane = kw_au_printf(e, "%s[i]", lanes_of(e, r));
	const char *best = e->g->form == KW_AU_COLUMNS ? "[i]" : "";

	if (r->kind != KW_AU_INDEX)
		return kw_au_printf(e, "%s\n", kw_au_take_in(e, r, lane, value));
	return kw_au_printf(e,
			    "const int32_t at = %s;\n\n%s = ((%s == %s%s) | (%s != %s)) & (at < "
			    "%s) ? at : %s;\n",
			    index_position(e), lane, value, r->best, best, value, value, lane,
			    lane);
}

const char *kw_au_lanes(struct kw_au_emit *e, int pass)
{
	const char *s = "", *strip = e->lang->strip;

	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s%s %s[%s];\n", s, kw_au_ctype(e->red[i].dtype),
					 lanes_of(e, &e->red[i]), strip);
	s = kw_au_printf(e, "%s\n%s", s, kw_au_for_each(e, strip, " {"));
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s\t%s[i] = %s;\n", s, lanes_of(e, &e->red[i]),
					 kw_au_red_init(&e->red[i]));
	return kw_au_printf(e, "%s}\n", s);
}

/* The variable of a finished reduction; `value` is the folded lane or sum of partials. */
static const char *result(struct kw_au_emit *e, struct kw_au_red *r, const char *value)
{
	const char *type = kw_au_ctype(r->dtype), *name = r->name, *s;

	if (!kw_au_is_mean(r->node)) {
		s = strcmp(value, name) ? kw_au_printf(e, "const %s %s = %s;\n", type, name, value)
					: "";
	} else {
		name = kw_au_name(e, "row_mean");
		s = kw_au_printf(e, "const %s %s = (%s)(%s / (%s)%s);\n",
				 kw_au_ctype(r->node->dtype), name, kw_au_ctype(r->node->dtype),
				 value, type, count_text(e));
	}
	if (r->kind == KW_AU_INDEX || !kw_au_is_argreduce(r->node)) {
		e->var[r->node->id] = name;
		kw_au_note_value(e, kw_au_ctype(kw_au_is_mean(r->node) ? r->node->dtype : r->dtype),
				 name);
		s = kw_au_printf(e, "%s%s", s, kw_au_divisor(e, r->node, name));
	}
	return s;
}

/* Lanes fold in pairs. */
static const char *fold_lanes(struct kw_au_emit *e, int pass)
{
	const char *unroll = e->lang->unroll, *s;

	s = kw_au_printf(
		e, "%sfor (int w = %s / 2; w > 0; w /= 2) {\n%s\tfor (int i = 0; i < w; i++) {\n",
		unroll, e->lang->strip, unroll);
	for (int i = 0; i < e->red_count; i++) {
		const char *lanes = lanes_of(e, &e->red[i]);

		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s\t\t%s\n", s,
					 kw_au_take_in(e, &e->red[i],
						       kw_au_printf(e, "%s[i]", lanes),
						       kw_au_printf(e, "%s[i + w]", lanes)));
	}
	return kw_au_printf(e, "%s\t}\n}\n", s);
}

const char *kw_au_join(struct kw_au_emit *e, const struct kw_au_red *r, const char *how,
		       const char *value)
{
	static const char *const ops[] = { "sum", "prod", "max", "min", "any", "all", "min" };
	const char *const words[][2] = { { "op", ops[r->kind] },
					 { "type", kw_au_ctype(r->dtype) },
					 { "value", value },
					 { "site", kw_au_printf(e, "%d", e->sites++) },
					 { NULL, NULL } };

	return e->lang->device ? kw_au_put(e, how ? how : e->lang->team, words) : value;
}

static const char *team(struct kw_au_emit *e, const struct kw_au_red *r, const char *value)
{
	return kw_au_join(e, r, e->lang->team, value);
}

/* Columns: a value each, which the threads above one another join. */
static const char *finish_columns(struct kw_au_emit *e, struct kw_au_red *r)
{
	const char *column = kw_au_printf(e, "%s[i]", r->name), *s = "", *joined;

	joined = team(e, r, column);
	if (e->lang->device)
		s = kw_au_printf(e, "%s\t%s = %s;\n", kw_au_for_each(e, e->lang->count, ""), column,
				 joined);
	if (e->lang->device && e->split && !e->joining)
		return s;
	if (kw_au_is_mean(r->node))
		s = kw_au_printf(e, "%s%s\t%s /= (%s)%s;\n", s,
				 kw_au_for_each(e, e->lang->count, ""), column,
				 kw_au_ctype(r->dtype), count_text(e));
	if (r->kind == KW_AU_INDEX || !kw_au_is_argreduce(r->node))
		e->var[r->node->id] = r->name;
	return s;
}

/* Where a block leaves what it has of a row, or of column i. */
static const char *partial(struct kw_au_emit *e, const struct kw_au_red *r, const char *block)
{
	if (!e->lang->device)
		return kw_au_printf(e, "%s_partial[%s]", r->name, block);
	if (e->g->form == KW_AU_COLUMNS)
		return kw_au_printf(e, "%s_partial[(row * CHUNKS + %s) * cols + col + i]", r->name,
				    block);
	return kw_au_printf(e, "%s_partial[row * CHUNKS + %s]", r->name, block);
}

static const char *leave_partial(struct kw_au_emit *e, struct kw_au_red *r)
{
	const char *value = kw_au_printf(e, "%s_lanes[0]", r->name);

	if (!e->lang->device)
		return kw_au_printf(e, "%s = %s;\n", partial(e, r, "block"), value);
	if (e->g->form == KW_AU_COLUMNS)
		return kw_au_printf(e, "%sif (inside && lane == 0) {\n%s\t%s = %s[i];\n}\n",
				    finish_columns(e, r), kw_au_for_each(e, e->lang->count, ""),
				    partial(e, r, "chunk"), r->name);
	return kw_au_printf(e, "%s_lanes[0] = %s;\nif (lane == 0)\n\t%s = %s;\n", r->name,
			    team(e, r, value), partial(e, r, "chunk"), value);
}

const char *kw_au_fold(struct kw_au_emit *e, int pass)
{
	bool columns = e->g->form == KW_AU_COLUMNS;
	const char *s = columns ? "" : fold_lanes(e, pass);

	for (int i = 0; i < e->red_count; i++) {
		struct kw_au_red *r = &e->red[i];
		const char *value = kw_au_printf(e, "%s_lanes[0]", r->name);

		if (r->pass == pass)
			s = kw_au_printf(e, "%s%s", s,
					 e->split  ? leave_partial(e, r)
					 : columns ? finish_columns(e, r)
						   : result(e, r, team(e, r, value)));
	}
	if (!e->split)
		s = kw_au_printf(e, "%s%s", s,
				 kw_au_outer(e, columns ? KW_AU_VECTOR : KW_AU_ROW, pass + 1));
	return s;
}

/* One value a row, of all its blocks. The team takes turns, and joins what it has. */
static const char *combine_rows(struct kw_au_emit *e, struct kw_au_red *r)
{
	bool device = e->lang->device;
	const char *into = device ? kw_au_printf(e, "%s_all", r->name) : r->name;
	const char *value = partial(e, r, "block"), *s;

	s = kw_au_printf(e, "%s %s = %s;\n\nfor (int64_t block = %s; block < %s; block%s)\n\t%s\n",
			 kw_au_ctype(r->dtype), into, kw_au_red_init(r), device ? "lane" : "0",
			 device ? "CHUNKS" : "blocks", device ? " += LANES" : "++",
			 kw_au_take_in(e, r, into, value));
	return device ? kw_au_printf(e, "%s%s", s, result(e, r, team(e, r, into))) : s;
}

/* A value for each column of the strip. */
static const char *combine_columns(struct kw_au_emit *e, struct kw_au_red *r)
{
	const char *column = kw_au_printf(e, "%s[i]", r->name);
	const char *loop = kw_au_for_each(e, e->lang->count, ""), *s;

	s = kw_au_printf(e, "%s %s[%s];\n\n%s\t%s = %s;\n", kw_au_ctype(r->dtype), r->name,
			 e->lang->strip, loop, column, kw_au_red_init(r));
	s = kw_au_printf(
		e, "%sfor (int64_t block = lane; block < CHUNKS; block += LANES) {\n%s\t%s\n}\n", s,
		loop, kw_au_take_in(e, r, column, partial(e, r, "block")));
	return kw_au_printf(e, "%s%s", s, finish_columns(e, r));
}

const char *kw_au_combine(struct kw_au_emit *e, int pass)
{
	bool columns = e->g->form == KW_AU_COLUMNS;
	const char *s = "";

	e->joining = true;
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s%s", s,
					 columns ? combine_columns(e, &e->red[i])
						 : combine_rows(e, &e->red[i]));
	for (int i = 0; i < e->red_count && !e->lang->device; i++)
		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s%s", s, result(e, &e->red[i], e->red[i].name));
	e->joining = false;
	return kw_au_printf(e, "%s%s", s,
			    kw_au_outer(e, columns ? KW_AU_VECTOR : KW_AU_ROW, pass + 1));
}
