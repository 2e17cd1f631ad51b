/* divide.c - statements in parts: by rule, by somebody else's word, and the task file of a part. */
#include <string.h>

#include "expr/internal.h"
#include "expr/lex.h"
#include "expr/statements.h"

/* ---- by rule ---- */

struct kind {                             /* of a part that is being made */
	bool heavy;
	const struct kw_node *reduced, *reducer; /* of the first reduction in it */
};

static bool same_rows(const struct kind *k, const struct kw_statement *s)
{
	const struct kw_node *p = k->reduced, *q = s->reduced;

	if (k->heavy || !p || !q || p->rank != q->rank || k->reducer->axis_count != s->reducer->axis_count)
		return false;
	for (int i = 0; i < p->rank; i++)
		if (!sym_eq(p->shape[i].poly, q->shape[i].poly))
			return false;
	return memcmp(k->reducer->axes, s->reducer->axes, sizeof(s->reducer->axes)) == 0;
}

/* The highest part that it reads; KW_NO_PART: it reads inputs only, or what is behind them. */
static int highest(const struct kw_statements *s, const int *part, size_t which)
{
	int most = KW_NO_PART;

	for (size_t i = 0; i < which; i++)
		if (s->at[which].reads[i] && part[i] > most)
			most = part[i];
	return most;
}

/* What is before the first operation of weight goes to the first that reads it. */
static int first_reader(const struct kw_statements *s, const int *part, size_t which)
{
	int least = KW_NO_PART;

	for (size_t i = which + 1; i < s->count; i++)
		if (s->at[i].reads[which] && part[i] != KW_NO_PART && (least == KW_NO_PART || part[i] < least))
			least = part[i];
	return least;
}

void kw_statements_divide(const struct kw_statements *s, int part[KW_STATEMENTS_MAX], size_t *count)
{
	struct kind kinds[KW_STATEMENTS_MAX] = { 0 };
	int n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct kw_statement *at = &s->at[i];
		int before = highest(s, part, i);

		part[i] = KW_NO_PART;
		if (at->copied)
			continue;
		if (!at->heavy && (!at->reduces || (before != KW_NO_PART && same_rows(&kinds[before], at)))) {
			part[i] = before;
			continue;
		}
		kinds[n] = (struct kind){ at->heavy, at->reduced, at->reducer };
		part[i] = n++;
	}
	for (size_t i = s->count; i-- > 0;)
		if (!s->at[i].copied && part[i] == KW_NO_PART)
			part[i] = first_reader(s, part, i);
	for (size_t i = 0; i < s->count; i++)
		if (!s->at[i].copied && part[i] == KW_NO_PART)
			part[i] = n++;
	*count = (size_t)n;
}

/* ---- by word ---- */

/* Takes the parts that need nothing more, one after the other. */
enum kw_status kw_statements_check(const struct kw_statements *s, int part[KW_STATEMENTS_MAX], size_t *count, struct kw_error *err)
{
	int order[KW_STATEMENTS_MAX], n = (int)*count, placed = 0;
	bool used[KW_STATEMENTS_MAX] = { false }, done[KW_STATEMENTS_MAX] = { false };

	for (size_t i = 0; i < s->count; i++) {
		if (s->at[i].copied) {
			part[i] = KW_NO_PART;
			continue;
		}
		if (part[i] < 0 || part[i] >= n)
			return kw_fail(err, KW_ERR_INPUT, "", "statement %zu is in no part", i + 1);
		used[part[i]] = true;
	}
	for (bool found = true; found;) {
		found = false;
		for (int p = 0; p < n; p++) {
			bool ready = used[p] && !done[p];

			for (size_t i = 0; ready && i < s->count; i++)
				for (size_t k = 0; part[i] == p && ready && k < i; k++)
					ready = !s->at[i].reads[k] || part[k] == p || part[k] == KW_NO_PART || done[part[k]];
			if (!ready)
				continue;
			done[p] = found = true;
			order[p] = placed++;
		}
	}
	for (int p = 0; p < n; p++)
		if (used[p] && !done[p])
			return kw_fail(err, KW_ERR_INPUT, "", "part %d needs a value that is made from its own, in another part", p + 1);
	for (size_t i = 0; i < s->count; i++)
		if (part[i] != KW_NO_PART)
			part[i] = order[part[i]];
	*count = (size_t)placed;
	return KW_OK;
}

/* ---- the task of a part ---- */

static bool is_output(const struct kw_task *t, const char *name)
{
	for (size_t i = 0; i < t->output_count; i++)
		if (strcmp(t->outputs[i].name, name) == 0)
			return true;
	return false;
}

/* Whether a statement speaks of a name: not as a keyword of an argument. */
bool statement_names(const char *text, const char *name)
{
	struct lexer l;
	struct token t, before = { .kind = T_END };
	bool found = false;

	lex_init(&l, text, strlen(text));
	for (t = lex_next(&l); t.kind != T_END && t.kind != T_BAD; t = lex_next(&l)) {
		/* "axis=" is only known to be one when the sign has been read. */
		if (found && !(t.kind == T_OP && kw_str_eqz(t.text, "=")))
			return true;
		found = t.kind == T_NAME && kw_str_eqz(t.text, name) && !(before.kind == T_OP && kw_str_eqz(before.text, "."));
		before = t;
	}
	return found;
}

bool kw_statement_is_joint(const struct kw_statements *s, const int *part, size_t statement, int target)
{
	const char *name = s->at[statement].target[target];

	if (is_output(s->task, name))
		return true;
	for (size_t i = statement + 1; i < s->count; i++)
		if (s->at[i].reads[statement] && part[i] != part[statement] && part[i] != KW_NO_PART && statement_names(s->at[i].text, name))
			return true;
	return false;
}

struct writer {
	const struct kw_statements *s;
	const int *part;
	int which;
	bool *needs;                      /* by statement: in its text, as its own or as a copy */
	struct kw_buf text;
	struct kw_error *err;
};

static void need(struct writer *w, size_t i)
{
	if (w->needs[i])
		return;
	w->needs[i] = true;
	for (size_t k = 0; k < i; k++)
		if (w->s->at[i].reads[k] && w->s->at[k].copied)
			need(w, k);
}

static bool uses(const struct writer *w, const char *name)
{
	for (size_t i = 0; i < w->s->count; i++)
		if (w->needs[i] && statement_names(w->s->at[i].text, name))
			return true;
	return false;
}

static void put_shape(struct kw_buf *out, struct kw_intexpr *const *shape, int rank)
{
	for (int i = 0; i < rank; i++)
		kw_buf_printf(out, "%s\"%s\"", i ? ", " : "", kw_intexpr_text(shape[i]));
}

static void put_number(struct kw_buf *out, const struct kw_intexpr *from_dims, double plain)
{
	if (from_dims)
		kw_buf_printf(out, "\"%s\"", kw_intexpr_text(from_dims));
	else
		kw_buf_printf(out, "%.17g", plain);
}

static void put_input(struct kw_buf *out, const struct kw_tensor_decl *d)
{
	kw_buf_printf(out, "  %s: { dtype: %s, shape: [", d->name, kw_dtype_name(d->dtype));
	put_shape(out, d->shape, d->rank);
	kw_buf_printf(out, "], dist: %s", kw_dist_name(d->dist));
	if (d->has_range) {
		kw_buf_addz(out, ", range: [");
		put_number(out, d->range_lo_int, d->range_lo);
		kw_buf_addz(out, ", ");
		put_number(out, d->range_hi_int, d->range_hi);
		kw_buf_addc(out, ']');
	}
	if (d->has_strides) {
		kw_buf_addz(out, ", strides: [");
		put_shape(out, d->stride, d->rank);
		kw_buf_addc(out, ']');
	}
	if (d->align_bytes)
		kw_buf_printf(out, ", align: %lld", (long long)d->align_bytes);
	if (d->contiguous != KW_CONTIGUOUS_UNSAID)
		kw_buf_printf(out, ", contiguous: %s", d->contiguous == KW_CONTIGUOUS_ALWAYS ? "true" : "false");
	kw_buf_addz(out, " }\n");
}

/* What is certainly not negative; what comes of products is not known. */
static bool not_negative(const struct kw_node *n)
{
	switch (op_id(n)) {
	case OP_RELU: case OP_EXP: case OP_EXP2: case OP_SIGMOID: case OP_SOFTMAX: case OP_ABS: case OP_SQUARE: case OP_SQRT:
	case OP_RSQRT: case OP_SOFTPLUS: case OP_VAR: case OP_STD: case OP_NORM: case OP_RELU6: case OP_HARDSIGMOID: return true;
	default: break;
	}
	if (n->kind == KW_NODE_CONST)
		return n->value >= 0;
	if (n->kind != KW_NODE_MOVE && n->kind != KW_NODE_REDUCE && op_id(n) != OP_ADD && op_id(n) != OP_MUL && op_id(n) != OP_DIV)
		return false;
	if (op_id(n) == OP_MUL && n->args[0] == n->args[1])
		return true;
	for (int i = 0; i < n->arg_count; i++)
		if (!not_negative(n->args[i]))
			return false;
	return n->arg_count > 0;
}

static enum kw_dtype joint_dtype(const struct kw_node *n)
{
	if (!kw_dtype_is_float(n->dtype))
		return n->dtype;
	return n->dtype == KW_F64 ? KW_F64 : KW_F32;
}

static void put_node_shape(struct kw_buf *out, const struct kw_node *n)
{
	for (int i = 0; i < n->rank; i++)
		kw_buf_printf(out, "%s\"%s\"", i ? ", " : "", kw_intexpr_text(n->shape[i].expr));
}

/* A joint that comes from an earlier part. */
static enum kw_status put_joint(struct writer *w, const char *name, const struct kw_node *n)
{
	enum kw_dtype_class cls = kw_dtype_info(n->dtype)->cls;

	if (cls == KW_CLASS_INT)
		return kw_fail(w->err, KW_NO, "", "%s holds whole numbers of a range that nobody knows", name);
	kw_buf_printf(&w->text, "  %s: { dtype: %s, shape: [", name, kw_dtype_name(joint_dtype(n)));
	put_node_shape(&w->text, n);
	kw_buf_printf(&w->text, "], dist: %s }\n", cls == KW_CLASS_BOOL ? "bernoulli" : op_id(n) == OP_SOFTMAX ? "probabilities" :
							not_negative(n) ? "positive" : "normal");
	return KW_OK;
}

static enum kw_status put_inputs(struct writer *w)
{
	const struct kw_task *t = w->s->task;
	enum kw_status status = KW_OK;
	size_t before = w->text.len;

	for (size_t i = 0; i < t->input_count; i++)
		if (uses(w, t->inputs[i].name))
			put_input(&w->text, &t->inputs[i]);
	for (size_t i = 0; i < w->s->count && status == KW_OK; i++) {
		const struct kw_statement *s = &w->s->at[i];

		for (int k = 0; !w->needs[i] && k < s->target_count && status == KW_OK; k++)
			if (s->value[k] && uses(w, s->target[k]))
				status = put_joint(w, s->target[k], s->value[k]);
	}
	if (status == KW_OK && w->text.len == before)
		status = kw_fail(w->err, KW_NO, "", "a part without inputs");
	return status;
}

static enum kw_status put_outputs(struct writer *w)
{
	const struct kw_task *t = w->s->task;
	size_t before = w->text.len;

	kw_buf_addz(&w->text, "outputs:\n");
	for (size_t i = 0; i < w->s->count; i++) {
		const struct kw_statement *s = &w->s->at[i];

		for (int k = 0; w->part[i] == w->which && k < s->target_count; k++) {
			const struct kw_tensor_decl *d = NULL;

			if (!kw_statement_is_joint(w->s, w->part, i, k) || !s->value[k])
				continue;
			for (size_t o = 0; o < t->output_count; o++)
				if (strcmp(t->outputs[o].name, s->target[k]) == 0)
					d = &t->outputs[o];
			kw_buf_printf(&w->text, "  %s: { dtype: %s, shape: [", s->target[k],
				      kw_dtype_name(d ? d->dtype : joint_dtype(s->value[k])));
			if (d)
				put_shape(&w->text, d->shape, d->rank);
			else
				put_node_shape(&w->text, s->value[k]);
			kw_buf_addz(&w->text, "] }\n");
		}
	}
	return w->text.len > before + 10 ? KW_OK : kw_fail(w->err, KW_NO, "", "a part that nobody reads");
}

static void put_case(struct writer *w, const struct kw_case *c)
{
	const struct kw_task *t = w->s->task;
	int layouts = 0;

	kw_buf_addz(&w->text, "  - { ");
	for (size_t i = 0; i < t->dim_count; i++)
		kw_buf_printf(&w->text, "%s%s: %lld", i ? ", " : "", t->dims[i].name, (long long)c->dims[i]);
	for (size_t i = 0; i < t->input_count; i++)
		if (c->layouts[i] != KW_LAYOUT_CONTIGUOUS && uses(w, t->inputs[i].name))
			kw_buf_printf(&w->text, "%s%s: %s", layouts++ ? ", " : t->dim_count ? ", layout: { " : "layout: { ",
				      t->inputs[i].name, kw_layout_name(c->layouts[i]));
	kw_buf_printf(&w->text, "%s%s }\n", layouts ? " }" : "", c->large ? ", large: true" : "");
}

/* Cases that differ only in the layout of an input that the part does not have are one. */
static void put_cases(struct writer *w, bool perf)
{
	const struct kw_task *t = w->s->task;
	size_t first = w->text.len;
	bool any = false;

	for (size_t i = 0; i < t->case_count; i++) {
		size_t at = w->text.len;

		if (t->cases[i].perf != perf)
			continue;
		if (!any)
			kw_buf_printf(&w->text, "%s:\n", perf ? "perf" : "check");
		any = true;
		at = w->text.len;
		put_case(w, &t->cases[i]);
		if (w->text.ptr && memmem(w->text.ptr + first, at - first, w->text.ptr + at, w->text.len - at)) {
			w->text.len = at;
			w->text.ptr[at] = '\0';
		}
	}
}

static void put_rules(struct writer *w)
{
	const struct kw_task *t = w->s->task;
	bool any = false;

	if (t->tol_rel >= 0)
		kw_buf_printf(&w->text, "tolerance: { rtol: %.17g, atol: %.17g }\n", t->tol_rel, t->tol_abs > 0 ? t->tol_abs : 0.0);
	for (int d = 0; d < 32; d++) {
		if (!(t->allow_precision & 1u << d))
			continue;
		kw_buf_printf(&w->text, "%s%s", any ? ", " : "precision: { allow: [", kw_dtype_name((enum kw_dtype)d));
		any = true;
	}
	if (t->allow_tf32) {
		kw_buf_addz(&w->text, any ? ", tf32" : "precision: { allow: [tf32");
		any = true;
	}
	if (any)
		kw_buf_addz(&w->text, "] }\n");
	if (t->libraries_said)
		kw_buf_printf(&w->text, "libraries: %s\n", t->libraries == KW_LIBRARIES_ALLOW ? "allow" : "refuse");
}

static enum kw_status write_task(struct writer *w)
{
	const struct kw_task *t = w->s->task;
	enum kw_status status;

	kw_buf_printf(&w->text, "name: %.40s.part%d\ntitle: Part %d of %s\n", t->name, w->which + 1, w->which + 1, t->name);
	if (t->dim_count)
		kw_buf_addz(&w->text, "dims:\n");
	for (size_t i = 0; i < t->dim_count; i++)
		kw_buf_printf(&w->text, "  %s: { min: %lld, max: %lld, multiple: %lld }\n", t->dims[i].name, (long long)t->dims[i].min,
			      (long long)t->dims[i].max, (long long)(t->dims[i].multiple > 1 ? t->dims[i].multiple : 1));
	kw_buf_addz(&w->text, "inputs:\n");
	status = put_inputs(w);
	for (size_t i = 0, any = 0; status == KW_OK && i < t->param_count; i++)
		if (uses(w, t->params[i].name))
			kw_buf_printf(&w->text, "%s  %s: { dtype: %s, value: %.17g }\n", any++ ? "" : "params:\n", t->params[i].name,
				      kw_dtype_name(t->params[i].dtype), t->params[i].value);
	if (status == KW_OK)
		status = put_outputs(w);
	if (status != KW_OK)
		return status;
	kw_buf_addz(&w->text, "reference:\n  expr: |\n");
	for (size_t i = 0; i < w->s->count; i++)
		if (w->needs[i])
			kw_buf_printf(&w->text, "    %s\n", w->s->at[i].text);
	put_cases(w, true);
	put_cases(w, false);
	put_rules(w);
	return KW_OK;
}

enum kw_status kw_statements_task(const struct kw_statements *s, const int *part, int which, struct kw_arena *a, const char **yaml,
				  struct kw_error *err)
{
	struct writer w = { .s = s, .part = part, .which = which, .err = err };
	enum kw_status status;

	*yaml = NULL;
	w.needs = kw_arena_calloc(a, s->count + 1, sizeof(*w.needs));
	if (!w.needs)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a part");
	kw_buf_init(&w.text, 4 << 20);
	for (size_t i = s->count; i-- > 0;)
		if (part[i] == which)
			need(&w, i);
	status = write_task(&w);
	*yaml = status == KW_OK && !w.text.full ? kw_arena_strdup(a, w.text.ptr) : NULL;
	kw_buf_release(&w.text);
	if (status == KW_OK && !*yaml)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a part");
	return status;
}

/* ---- as a reader sees it ---- */

const char *kw_statements_text(const struct kw_statements *s, struct kw_arena *a)
{
	struct kw_buf b;
	const char *out;

	kw_buf_init(&b, 1 << 20);
	for (size_t i = 0; i < s->count; i++) {
		const struct kw_statement *at = &s->at[i];

		kw_buf_printf(&b, "%zu. `%s`", i + 1, at->text);
		for (int k = 0; k < at->target_count && at->value[k]; k++) {
			kw_buf_printf(&b, "%s%s[", k ? ", " : ": ", kw_dtype_name(at->value[k]->dtype));
			for (int r = 0; r < at->value[k]->rank; r++)
				kw_buf_printf(&b, "%s%s", r ? ", " : "", kw_intexpr_text(at->value[k]->shape[r].expr));
			kw_buf_addc(&b, ']');
		}
		if (at->copied)
			kw_buf_addz(&b, ", computed again where it is used: it needs no part");
		else if (at->flops > 0)
			kw_buf_printf(&b, ", %.3g flops", at->flops);
		kw_buf_addc(&b, '\n');
	}
	out = b.full ? NULL : kw_arena_strdup(a, b.ptr ? b.ptr : "");
	kw_buf_release(&b);
	return out;
}

const char *kw_division_text(const struct kw_statements *s, const int *part, size_t count, struct kw_arena *a)
{
	struct kw_buf b;
	const char *out;

	kw_buf_init(&b, 1 << 16);
	for (size_t p = 0; p < count; p++) {
		kw_buf_addz(&b, "PART:");
		for (size_t i = 0; i < s->count; i++)
			if (part[i] == (int)p)
				kw_buf_printf(&b, " %zu", i + 1);
		kw_buf_addc(&b, '\n');
	}
	out = b.full ? NULL : kw_arena_strdup(a, b.ptr ? b.ptr : "");
	kw_buf_release(&b);
	return out;
}
