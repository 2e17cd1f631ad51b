/* loops.c - the slots of the loop patterns: what rows, passes and outputs need. */
#include <ctype.h>
#include <string.h>

#include "author/emit_internal.h"
#include "author/forms.h"

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

static bool twice(uint64_t passes)
{
	return passes & (passes - 1);
}

/* Dear values that two passes need are kept: in a row buffer, or in registers where the pattern
 * keeps rows there. */
static void choose_cached(struct kw_au_emit *e, const uint64_t *passes)
{
	const struct kw_expr *x = e->g->expr;

	if (e->g->form != KW_AU_ROWS || e->split || e->g->seg_count ||
	    (e->lang->device && (!e->keeps || e->shares)))
		return;
	for (size_t i = 0; i < x->node_count; i++) {
		if (!twice(passes[i]) || !dear(x->nodes[i]) || e->cached_count == KW_AU_MAX_CACHED)
			continue;
		e->cached[e->cached_count] = x->nodes[i];
		e->cached_pass[e->cached_count] = __builtin_ctzll(passes[i]);
		e->cached_name[e->cached_count++] =
			kw_au_name(e, kw_au_printf(e, "%s_row", kw_au_op(x->nodes[i])));
		e->uses_cores = !e->lang->device;
	}
}

/* Inputs whose row stays in registers: what the first pass reads, so that all of it is under way at
 * once, and what two passes read. A weight of the last pass is not worth registers. */
static void choose_kept(struct kw_au_emit *e, const uint64_t *passes)
{
	const struct kw_expr *x = e->g->expr;

	for (size_t i = 0; i < x->node_count && e->keeps; i++) {
		const struct kw_node *n = x->nodes[i];

		if (n->kind == KW_NODE_INPUT && e->g->nodes[n->id].live &&
		    (passes[i] & 1 || twice(passes[i])) &&
		    kw_au_is_vector(e, &e->g->tensors[n->index]))
			e->kept[n->index] = e->vector[n->index] = true;
	}
}

/* And marks what outer levels must name. */
static void choose_resident(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;
	uint64_t *passes = kw_arena_calloc(e->g->arena, x->node_count + 1, sizeof(*passes));

	e->failed = e->failed || !passes;
	for (int pass = 0; pass <= e->g->stage_count && passes; pass++) {
		roots_of_pass(e, pass);
		for (size_t i = 0; i < x->node_count; i++)
			passes[i] |= (uint64_t)e->cone[i] << (pass & 63);
	}
	if (passes) {
		choose_cached(e, passes);
		choose_kept(e, passes);
	}
	kw_au_cone_reset(e);
}

static const char *thread_text(struct kw_au_emit *e)
{
	const char *s = "";

	for (int k = 0; k < e->cached_count; k++)
		s = kw_au_printf(e,
				 "%s%s *restrict %s%s = %ss + %somp_get_thread_num() * "
				 "KW_CDIV(cols, 16) * 16;\n",
				 s, kw_au_ctype(e->cached[k]->dtype), e->cached_name[k],
				 kw_au_cached_twice(e, k) ? "_both" : "", e->cached_name[k],
				 kw_au_cached_twice(e, k) ? "2 * " : "");
	return s;
}

/* Rows take turns in the two buffers. */
static const char *turns_text(struct kw_au_emit *e)
{
	const char *s = "";

	for (int k = 0; k < e->cached_count; k++)
		if (kw_au_cached_twice(e, k))
			s = kw_au_printf(
				e,
				"%s%s *restrict %s = %s_both + row %% 2 * KW_CDIV(cols, 16) "
				"* 16;\n",
				s, kw_au_ctype(e->cached[k]->dtype), e->cached_name[k],
				e->cached_name[k]);
	return s;
}

/* The registers that hold a row: a thread has STRIPS vectors of it. */
static const char *keep_text(struct kw_au_emit *e)
{
	const char *s = "", *strip = e->lang->strip;

	for (size_t i = 0; i < e->g->tensor_count; i++)
		if (e->kept[i])
			s = kw_au_printf(e, "%s%s%s %s_keep[STRIPS][%s];\n", s, e->lang->array,
					 kw_au_storage(e->g->tensors[i].dtype),
					 e->g->tensors[i].c_name, strip);
	for (int k = 0; k < e->cached_count; k++)
		s = kw_au_printf(e, "%s%s %s[STRIPS][%s];\n", s, kw_au_ctype(e->cached[k]->dtype),
				 e->cached_name[k], strip);
	return s;
}

/* The same where all threads' vectors of a row lie in shared memory, one tensor behind the other.
 */
static const char *share_text(struct kw_au_emit *e)
{
	const char *s = "";

	for (size_t i = 0; i < e->g->tensor_count; i++) {
		const struct kw_au_tensor *t = &e->g->tensors[i];
		const char *const words[][2] = { { "type", kw_au_storage(t->dtype) },
						 { "name", kw_au_printf(e, "%s_keep", t->c_name) },
						 { "offset",
						   kw_au_printf(e, "STRIPS * LANES * %s * %zu",
								e->lang->strip, e->kept_bytes) },
						 { NULL, NULL } };

		if (!e->kept[i])
			continue;
		s = kw_au_printf(e, "%s%s\n", s, kw_au_put(e, e->lang->share, words));
		e->kept_bytes += kw_dtype_bytes(t->dtype);
	}
	return s;
}

/* Between `at` and an array. */
static const char *move(struct kw_au_emit *e, const char *how, const struct kw_au_tensor *t,
			const char *at, const char *array)
{
	const char *const words[][2] = { { t->output ? "to" : "from", at },
					 { t->output ? "from" : "to", array },
					 { NULL, NULL } };

	return kw_au_printf(e, "%s\n", kw_au_put(e, how, words));
}

/* Where the loops stand in memory. */
static const char *place(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return kw_au_printf(e, "%s_%s + col", t->c_name, t->mask & e->seg_mask ? "seg" : "row");
}

/* A thread's vector number k of a kept row. */
static const char *kept_vector(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return kw_au_printf(e, e->shares ? "%s_keep[k * LANES]" : "%s_keep[k]", t->c_name);
}

static const char *fetch_text(struct kw_au_emit *e)
{
	const char *s = "";

	for (size_t i = 0; i < e->g->tensor_count; i++) {
		const struct kw_au_tensor *t = &e->g->tensors[i];

		if (e->kept[i])
			s = kw_au_printf(
				e, "%s%s", s,
				move(e, e->lang->fetch, t, place(e, t), kept_vector(e, t)));
	}
	return s;
}

/* What this pass reads as vectors. */
static const char *load_text(struct kw_au_emit *e)
{
	const char *arrays = "", *moves = "";

	for (size_t i = 0; i < e->g->tensor_count; i++) {
		const struct kw_au_tensor *t = &e->g->tensors[i];
		const char *name = kw_au_printf(e, "%s_vec", t->c_name);

		if (!e->loaded[i])
			continue;
		e->loaded[i] = false;
		e->vector[i] = true;
		arrays = kw_au_printf(e, "%s%s%s %s[%s];\n", arrays, e->lang->array,
				      kw_au_storage(t->dtype), name, e->lang->strip);
		moves = kw_au_printf(e, "%s%s", moves,
				     move(e, e->lang->load, t,
					  e->kept[i] ? kept_vector(e, t) : place(e, t), name));
	}
	return *moves ? kw_au_printf(e, "%s\n%s", arrays, moves) : "";
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
	return kw_au_printf(e, "%s%s%s *%s%s_%s = %s%s%s;\n", e->lang->address,
			    t->output ? "" : "const ", kw_au_storage(t->dtype), kw_au_restricted(e),
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
	s = kw_au_printf(e, "%s%s%s", s, turns_text(e), values);
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

/* The pass with the most arithmetic (late: the one that writes as well) fetches the next row
 * meanwhile; past the last row a prefetch does nothing. */
static const char *prefetch_text(struct kw_au_emit *e, int pass)
{
	const struct kw_au_graph *g = e->g;
	const char *s = "";
	int best = e->late	     ? g->stage_count - 1
		   : e->cached_count ? e->cached_pass[0]
				     : g->stage_count;

	if (e->lang->device || g->form != KW_AU_ROWS || g->row_count != 1 || pass != best)
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

/* Names, loads and segment of a pass, around its body. */
static void set_pass(struct kw_au_emit *e, struct kw_fill *f, const char *body, const char *store,
		     const char *values)
{
	const char *load = load_text(e);

	kw_fill_set(f, "segment",
		    kw_au_printf(
			    e, "%s%s",
			    segment_text(e, kw_au_printf(e, "%s%s%s%s", load, body, store, values)),
			    values));
	kw_fill_set(f, "load", load);
	kw_fill_set(f, "body", body);
}

static void fill_stage(struct kw_au_emit *e, int pass, struct kw_fill *f)
{
	int names = e->name_count;
	const char *body, *segment;

	kw_fill_set(f, "earlier", e->earlier ? e->earlier : "");
	roots_of_pass(e, pass);
	/* Values of the segment get their names before the body prints them. */
	kw_au_close_named(e);
	segment = kw_au_outer(e, KW_AU_SEGMENT, -1);
	e->in_body = true;
	body = kw_au_section(e, pass);
	if (*body)
		body = kw_au_printf(e, "%s\n", body);
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].pass == pass)
			body = kw_au_printf(e, "%s%s", body, kw_au_accumulate(e, &e->red[i]));
	e->in_body = false;
	kw_fill_set(f, "lanes", kw_au_lanes(e, pass));
	set_pass(e, f, body, "", segment);
	kw_fill_set(f, "prefetch", prefetch_text(e, pass));
	kw_au_forget(e, pass);
	e->name_count = names; /* the inner names are free again */
	kw_fill_set(f, "fold", kw_au_fold(e, pass));
	if (e->split && e->lang->device)
		e->earlier = kw_au_printf(e, "%s%s", e->earlier ? e->earlier : "",
					  kw_au_combine(e, pass));
	else if (e->split)
		kw_fill_set(f, "combine", kw_au_combine(e, pass));
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
		return kw_au_printf(e, "%s = (%s)(%s);\n", to, kw_au_storage(t->dtype), value);
	return kw_au_printf(e, "KW_STORE(&%s, %s);\n", to, value);
}

static bool in_strip(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return strcmp(kw_au_stride(e->g, t, e->g->col_atom), "1") == 0;
}

/* A strip of floats that becomes narrower on its way out. */
static bool packed(const struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return e->lang->packs && kw_dtype_is_float(t->dtype) && kw_dtype_bytes(t->dtype) < 4;
}

/* The strip of an output, which leaves as a whole. */
static const char *output_strip(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	e->vector[t - e->g->tensors] = true;
	return kw_au_printf(e, "%s%s %s_strip[%s];\n", e->lang->array,
			    packed(e, t) ? "float" : kw_au_storage(t->dtype), t->c_name,
			    e->lang->strip);
}

static const char *into_strip(struct kw_au_emit *e, const struct kw_au_tensor *t, const char *value)
{
	const char *to = kw_au_printf(e, "%s_strip[i]", t->c_name);

	return packed(e, t) ? kw_au_printf(e, "%s = %s;\n", to, kw_au_bare(e, value))
			    : kw_au_store(e, t, to, value);
}

static const char *output_store(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return move(e, e->lang->store, t, place(e, t), kw_au_printf(e, "%s_strip", t->c_name));
}

static void fill_write(struct kw_au_emit *e, struct kw_fill *f)
{
	const struct kw_expr *x = e->g->expr;
	const char *body, *segment, *strip = "", *store = "";
	int pass = e->g->stage_count;

	kw_fill_set(f, "earlier", e->earlier ? e->earlier : "");
	roots_of_pass(e, pass);
	kw_au_close_named(e);
	segment = kw_au_outer(e, KW_AU_SEGMENT, -1);
	e->in_body = true;
	body = kw_au_section(e, pass);
	if (*body)
		body = kw_au_printf(e, "%s\n", body);
	for (size_t i = 0; i < x->output_count; i++) {
		const struct kw_au_tensor *t = output_tensor(e, i);
		const char *value, *to;

		if (kw_au_level(e, x->outputs[i]) != KW_AU_ELEMENT)
			continue;
		value = kw_au_expression(e, x->outputs[i]);
		to = in_strip(e, t) ? into_strip(e, t, value)
				    : kw_au_store(e, t, kw_au_element(e, t), value);
		body = kw_au_printf(e, "%s%s", body, to);
		if (!in_strip(e, t))
			continue;
		strip = kw_au_printf(e, "%s%s", strip, output_strip(e, t));
		store = kw_au_printf(e, "%s%s", store, output_store(e, t));
	}
	e->in_body = false;
	set_pass(e, f, body, store, segment);
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
	const char *s = "", *vec = "", *strips = "", *stores = "";

	for (size_t i = 0; i < x->output_count; i++) {
		const struct kw_au_tensor *t = output_tensor(e, i);
		enum kw_au_level level = kw_au_level(e, x->outputs[i]);
		const char *value = level == KW_AU_ROW || level == KW_AU_VECTOR
					    ? kw_au_expression(e, x->outputs[i])
					    : "";

		if (level == KW_AU_ROW)
			s = kw_au_printf(e, "%s%s", s,
					 kw_au_store(e, t, kw_au_element(e, t), value));
		else if (level == KW_AU_VECTOR && e->lang->device && in_strip(e, t)) {
			strips = kw_au_printf(e, "%s%s", strips, output_strip(e, t));
			stores = kw_au_printf(e, "%s%s", stores, output_store(e, t));
			vec = kw_au_printf(e, "%s\t%s", vec, into_strip(e, t, value));
		} else if (level == KW_AU_VECTOR)
			vec = kw_au_printf(e, "%s\t%s", vec,
					   kw_au_store(e, t, kw_au_element(e, t), value));
		else if (level == KW_AU_SEGMENT)
			e->why = "an output with one value a segment";
	}
	if (*vec)
		s = kw_au_printf(e, "%s%s%s%s%s}\n%s", s, strips, *strips ? "\n" : "",
				 kw_au_for_each(e, e->lang->count, " {"), vec, stores);
	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];

		if (!is_total_source(e, n))
			continue;
		if (kw_au_level(e, n->args[0]) != KW_AU_ROW || e->g->form == KW_AU_COLUMNS ||
		    kw_au_red_kind(n) < 0)
			e->why = "a reduction over all rows of something that is not one value a "
				 "row";
		e->var[n->id] = e->total_name[n->id] =
			kw_au_name(e, kw_au_printf(e, "all_%s", kw_au_op(n)));
		s = kw_au_printf(e, "%s%s_rows[row] = %s;\n", s, e->var[n->id],
				 kw_au_expression(e, n->args[0]));
	}
	return s;
}

/* After all rows: one exact pass over one value a row; a GPU's team shares it. */
static const char *total_text(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;
	const char *s = "", *stores = "";
	bool device = e->lang->device;

	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];
		struct kw_au_red r = { .node = n,
				       .dtype = kw_dtype_is_float(n->dtype) ? KW_F64 : KW_I64 };
		const char *name = e->var[n->id];
		int kind = kw_au_red_kind(n);

		if (!is_total_source(e, n) || kind < 0)
			continue;
		memcpy(&r.kind, &kind, sizeof(kind));
		s = kw_au_printf(
			e, "%s\n%s %s = %s;\n\nfor (int64_t row = %s; row < rows; row%s)\n\t%s\n",
			s, kw_au_ctype(r.dtype), name, kw_au_red_init(&r), device ? "lane" : "0",
			device ? " += THREADS" : "++",
			kw_au_take_in(e, &r, name, kw_au_printf(e, "%s_rows[row]", name)));
		if (device)
			s = kw_au_printf(e, "%s%s = %s;\n", s, name,
					 kw_au_join(e, &r, e->lang->all, name));
		if (kw_au_is_mean(n))
			s = kw_au_printf(e, "%s%s /= (double)rows;\n", s, name);
		e->var[n->id] = kw_dtype_is_float(n->dtype) && n->dtype != KW_F64
					? kw_au_printf(e, "(float)%s", name)
					: name;
	}
	for (size_t i = 0; i < x->output_count; i++)
		if (kw_au_level(e, x->outputs[i]) == KW_AU_TOTAL)
			stores = kw_au_printf(
				e, "%s%s%s", stores, device ? "if (lane == 0)\n\t" : "",
				kw_au_store(e, output_tensor(e, i),
					    kw_au_printf(e, "%s[0]", output_tensor(e, i)->c_name),
					    kw_au_expression(e, x->outputs[i])));
	return kw_au_printf(e, "%s%s", s, stores);
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

static const char *all_text(struct kw_au_emit *e, const char *finish)
{
	const char *s = finish;

	for (int i = 0; i < e->g->stage_count; i++)
		for (int k = 0; k < e->stages[i].slot_count; k++)
			s = kw_au_printf(e, "%s%s", s, e->stages[i].slot[k].text);
	for (int k = 0; e->write && k < e->write->slot_count; k++)
		s = kw_au_printf(e, "%s%s", s, e->write->slot[k].text);
	return s;
}

/* The name that a line `type name = …;` declares. */
static struct kw_str declared(struct kw_str line)
{
	const char *end = memmem(line.ptr, line.len, " = ", 3);
	size_t n = 0, at = end ? (size_t)(end - line.ptr) : 0;

	while (n < at &&
	       (isalnum((unsigned char)line.ptr[at - n - 1]) || line.ptr[at - n - 1] == '_'))
		n++;
	return (struct kw_str){ line.ptr + at - n, n };
}

/* The lines of `row` whose names the kernel's other slots use, or kept lines after them. */
static const char *used_lines(struct kw_au_emit *e, const char *row, const struct kw_fill *f)
{
	const char *text = "", *s = "";
	size_t end = strlen(row);

	for (int k = 0; k < f->slot_count; k++)
		text = kw_au_printf(e, "%s%s\n", text, f->slot[k].text);
	while (end) {
		size_t begin = end - 1;
		struct kw_str line, name;

		while (begin && row[begin - 1] != '\n')
			begin--;
		line = (struct kw_str){ row + begin, end - begin };
		name = declared(line);
		if (!name.len || kw_au_word_in(kw_str_from(kw_au_printf(e, "%s%s", s, text)),
					       kw_au_printf(e, KW_STR_FMT, KW_STR_ARG(name))))
			s = kw_au_printf(e, KW_STR_FMT "%s", KW_STR_ARG(line), s);
		end = begin;
	}
	return s;
}

/* Where passes are kernels of their own, each has its own rows. */
static void set_row(struct kw_au_emit *e, struct kw_fill *f, const char *row)
{
	if (!e->split || !e->lang->device) {
		kw_fill_set(f, "row", row);
		return;
	}
	for (int i = 0; i < e->g->stage_count; i++)
		kw_fill_set(&e->stages[i], "row", used_lines(e, row, &e->stages[i]));
	if (e->write)
		kw_fill_set(e->write, "row", used_lines(e, row, e->write));
	if (e->finish)
		kw_fill_set(e->finish, "row", used_lines(e, row, e->finish));
}

/* Late: the pass that writes knows of its row what the step before left it. */
static void set_late(struct kw_au_emit *e, struct kw_fill *f, const char *row)
{
	const char *carried = "", *carry = "", *before = "", *text = "";
	struct kw_fill *last = &e->stages[e->g->stage_count - 1];

	for (int k = 0; e->write && k < e->write->slot_count; k++)
		text = kw_au_printf(e, "%s%s", text, e->write->slot[k].text);
	for (int k = 0; k < e->value_count; k++) {
		const char *type = e->value[k].type, *name = e->value[k].name;

		if (!kw_au_word_in(kw_str_from(text), name))
			continue;
		carried = kw_au_printf(e, "%s%s %s_before = { 0 };\n", carried, type, name);
		carry = kw_au_printf(e, "%s%s_before = %s;\n", carry, name, name);
		before = kw_au_printf(e, "%sconst %s %s = %s_before;\n", before, type, name, name);
	}
	kw_fill_set(f, "carried", carried);
	kw_fill_set(last, "carry", carry);
	if (e->write) {
		kw_fill_set(e->write, "row", row);
		kw_fill_set(e->write, "before", before);
	}
	kw_fill_list(last, "write", e->write, e->write != NULL);
}

static void set_finish(struct kw_au_emit *e, struct kw_fill *f, const char *finish,
		       const char *total)
{
	if (!e->lang->device) {
		kw_fill_set(f, "finish", finish);
		kw_fill_set(f, "total", total);
		if (e->finish)
			kw_fill_set(e->finish, "body", finish);
		return;
	}
	if (e->total)
		kw_fill_set(e->total, "body", total);
	if (e->finish) {
		kw_fill_set(e->finish, "earlier", e->earlier ? e->earlier : "");
		kw_fill_set(e->finish, "body", finish);
	}
}

static void set_lists(struct kw_au_emit *e, struct kw_fill *f)
{
	int last = e->late ? 1 : 0, stages = e->g->stage_count - last;

	kw_fill_list(f, "stage", e->stages, (size_t)stages);
	kw_fill_list(f, "last", e->stages + stages, (size_t)last);
	if (e->g->form == KW_AU_POINTWISE)
		for (int k = 0; e->write && k < e->write->slot_count; k++)
			kw_fill_set(f, e->write->slot[k].name, e->write->slot[k].text);
	else
		kw_fill_list(f, "write", e->write, e->write != NULL);
	kw_fill_list(f, "finish", e->finish, e->finish != NULL);
	kw_fill_list(f, "total", e->total, e->total != NULL);
}

static bool alloc_lists(struct kw_au_emit *e)
{
	struct kw_fill *list =
		kw_arena_calloc(e->g->arena, (size_t)e->g->stage_count + 3, sizeof(*list));

	if (!list)
		return false;
	e->stages = list + 3;
	e->write = has_element_output(e) ? list : NULL;
	e->finish = list + 1;
	e->total = e->g->has_total ? list + 2 : NULL;
	return true;
}

enum kw_status kw_au_emit_loops(struct kw_au_emit *e, struct kw_fill *f)
{
	const char *row, *finish, *total;

	if (!alloc_lists(e))
		return kw_fail(e->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	if (!kw_au_list_reds(e)) {
		e->why = e->why ? e->why : "too many reductions";
		return KW_NO;
	}
	choose_resident(e);
	kw_au_find_divisors(e);
	mark_named(e);
	row = row_text(e);
	for (int pass = 0; pass < e->g->stage_count && !e->failed; pass++)
		fill_stage(e, pass, &e->stages[pass]);
	if (e->write)
		fill_write(e, e->write);
	finish = finish_text(e);
	e->finish = *finish ? e->finish : NULL;
	total = total_text(e);
	row = with_row_indices(e, row, all_text(e, finish));
	e->text = kw_au_printf(e, "%s%s%s", row, all_text(e, finish), total);
	if (!e->lang->device)
		kw_fill_set(f, "thread", thread_text(e));
	if (e->keeps) {
		kw_fill_set(f, e->shares ? "share" : "keep",
			    e->shares ? share_text(e) : keep_text(e));
		kw_fill_set(f, "fetch", fetch_text(e));
	}
	set_finish(e, f, finish, total);
	set_row(e, f, row);
	if (e->late)
		set_late(e, f, row);
	set_lists(e, f);
	if (e->failed || e->why) {
		e->why = e->why ? e->why : "its text grew too long";
		return KW_NO;
	}
	return KW_OK;
}
