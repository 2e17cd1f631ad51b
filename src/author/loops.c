/* loops.c - the slots of the loop patterns: lanes, body, fold, combine, finish, write, total. */
#include <string.h>

#include "author/emit_internal.h"

/* ---- reductions ---- */

static const char *init_value(const struct kw_au_red *r)
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
static const char *take_in(struct kw_au_emit *e, const struct kw_au_red *r, const char *into,
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

static int kind_of(const struct kw_node *n)
{
	if (kw_au_is_dot(n))
		return KW_AU_SUM;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		if (strcmp(kw_au_op(n), kinds[k].op) == 0)
			return kinds[k].kind;
	return -1;
}

static bool list_reds(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;

	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];
		int stage = e->g->nodes[n->id].stage, kind = kw_au_is_reduce(n) ? kind_of(n) : 0;
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
		 * constant. */
		if (!strcmp(kw_au_op(n), "mean") && r.pass == 0 && r.dtype == KW_F32 &&
		    e->g->form == KW_AU_ROWS)
			r.dtype = KW_F64;
		if (kind < 0 || !add_red(e, r,
					 arg			       ? "best"
					 : strcmp(kw_au_op(n), "mean") ? kw_au_op(n)
								       : "sum"))
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

/* ---- passes ---- */

static void roots_of_pass(struct kw_au_emit *e, int pass)
{
	kw_au_cone_reset(e);
	kw_au_forget_segment_names(e);
	for (int i = 0; i < e->red_count; i++) {
		if (e->red[i].pass != pass)
			continue;
		for (int k = 0; k < 1 + kw_au_is_dot(e->red[i].node); k++)
			kw_au_cone(e, e->red[i].node->args[k], KW_AU_ELEMENT);
		if (e->red[i].kind == KW_AU_INDEX)
			kw_au_cone(e, e->red[i].node->args[0], KW_AU_ELEMENT);
	}
	if (pass < e->g->stage_count)
		return;
	for (size_t i = 0; i < e->g->expr->output_count; i++)
		if (kw_au_level(e, e->g->expr->outputs[i]) == KW_AU_ELEMENT)
			kw_au_cone(e, e->g->expr->outputs[i], KW_AU_ELEMENT);
}

static bool dear(const struct kw_node *n)
{
	static const char *const ops[] = { "exp",   "exp2",   "expm1",	   "log",     "log2",
					   "log10", "log1p",  "sin",	   "cos",     "tan",
					   "atan",  "tanh",   "erf",	   "sigmoid", "power",
					   "gelu",  "silu",   "softplus",  "elu",     "selu",
					   "mish",  "arctan", "logsigmoid" };

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strcmp(kw_au_op(n), ops[i]) == 0)
			return true;
	return false;
}

/* Dear values that two passes need are kept in a row buffer. And marks what outer levels must name.
 */
static void choose_cached(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;
	uint64_t *passes = kw_arena_calloc(e->g->arena, x->node_count + 1, sizeof(*passes));

	for (int pass = 0; pass <= e->g->stage_count && passes; pass++) {
		roots_of_pass(e, pass);
		for (size_t i = 0; i < x->node_count; i++)
			passes[i] |= (uint64_t)e->cone[i] << (pass & 63);
	}
	for (size_t i = 0; i < x->node_count && passes; i++) {
		bool twice = passes[i] & (passes[i] - 1);

		if (!twice || !dear(x->nodes[i]) || e->g->form != KW_AU_ROWS || e->split ||
		    e->g->seg_count || e->cached_count == KW_AU_MAX_CACHED)
			continue;
		e->cached[e->cached_count] = x->nodes[i];
		e->cached_pass[e->cached_count] = __builtin_ctzll(passes[i]);
		e->cached_name[e->cached_count++] =
			kw_au_name(e, kw_au_printf(e, "%s_row", kw_au_op(x->nodes[i])));
		e->uses_cores = true;
	}
	e->failed = e->failed || !passes;
	kw_au_cone_reset(e);
}

static const char *thread_text(struct kw_au_emit *e)
{
	const char *s = "";

	for (int k = 0; k < e->cached_count; k++)
		s = kw_au_printf(e,
				 "%s%s *restrict %s = %ss + omp_get_thread_num() * KW_CDIV(cols, "
				 "16) * 16;\n",
				 s, kw_au_ctype(e->cached[k]->dtype), e->cached_name[k],
				 e->cached_name[k]);
	return s;
}

/* const int64_t row_i0 = ...: from one loop variable to the indices of its atoms. Only those that
 * `text` uses. */
static const char *decode(struct kw_au_emit *e, const int *atoms, int count, const char *single,
			  const char *many, const char *text)
{
	const char *s = "", *rest = single;

	for (int i = count - 1; i >= 0 && count > 1; i--) {
		const char *name = kw_au_printf(e, "%s%d", many, i),
			   *var = e->g->atoms[atoms[i]].var;

		if (strstr(text, name))
			s = i ? kw_au_printf(e, "%sconst int64_t %s = %s %% %s;\n", s, name, rest,
					     var)
			      : kw_au_printf(e, "%sconst int64_t %s = %s;\n", s, name, rest);
		rest = kw_au_printf(e, "%s / %s", rest, var);
	}
	return s;
}

static const char *pointer(struct kw_au_emit *e, const struct kw_au_tensor *t, const char *level,
			   const char *base, const char *off)
{
	const char *type = kw_dtype_info(t->dtype)->ctype;

	return kw_au_printf(e, "%s%s *restrict %s_%s = %s%s%s;\n", t->output ? "" : "const ", type,
			    t->c_name, level, base, *off ? " + " : "", off);
}

static const char *row_text(struct kw_au_emit *e)
{
	const struct kw_au_graph *g = e->g;
	const char *s = "", *values = kw_au_outer(e, KW_AU_ROW, 0);

	for (size_t i = 0; i < g->tensor_count; i++) {
		const struct kw_au_tensor *t = &g->tensors[i];

		if (t->used && t->mask & (e->col_mask | e->seg_mask))
			s = kw_au_printf(e, "%s%s", s,
					 pointer(e, t, "row", t->c_name, kw_au_row_offset(e, t)));
	}
	s = kw_au_printf(e, "%s%s", s, values);
	return s;
}

/* Pointers into the segment, for the tensors that `body` reads or writes, and values of the
 * segment. */
static const char *segment_text(struct kw_au_emit *e, const char *body)
{
	const struct kw_au_graph *g = e->g;
	const char *s = "", *values;

	kw_au_close_named(e);
	values = kw_au_outer(e, KW_AU_SEGMENT, -1);
	for (size_t i = 0; i < g->tensor_count; i++) {
		const struct kw_au_tensor *t = &g->tensors[i];
		const char *base = kw_au_printf(e, "%s_row", t->c_name);

		if (t->used && (t->mask & e->seg_mask) && (t->mask & e->col_mask) &&
		    strstr(body, kw_au_printf(e, "%s_seg", t->c_name)))
			s = kw_au_printf(e, "%s%s", s,
					 pointer(e, t, "seg", base, kw_au_seg_offset(e, t)));
	}
	s = kw_au_printf(e, "%s%s", s, values);
	return kw_au_printf(e, "%s%s",
			    decode(e, g->seg_atoms, g->seg_count, "seg", "seg_i",
				   kw_au_printf(e, "%s%s", s, body)),
			    s);
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

static const char *accumulate(struct kw_au_emit *e, const struct kw_au_red *r)
{
	const char *value = reduced_value(e, r->node),
		   *lane = kw_au_printf(e, "%s[i]", lanes_of(e, r));
	const char *best = e->g->form == KW_AU_COLUMNS ? "[i]" : "";

	if (r->kind != KW_AU_INDEX)
		return kw_au_printf(e, "%s\n", take_in(e, r, lane, value));
	return kw_au_printf(e,
			    "const int32_t at = %s;\n\n%s = ((%s == %s%s) | (%s != %s)) & (at < "
			    "%s) ? at : %s;\n",
			    index_position(e), lane, value, r->best, best, value, value, lane,
			    lane);
}

static const char *lanes_text(struct kw_au_emit *e, int pass)
{
	const char *s = "";

	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s%s %s[STRIP];\n", s, kw_au_ctype(e->red[i].dtype),
					 lanes_of(e, &e->red[i]));
	s = kw_au_printf(e, "%s\nfor (int i = 0; i < STRIP; i++) {\n", s);
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s\t%s[i] = %s;\n", s, lanes_of(e, &e->red[i]),
					 init_value(&e->red[i]));
	return kw_au_printf(e, "%s}\n", s);
}

static bool is_mean(const struct kw_au_red *r)
{
	return strcmp(kw_au_op(r->node), "mean") == 0;
}

/* The variable of a finished reduction; `value` is the folded lane or sum of partials. */
static const char *result(struct kw_au_emit *e, struct kw_au_red *r, const char *value)
{
	const char *type = kw_au_ctype(r->dtype), *name = r->name, *s;

	if (!is_mean(r)) {
		s = strcmp(value, name) ? kw_au_printf(e, "const %s %s = %s;\n", type, name, value)
					: "";
	} else {
		name = kw_au_name(e, "row_mean");
		s = kw_au_printf(e, "const %s %s = (%s)(%s / (%s)%s);\n",
				 kw_au_ctype(r->node->dtype), name, kw_au_ctype(r->node->dtype),
				 value, type, count_text(e));
	}
	if (r->kind == KW_AU_INDEX || !kw_au_is_argreduce(r->node))
		e->var[r->node->id] = name;
	return s;
}

/* Lanes fold in pairs. */
static const char *fold_lanes(struct kw_au_emit *e, int pass)
{
	const char *s =
		"for (int w = STRIP / 2; w > 0; w /= 2) {\n\tfor (int i = 0; i < w; i++) {\n";

	for (int i = 0; i < e->red_count; i++) {
		const char *lanes = lanes_of(e, &e->red[i]);

		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s\t\t%s\n", s,
					 take_in(e, &e->red[i], kw_au_printf(e, "%s[i]", lanes),
						 kw_au_printf(e, "%s[i + w]", lanes)));
	}
	return kw_au_printf(e, "%s\t}\n}\n", s);
}

static const char *fold_text(struct kw_au_emit *e, int pass)
{
	bool columns = e->g->form == KW_AU_COLUMNS;
	const char *s = columns ? "" : fold_lanes(e, pass);

	for (int i = 0; i < e->red_count; i++) {
		struct kw_au_red *r = &e->red[i];

		if (r->pass != pass)
			continue;
		if (e->split) {
			s = kw_au_printf(e, "%s%s_partial[block] = %s_lanes[0];\n", s, r->name,
					 r->name);
		} else if (!columns) {
			s = kw_au_printf(e, "%s%s", s,
					 result(e, r, kw_au_printf(e, "%s_lanes[0]", r->name)));
		} else {
			if (is_mean(r))
				s = kw_au_printf(
					e, "%sfor (int i = 0; i < n; i++)\n\t%s[i] /= (%s)%s;\n", s,
					r->name, kw_au_ctype(r->dtype), count_text(e));
			if (r->kind == KW_AU_INDEX || !kw_au_is_argreduce(r->node))
				e->var[r->node->id] = r->name;
		}
	}
	if (!e->split)
		s = kw_au_printf(e, "%s%s", s,
				 kw_au_outer(e, columns ? KW_AU_VECTOR : KW_AU_ROW, pass + 1));
	return s;
}

static const char *combine_text(struct kw_au_emit *e, int pass)
{
	const char *s = "";

	for (int i = 0; i < e->red_count; i++) {
		const struct kw_au_red *r = &e->red[i];
		const char *part = kw_au_printf(e, "%s_partial[block]", r->name);

		if (r->pass == pass)
			s = kw_au_printf(e,
					 "%s%s %s = %s;\n\nfor (int64_t block = 0; block < blocks; "
					 "block++)\n\t%s\n",
					 s, kw_au_ctype(r->dtype), r->name, init_value(r),
					 take_in(e, r, r->name, part));
	}
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			s = kw_au_printf(e, "%s%s", s, result(e, &e->red[i], e->red[i].name));
	return kw_au_printf(e, "%s%s", s, kw_au_outer(e, KW_AU_ROW, pass + 1));
}

/* The pass with the most arithmetic fetches the next row meanwhile; past the last row a prefetch
 * does nothing. */
static const char *prefetch_text(struct kw_au_emit *e, int pass)
{
	const struct kw_au_graph *g = e->g;
	const char *s = "";
	int best = e->cached_count ? e->cached_pass[0] : g->stage_count;

	if (g->form != KW_AU_ROWS || g->row_count != 1 || pass != best)
		return "";
	for (size_t i = 0; i < g->task->input_count; i++) {
		const struct kw_au_tensor *t = &g->tensors[i];
		const char *row = kw_au_row_offset(e, t);

		if (t->used && *row && (t->mask & e->col_mask) &&
		    strcmp(kw_au_stride(e->g, t, g->col_atom), "1") == 0)
			s = kw_au_printf(
				e,
				"%sfor (int i = 0; i < n; i += %d)\n\t__builtin_prefetch(%s_row + "
				"%s + col + i, 0, 2);\n",
				s, 64 / (int)kw_dtype_bytes(t->dtype), t->c_name,
				kw_au_stride(e->g, t, g->row_atoms[0]));
	}
	return *s ? kw_au_printf(e, "#if PREFETCH\n%s#endif\n", s) : "";
}

static void fill_stage(struct kw_au_emit *e, int pass, struct kw_fill *f)
{
	int names = e->name_count;
	const char *body, *segment;

	roots_of_pass(e, pass);
	/* Values of the segment get their names before the body prints them. */
	kw_au_close_named(e);
	segment = kw_au_outer(e, KW_AU_SEGMENT, -1);
	body = kw_au_section(e, pass);
	if (*body)
		body = kw_au_printf(e, "%s\n", body);
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			body = kw_au_printf(e, "%s%s", body, accumulate(e, &e->red[i]));
	kw_fill_set(f, "lanes", lanes_text(e, pass));
	kw_fill_set(f, "segment",
		    kw_au_printf(e, "%s%s", segment_text(e, kw_au_printf(e, "%s%s", body, segment)),
				 segment));
	kw_fill_set(f, "prefetch", prefetch_text(e, pass));
	kw_fill_set(f, "body", body);
	kw_au_forget(e, pass);
	e->name_count = names; /* the inner names are free again */
	kw_fill_set(f, "fold", fold_text(e, pass));
	if (e->split)
		kw_fill_set(f, "combine", combine_text(e, pass));
}

/* ---- outputs ---- */

static struct kw_au_tensor *output_tensor(struct kw_au_emit *e, size_t i)
{
	return &e->g->tensors[e->g->task->input_count + i];
}

const char *kw_au_store(struct kw_au_emit *e, const struct kw_au_tensor *t, const char *to,
			const char *value)
{
	value = kw_au_bare(e, value);
	if (t->dtype == KW_F32 || t->dtype == KW_F64)
		return kw_au_printf(e, "%s = %s;\n", to, value);
	if (t->dtype == KW_BOOL)
		return kw_au_printf(e, "%s = (%s) != 0;\n", to, value);
	if (!kw_dtype_is_float(t->dtype))
		return kw_au_printf(e, "%s = (%s)(%s);\n", to, kw_dtype_info(t->dtype)->ctype,
				    value);
	return kw_au_printf(e, "KW_STORE(&%s, %s);\n", to, value);
}

static bool in_strip(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return strcmp(kw_au_stride(e->g, t, e->g->col_atom), "1") == 0;
}

static void fill_write(struct kw_au_emit *e, struct kw_fill *f)
{
	const struct kw_expr *x = e->g->expr;
	const char *body, *segment, *strip = "", *store = "";
	int pass = e->g->stage_count;

	roots_of_pass(e, pass);
	kw_au_close_named(e);
	segment = kw_au_outer(e, KW_AU_SEGMENT, -1);
	body = kw_au_section(e, pass);
	if (*body)
		body = kw_au_printf(e, "%s\n", body);
	for (size_t i = 0; i < x->output_count; i++) {
		const struct kw_au_tensor *t = output_tensor(e, i);
		const char *value, *to;

		if (kw_au_level(e, x->outputs[i]) != KW_AU_ELEMENT)
			continue;
		value = kw_au_expression(e, x->outputs[i]);
		to = in_strip(e, t) ? kw_au_printf(e, "%s_strip[i]", t->c_name)
				    : kw_au_element(e, t);
		body = kw_au_printf(e, "%s%s", body, kw_au_store(e, t, to, value));
		if (!in_strip(e, t))
			continue;
		strip = kw_au_printf(e, "%s%s %s_strip[STRIP];\n", strip,
				     kw_dtype_info(t->dtype)->ctype, t->c_name);
		store = kw_au_printf(e, "%sSTORE_STRIP(%s_%s + col, %s_strip, n);\n", store,
				     t->c_name, t->mask & e->seg_mask ? "seg" : "row", t->c_name);
	}
	kw_fill_set(f, "segment",
		    kw_au_printf(e, "%s%s",
				 segment_text(e, kw_au_printf(e, "%s%s%s", body, store, segment)),
				 segment));
	kw_fill_set(f, "body", body);
	kw_fill_set(f, "strip", strip);
	kw_fill_set(f, "prefetch", prefetch_text(e, pass));
	kw_fill_set(f, "store", store);
}

static bool is_total_source(struct kw_au_emit *e, const struct kw_node *n)
{
	return n->kind == KW_NODE_REDUCE && e->g->nodes[n->id].live && e->g->nodes[n->id].total &&
	       !e->g->nodes[n->args[0]->id].total;
}

/* Outputs with one value a row (or column), and what the totals after all rows need. */
static const char *finish_text(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;
	const char *s = "", *vec = "";

	for (size_t i = 0; i < x->output_count; i++) {
		const struct kw_au_tensor *t = output_tensor(e, i);
		enum kw_au_level level = kw_au_level(e, x->outputs[i]);
		const char *value = level == KW_AU_ROW || level == KW_AU_VECTOR
					    ? kw_au_expression(e, x->outputs[i])
					    : "";

		if (level == KW_AU_ROW)
			s = kw_au_printf(e, "%s%s", s,
					 kw_au_store(e, t, kw_au_element(e, t), value));
		else if (level == KW_AU_VECTOR)
			vec = kw_au_printf(e, "%s\t%s", vec,
					   kw_au_store(e, t, kw_au_element(e, t), value));
		else if (level == KW_AU_SEGMENT)
			e->why = "an output with one value a segment";
	}
	if (*vec)
		s = kw_au_printf(e, "%sfor (int i = 0; i < n; i++) {\n%s}\n", s, vec);
	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];

		if (!is_total_source(e, n))
			continue;
		if (kw_au_level(e, n->args[0]) != KW_AU_ROW || e->g->form == KW_AU_COLUMNS ||
		    kind_of(n) < 0)
			e->why = "a reduction over all rows of something that is not one value a "
				 "row";
		e->var[n->id] = e->total_name[n->id] =
			kw_au_name(e, kw_au_printf(e, "all_%s", kw_au_op(n)));
		s = kw_au_printf(e, "%s%s_rows[row] = %s;\n", s, e->var[n->id],
				 kw_au_expression(e, n->args[0]));
	}
	return s;
}

/* After all rows: one sequential, exact pass over one value a row. */
static const char *total_text(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;
	const char *s = "";

	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];
		struct kw_au_red r = { .node = n,
				       .dtype = kw_dtype_is_float(n->dtype) ? KW_F64 : KW_I64 };
		const char *name = e->var[n->id];
		int kind = kind_of(n);

		if (!is_total_source(e, n) || kind < 0)
			continue;
		memcpy(&r.kind, &kind, sizeof(kind));
		s = kw_au_printf(
			e, "%s\n%s %s = %s;\n\nfor (int64_t row = 0; row < rows; row++)\n\t%s\n", s,
			kw_au_ctype(r.dtype), name, init_value(&r),
			take_in(e, &r, name, kw_au_printf(e, "%s_rows[row]", name)));
		if (is_mean(&r))
			s = kw_au_printf(e, "%s%s /= (double)rows;\n", s, name);
		e->var[n->id] = kw_dtype_is_float(n->dtype) && n->dtype != KW_F64
					? kw_au_printf(e, "(float)%s", name)
					: name;
	}
	for (size_t i = 0; i < x->output_count; i++)
		if (kw_au_level(e, x->outputs[i]) == KW_AU_TOTAL)
			s = kw_au_printf(
				e, "%s%s", s,
				kw_au_store(e, output_tensor(e, i),
					    kw_au_printf(e, "%s[0]", output_tensor(e, i)->c_name),
					    kw_au_expression(e, x->outputs[i])));
	return s;
}

/* Rows hold what all later text needs: pointers and decoded indices. */
static const char *with_row_indices(struct kw_au_emit *e, const char *row, const char *all)
{
	const char *s = kw_au_printf(e, "%s%s", row, all);

	if (!kw_au_word_in(kw_str_from(s), "row") && e->g->row_count < 2)
		return kw_au_printf(e, "%s(void)row;\n", row);
	return kw_au_printf(e, "%s%s",
			    decode(e, e->g->row_atoms, e->g->row_count, "row", "row_i", s), row);
}

static bool has_element_output(struct kw_au_emit *e)
{
	for (size_t i = 0; i < e->g->expr->output_count; i++)
		if (kw_au_level(e, e->g->expr->outputs[i]) == KW_AU_ELEMENT)
			return true;
	return false;
}

/* Marks the outer values that all passes, outputs and totals need by name. */
static void mark_named(struct kw_au_emit *e)
{
	for (int pass = 0; pass <= e->g->stage_count; pass++)
		roots_of_pass(e, pass);
	kw_au_cone_reset(e);
	kw_au_close_named(e);
}

static const char *all_text(struct kw_au_emit *e, const struct kw_fill *stages, int count,
			    const struct kw_fill *write, const char *finish)
{
	const char *s = finish;

	for (int i = 0; i < count; i++)
		for (int k = 0; k < stages[i].slot_count; k++)
			s = kw_au_printf(e, "%s%s", s, stages[i].slot[k].text);
	for (int k = 0; k < write->slot_count; k++)
		s = kw_au_printf(e, "%s%s", s, write->slot[k].text);
	return s;
}

enum kw_status kw_au_emit_loops(struct kw_au_emit *e, struct kw_fill *f)
{
	int stages = e->g->stage_count;
	struct kw_fill *stage = kw_arena_calloc(e->g->arena, stages + 1, sizeof(*stage));
	struct kw_fill *write = kw_arena_calloc(e->g->arena, 1, sizeof(*write));
	const char *row, *finish, *total;

	if (!stage || !write)
		return kw_fail(e->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	if (!list_reds(e)) {
		e->why = e->why ? e->why : "too many reductions";
		return KW_NO;
	}
	choose_cached(e);
	mark_named(e);
	row = row_text(e);
	for (int pass = 0; pass < stages && !e->failed; pass++)
		fill_stage(e, pass, &stage[pass]);
	if (has_element_output(e))
		fill_write(e, write);
	finish = finish_text(e);
	total = total_text(e);
	row = with_row_indices(e, row, all_text(e, stage, stages, write, finish));
	e->text = kw_au_printf(e, "%s%s%s", row, all_text(e, stage, stages, write, finish), total);
	kw_fill_set(f, "thread", thread_text(e));
	kw_fill_set(f, "row", row);
	kw_fill_list(f, "stage", stage, (size_t)stages);
	kw_fill_set(f, "finish", finish);
	kw_fill_set(f, "total", total);
	if (e->g->form == KW_AU_POINTWISE)
		for (int k = 0; k < write->slot_count; k++)
			kw_fill_set(f, write->slot[k].name, write->slot[k].text);
	else
		kw_fill_list(f, "write", write, has_element_output(e));
	if (e->failed || e->why) {
		e->why = e->why ? e->why : "its text grew too long";
		return KW_NO;
	}
	return KW_OK;
}
