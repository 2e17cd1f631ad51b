#include "author/author.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "author/emit.h"
#include "author/matmul.h"
#include "author/triton.h"

struct author {
	const struct kw_task *task;
	const struct kw_expr *expr, *lowered;
	struct kw_arena *arena;
	struct kw_proposal *out;
	const char **reasons;
	size_t count, reason_count, max;
	struct kw_error *err;
};

/* "softmax(x, axis=-1)" -> "softmax_x_axis_1": a C identifier, at most 40 characters. */
static const char *kernel_name(struct author *w, const char *pattern)
{
	char s[48] = "";
	size_t n = 0;

	for (const char *p = w->task->name; *p && n < 40; p++) {
		if (isalnum((unsigned char)*p))
			s[n++] = *p;
		else if (n && s[n - 1] != '_')
			s[n++] = '_';
	}
	while (n && s[n - 1] == '_')
		n--;
	s[n] = '\0';
	return kw_arena_printf(w->arena, "%s%s_%s", n && !isdigit((unsigned char)s[0]) ? "" : "k_",
			       s, pattern);
}

static const char *joined_why(struct author *w, const struct kw_pattern *p)
{
	const char *s = p->title ? p->title : "";

	for (size_t i = 0; i < p->why_count && s; i++)
		s = kw_arena_printf(w->arena, "%s%s%s", s, *s ? ". " : "", p->why[i]);
	return s;
}

static void add_comment(struct kw_buf *b, const char *mark, const char *prefix, struct kw_str text)
{
	struct kw_str line;

	while (text.len && kw_str_split(&text, '\n', &line))
		if (kw_str_trim(line).len)
			kw_buf_printf(b, "%s %s" KW_STR_FMT "\n", mark, prefix, KW_STR_ARG(line));
}

/* What the kernel computes and why it is written this way. */
static void add_header(struct author *w, const struct kw_pattern *p, struct kw_buf *b)
{
	const char *mark = kw_au_lang_find(p->backend)->comment;

	kw_buf_printf(b, "%s Pattern %s: %s.\n%s\n", mark, p->name, p->title ? p->title : "", mark);
	add_comment(b, mark, "    ", kw_str_from(w->task->expr ? w->task->expr : ""));
	kw_buf_printf(b, "%s\n", mark);
	for (size_t i = 0; i < p->why_count; i++)
		add_comment(b, mark, "- ", kw_str_from(p->why[i]));
	kw_buf_addc(b, '\n');
}

static enum kw_status refuse(struct author *w, const struct kw_pattern *p, const char *why)
{
	w->reasons[w->reason_count] =
		kw_arena_printf(w->arena, "%s: %s", p->name, why ? why : "does not fit");
	if (!w->reasons[w->reason_count])
		return kw_fail(w->err, KW_ERR_NOMEM, "", "no memory for the proposals");
	w->reason_count++;
	return KW_OK;
}

/* Turns filled slots into a candidate. */
static enum kw_status propose(struct author *w, const struct kw_pattern *p, const struct kw_fill *f)
{
	struct kw_proposal *out = &w->out[w->count];
	const char *origin = kw_arena_printf(w->arena, "pattern:%s", p->name);
	struct kw_buf b;
	enum kw_status st;

	kw_buf_init(&b, KW_CANDIDATE_MAX_BYTES);
	add_header(w, p, &b);
	st = kw_fill_pattern(p->path, p->text, p->len, f, &b, w->err);
	if (st == KW_OK)
		st = kw_candidate_from_text(&out->candidate, p->name, p->backend, b.ptr, b.len,
					    w->task, w->arena, w->err);
	if (st == KW_ERR_INPUT)
		kw_error_while(w->err, "reading what the pattern %s made of the task", p->name);
	kw_buf_release(&b);
	out->candidate.origin = origin;
	out->pattern = p->name;
	out->why = joined_why(w, p);
	w->count += st == KW_OK;
	return st;
}

static const char *form_mismatch(const struct kw_pattern *p, const struct kw_au_graph *g)
{
	bool segments = kw_fill_has(p->text, p->len, "segment"),
	     totals = (kw_fill_has(p->text, p->len, "total") &&
		       !kw_fill_has(p->text, p->len, "combine")) ||
		      kw_fill_has(p->text, p->len, "for total");

	if (strcmp(p->family, "pointwise") == 0)
		return g->form == KW_AU_POINTWISE ? NULL : "the task reduces";
	if (g->form == KW_AU_POINTWISE)
		return "nothing is reduced";
	if (strcmp(p->family, "column_reduce") == 0)
		return g->form == KW_AU_COLUMNS ? NULL : "the innermost axis is reduced";
	if (g->form != KW_AU_ROWS)
		return "the innermost axis is not reduced";
	if (kw_fill_has(p->text, p->len, "share") && !kw_au_lang_find(p->backend)->share)
		return "the author cannot lay rows into shared memory in this language";
	if (kw_au_lang_find(p->backend)->tensors) /* it takes the index apart */
		segments = g->seg_count > 0;
	if (segments != (g->seg_count > 0))
		return segments ? "its rows are contiguous" : "its rows lie in segments";
	if (g->has_total && !totals)
		return "it reduces the rows too";
	return NULL;
}

static enum kw_status add_requires(struct kw_au_emit *e, const struct kw_pattern *p,
				   struct kw_fill *f)
{
	const char *plan = "";

	for (int i = 0; i < f->slot_count; i++)
		if (strcmp(f->slot[i].name, "plan") == 0) {
			plan = f->slot[i].text;
			for (size_t k = 0; k < p->when_count && plan; k++)
				plan = kw_arena_printf(
					e->g->arena, "%s%s@ require %s\n", plan, e->lang->comment,
					kw_au_substitute(e, kw_intexpr_text(p->when[k])));
			f->slot[i].text = plan;
		}
	return plan ? KW_OK : kw_fail(e->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
}

static enum kw_status try_loops(struct author *w, const struct kw_pattern *p)
{
	struct kw_fill *f = kw_arena_calloc(w->arena, 1, sizeof(*f));
	struct kw_au_emit *e = kw_arena_calloc(w->arena, 1, sizeof(*e));
	struct kw_au_graph *g;
	const char *why;
	enum kw_status st = kw_au_analyse(w->lowered, NULL, w->arena, &g, &why, w->err);

	if (!f || !e)
		return kw_fail(w->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	if (st == KW_OK) {
		why = form_mismatch(p, g);
		st = why ? KW_NO : KW_OK;
	}
	if (st == KW_OK) {
		st = kw_au_emit_init(e, g, p, w->err);
		if (st == KW_OK)
			st = e->lang->tensors ? kw_au_triton_loops(e, kernel_name(w, p->name), f) : kw_au_emit_loops(e, f);
		why = e->why;
	}
	if (st == KW_NO)
		return refuse(w, p, why);
	if (st == KW_OK && !e->lang->tensors)
		st = kw_au_emit_interface(e, kernel_name(w, p->name), f);
	if (st == KW_OK)
		st = add_requires(e, p, f);
	return st == KW_OK ? propose(w, p, f) : st;
}

static enum kw_status try_matmul(struct author *w, const struct kw_pattern *p)
{
	struct kw_fill *f = kw_arena_calloc(w->arena, 1, sizeof(*f));
	const char *why = NULL;
	enum kw_status st;

	if (!f)
		return kw_fail(w->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	st = kw_au_matmul(w->lowered, p, kernel_name(w, p->name), w->arena, f, &why, w->err);
	if (st == KW_NO)
		return refuse(w, p, why);
	return st == KW_OK ? propose(w, p, f) : st;
}

static bool is_for_any(const struct kw_pattern *p)
{
	return strcmp(p->family, "any") == 0;
}

/* As one writes it first, whatever it is. */
static enum kw_status try_any(struct author *w, const struct kw_pattern *p)
{
	struct kw_fill *f = kw_arena_calloc(w->arena, 1, sizeof(*f));
	struct kw_error own = { 0 };
	struct kw_buf text;
	const char *kept;
	enum kw_status st;

	if (!f)
		return kw_fail(w->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	if (kw_task_has_inout(w->task))
		return refuse(w, p, "it is done in place");
	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES);
	st = strcmp(p->backend, "c") == 0 ? kw_expr_emit_naive_c(w->expr, true, &text, &own) :
					    kw_expr_emit_naive_gpu(w->expr, p->backend, KW_NAIVE_BASELINE, &text, NULL, &own);
	kept = st == KW_OK ? kw_arena_str(w->arena, kw_buf_str(&text)) : NULL;
	kw_buf_release(&text);
	if (st == KW_NO)
		return refuse(w, p, kw_arena_strdup(w->arena, own.text));
	if (st != KW_OK)
		return kw_fail(w->err, st, own.where, "%s", own.text);
	if (!kept || !kw_fill_set(f, "kernels", kept))
		return kw_fail(w->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	st = propose(w, p, f);
	if (st == KW_OK)
		w->out[w->count - 1].last = true;
	return st;
}

/* The input that is updated in place, or a value at one of its own places. */
static bool keeps_place(const struct kw_node *n)
{
	return n->kind == KW_NODE_INPUT || n->kind == KW_NODE_PARAM || n->kind == KW_NODE_CONST || n->kind == KW_NODE_DIM ||
	       n->kind == KW_NODE_ELEMENTWISE || n->kind == KW_NODE_REDUCE;
}

/* Why an operation cannot be done in place by loops that read all of a row, or column, before they write an element where
 * they read it last; NULL: it can. */
static const char *in_place_trouble(struct author *w)
{
	const struct kw_expr *x = w->lowered;
	bool *reads = kw_arena_calloc(w->arena, x->node_count + 1, sizeof(*reads));

	if (!kw_task_has_inout(w->task))
		return NULL;
	if (w->task->output_count > 1 || !reads)
		return "one of several outputs is written in place";
	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];

		reads[n->id] = n->kind == KW_NODE_INPUT && w->task->inputs[n->index].inout;
		for (int k = 0; k < n->arg_count; k++)
			reads[n->id] = reads[n->id] || reads[n->args[k]->id];
		if (reads[n->id] && !keeps_place(n))
			return kw_arena_printf(w->arena, "it is done in place, and %s reads elsewhere than it writes",
					       n->op ? kw_op_name(n->op) : "it");
	}
	return NULL;
}

static enum kw_status try_pattern(struct author *w, const struct kw_pattern *p)
{
	const char *trouble = kw_expr_is_external(w->expr) ?
				      kw_arena_printf(w->arena, "a pattern is filled from an expression, and the reference is %s",
						      kw_task_reference_kind(w->task)) :
				      in_place_trouble(w);

	if (trouble)
		return refuse(w, p, trouble);
	if (is_for_any(p))
		return try_any(w, p);
	if (!kw_au_lang_find(p->backend))
		return refuse(w, p,
			      kw_arena_printf(w->arena,
					      "the author does not know the language of %s",
					      p->backend));
	if (strcmp(p->family, "pointwise") == 0 || strcmp(p->family, "row_reduce") == 0 ||
	    strcmp(p->family, "column_reduce") == 0)
		return try_loops(w, p);
	if (strcmp(p->family, "matmul") == 0)
		return try_matmul(w, p);
	return refuse(w, p,
		      kw_arena_printf(w->arena, "the author cannot fill the family %s", p->family));
}

/* Definitions may use composites that have definitions themselves. */
static enum kw_status lower_fully(struct author *w)
{
	w->lowered = w->expr;
	for (int round = 0; round < 8; round++) {
		struct kw_expr *next;
		bool composite = false;
		enum kw_status st;

		for (size_t i = 0; i < w->lowered->node_count; i++)
			composite = composite || w->lowered->nodes[i]->kind == KW_NODE_COMPOSITE;
		if (round && !composite)
			break;
		st = kw_expr_lower(w->lowered, w->arena, &next, w->err);
		if (st != KW_OK)
			return st;
		w->lowered = next;
	}
	return KW_OK;
}

enum kw_status kw_author_propose(const struct kw_task *t, const struct kw_expr *x,
				 const char *backend, struct kw_arena *a, struct kw_proposal **out,
				 size_t *count, const char ***reasons, size_t *reason_count,
				 struct kw_error *err)
{
	struct author w = { .task = t, .expr = x, .arena = a, .err = err };
	struct kw_pattern *patterns;
	size_t n;
	enum kw_status st;

	*count = *reason_count = 0;
	st = kw_memory_patterns(backend, a, &patterns, &n, err);
	if (st != KW_OK)
		return st;
	st = lower_fully(&w);
	if (st != KW_OK)
		return st;
	*out = w.out = kw_arena_calloc(a, n + 1, sizeof(*w.out));
	*reasons = w.reasons = kw_arena_calloc(a, n + 1, sizeof(*w.reasons));
	if (!w.out || !w.reasons)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the proposals");
	if (!n) {
		w.reasons[w.reason_count++] =
			kw_arena_printf(a, "there are no patterns for the backend %s", backend);
		st = w.reasons[0] ? KW_OK : KW_ERR_NOMEM;
	}
	for (size_t i = 0; i < 2 * n && st == KW_OK; i++) /* first those that are made for something */
		if (is_for_any(&patterns[i % n]) == (i >= n))
			st = try_pattern(&w, &patterns[i % n]);
	*count = w.count;
	*reason_count = w.reason_count;
	return st;
}
