/* statements.c - from the text of an expression to statements with one operation of weight each.
 *
 * Works on tokens, so that the user's own text stays: an argument, a bracketed term or an operand that has a heavy operation
 * in it gets a name and a line of its own. Names that are assigned twice, or that are an input's, are told apart. */
#include "expr/statements.h"

#include <string.h>

#include "expr/internal.h"
#include "expr/lex.h"

enum { TOKENS_MAX = 20000, LINE_MAX_BYTES = 1 << 16, TEXT_MAX_BYTES = 1 << 20 };

struct renamed {
	struct kw_str from;
	const char *to;
};
struct divider {
	const struct kw_task *task;
	struct kw_arena *a;
	struct kw_error *err;
	enum kw_status status;
	struct token *t;
	size_t count;
	int *closing;                     /* by token: where the bracket that opens here ends; -1 */
	struct renamed names[KW_STATEMENTS_MAX];
	size_t name_count;
	struct kw_statements *out;
	int next_mid;
};

static void fail(struct divider *d, enum kw_status status, const char *what)
{
	if (d->status == KW_OK)
		d->status = kw_fail(d->err, status, d->task->file ? d->task->file : "", "%s", what);
}

static bool is(const struct token *t, const char *op)
{
	return t->kind == T_OP && kw_str_eqz(t->text, op);
}

/* ---- tokens ---- */

static void read_tokens(struct divider *d)
{
	const char *text = d->task->expr;
	size_t room = strlen(text) + 2, depth = 0;
	int open[MAX_DEPTH + 1];
	struct lexer l;

	room = room < TOKENS_MAX ? room : TOKENS_MAX;
	d->t = kw_arena_calloc(d->a, room, sizeof(*d->t));
	d->closing = kw_arena_calloc(d->a, room, sizeof(*d->closing));
	if (!d->t || !d->closing) {
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
		return;
	}
	lex_init(&l, text, strlen(text));
	do {
		struct token t = lex_next(&l);
		size_t i = d->count;

		if (i + 1 >= room || t.kind == T_BAD) {
			fail(d, KW_NO, "the expression is too long to be divided");
			return;
		}
		d->t[d->count++] = t;
		d->closing[i] = -1;
		if (is(&t, "(") || is(&t, "[")) {
			if (depth > MAX_DEPTH)
				fail(d, KW_NO, "the expression is nested too deep to be divided");
			else
				open[depth++] = (int)i;
		} else if ((is(&t, ")") || is(&t, "]")) && depth) {
			d->closing[open[--depth]] = (int)i;
		}
	} while (d->t[d->count - 1].kind != T_END && d->status == KW_OK);
}

/* Where a token begins and ends in the text, quotes included. */
static const char *begins(const struct token *t)
{
	return t->text.ptr - (t->kind == T_STR);
}

static const char *ends(const struct token *t)
{
	return t->text.ptr + t->text.len + (t->kind == T_STR);
}

static bool is_call(const struct divider *d, size_t i)
{
	return d->t[i].kind == T_NAME && is(&d->t[i + 1], "(");
}

/* A name that stands for a value: no function, no attribute, no keyword of an argument. */
static bool is_variable(const struct divider *d, size_t i)
{
	return d->t[i].kind == T_NAME && !is(&d->t[i + 1], "(") && !is(&d->t[i + 1], "=") && (i == 0 || !is(&d->t[i - 1], "."));
}

static bool is_heavy_op(const struct kw_op *op)
{
	switch (op->kind) {
	case KW_NODE_CONTRACT: case KW_NODE_WINDOW: case KW_NODE_SCAN: case KW_NODE_COMPOSITE: return true;
	case KW_NODE_GATHER: return op->id == OP_TOPK;
	default: return false;
	}
}

static bool is_heavy(const struct divider *d, size_t i)
{
	const struct kw_op *op = is_call(d, i) ? op_find(d->t[i].text) : NULL;

	return is(&d->t[i], "@") || (op && is_heavy_op(op));
}

static size_t heavy_in(const struct divider *d, size_t lo, size_t hi)
{
	size_t n = 0;

	for (size_t i = lo; i < hi; i++)
		n += is_heavy(d, i);
	return n;
}

/* Of those that are not inside brackets. */
static size_t heavy_outside(const struct divider *d, size_t lo, size_t hi)
{
	size_t n = 0;

	for (size_t i = lo; i < hi; i++) {
		n += is_heavy(d, i);
		if (d->closing[i] > 0)
			i = (size_t)d->closing[i];
	}
	return n;
}

/* ---- names ---- */

static bool in_text(const struct divider *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->t[i].kind == T_NAME && kw_str_eqz(d->t[i].text, name))
			return true;
	return kw_task_has_name(d->task, name);
}

static const char *new_name(struct divider *d)
{
	const char *name;

	do
		name = kw_arena_printf(d->a, "mid%d", ++d->next_mid);
	while (name && in_text(d, name));
	if (!name)
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
	return name ? name : "";
}

static void rename_as(struct divider *d, struct kw_str from, const char *to)
{
	for (size_t i = 0; i < d->name_count; i++)
		if (kw_str_eq(d->names[i].from, from)) {
			d->names[i].to = to;
			return;
		}
	if (d->name_count == KW_STATEMENTS_MAX)
		fail(d, KW_NO, "the expression has too many names to be divided");
	else
		d->names[d->name_count++] = (struct renamed){ from, to };
}

static const char *renamed(const struct divider *d, struct kw_str name)
{
	for (size_t i = 0; i < d->name_count; i++)
		if (kw_str_eq(d->names[i].from, name))
			return d->names[i].to;
	return NULL;
}

/* ---- statements ---- */

static struct kw_statement *add(struct divider *d)
{
	if (d->out->count == KW_STATEMENTS_MAX) {
		fail(d, KW_NO, "the expression has too many operations to be divided");
		return NULL;
	}
	return &d->out->at[d->out->count++];
}

static const char *region(struct divider *d, size_t lo, size_t hi);

/* The tokens lo to hi as a name: of a statement of its own, but where they are just one already. */
static const char *hoist(struct divider *d, size_t lo, size_t hi)
{
	const char *value = region(d, lo, hi), *name;
	struct kw_statement *s;

	if (d->status != KW_OK)
		return "";
	name = new_name(d);
	s = add(d);
	if (!s)
		return "";
	s->target[0] = name;
	s->target_count = 1;
	s->text = kw_arena_printf(d->a, "%s = %s", name, value);
	if (!s->text)
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
	return name;
}

static void put_gap(const struct divider *d, size_t lo, size_t i, struct kw_buf *out)
{
	if (i > lo && begins(&d->t[i]) > ends(&d->t[i - 1]))
		kw_buf_addc(out, ' ');
}

static void put_token(struct divider *d, size_t i, struct kw_buf *out)
{
	const struct token *t = &d->t[i];
	const char *to = is_variable(d, i) ? renamed(d, t->text) : NULL;

	if (to)
		kw_buf_addz(out, to);
	else
		kw_buf_add(out, begins(t), (size_t)(ends(t) - begins(t)));
}

/* What is between brackets, split at its commas; each piece with heavy work in it becomes a name. */
static void put_inside(struct divider *d, size_t lo, size_t hi, bool call, struct kw_buf *out)
{
	for (size_t i = lo; i < hi && d->status == KW_OK;) {
		size_t end = i, from = i;

		while (end < hi && !is(&d->t[end], ","))
			end = d->closing[end] > 0 ? (size_t)d->closing[end] + 1 : end + 1;
		put_gap(d, lo, i, out);
		if (call && end > i + 2 && d->t[i].kind == T_NAME && is(&d->t[i + 1], "=")) {
			kw_buf_printf(out, KW_STR_FMT "=", KW_STR_ARG(d->t[i].text));
			from = i + 2;
		}
		kw_buf_addz(out, heavy_in(d, from, end) ? hoist(d, from, end) : region(d, from, end));
		if (end < hi)
			kw_buf_addc(out, ',');
		i = end + 1;
	}
}

/* The text of tokens lo to hi. Of several heavy calls beside each other each gets a name, and so does a light one around heavy
 * work: what it computes goes best with what it reads. */
static const char *region(struct divider *d, size_t lo, size_t hi)
{
	bool beside = heavy_outside(d, lo, hi) > 0, several = heavy_outside(d, lo, hi) > 1;
	struct kw_buf out;
	const char *text;

	kw_buf_init(&out, LINE_MAX_BYTES);
	for (size_t i = lo; i < hi && d->status == KW_OK; i++) {
		bool named = i > lo && (d->t[i - 1].kind == T_NAME || is(&d->t[i - 1], ")") || is(&d->t[i - 1], "]"));
		size_t end = d->closing[i] > 0 ? (size_t)d->closing[i] : 0;

		put_gap(d, lo, i, &out);
		if (is_call(d, i) && (i == lo || !is(&d->t[i - 1], ".")) && (is_heavy(d, i) ? several : beside && heavy_in(d, i, (size_t)d->closing[i + 1]))) {
			size_t last = (size_t)d->closing[i + 1];

			kw_buf_addz(&out, hoist(d, i, last + 1));
			i = last;
		} else if (end && is(&d->t[i], "(") && !named && heavy_in(d, i, end) && !heavy_in(d, lo, i) && end + 1 == hi) {
			/* Brackets around all of it. */
			put_token(d, i, &out);
			kw_buf_addz(&out, region(d, i + 1, end));
			kw_buf_addc(&out, ')');
			i = end;
		} else if (end && !(is(&d->t[i], "[") && named)) {
			put_token(d, i, &out);
			put_inside(d, i + 1, end, named, &out);
			put_token(d, end, &out);
			i = end;
		} else {
			put_token(d, i, &out);
		}
	}
	text = out.full ? NULL : kw_arena_strdup(d->a, out.ptr ? out.ptr : "");
	kw_buf_release(&out);
	if (!text)
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
	return text ? text : "";
}

/* Whether a name is assigned again from token i on. */
static bool again(const struct divider *d, struct kw_str name, size_t i)
{
	bool fresh = true;

	for (; i < d->count; i++) {
		if (fresh && d->t[i].kind == T_NAME && kw_str_eq(d->t[i].text, name)) {
			size_t k = i + 1;

			while (is(&d->t[k], ",") && d->t[k + 1].kind == T_NAME)
				k += 2;
			if (is(&d->t[k], "="))
				return true;
		}
		/* Targets stand at the beginning of a line, one behind the other. */
		fresh = d->t[i].kind == T_NEWLINE || (fresh && (d->t[i].kind == T_NAME || is(&d->t[i], ",")));
	}
	return false;
}

static void one_target(struct divider *d, struct kw_statement *s, struct kw_str name, size_t behind)
{
	const char *plain = kw_arena_str(d->a, name);
	bool taken = plain && again(d, name, behind);

	for (size_t i = 0; plain && i < d->task->input_count; i++)
		taken = taken || strcmp(d->task->inputs[i].name, plain) == 0;
	for (size_t i = 0; plain && i < d->task->dim_count; i++)
		taken = taken || strcmp(d->task->dims[i].name, plain) == 0;
	for (size_t i = 0; plain && i < d->task->param_count; i++)
		taken = taken || strcmp(d->task->params[i].name, plain) == 0;
	if (!plain)
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
	s->target[s->target_count] = taken ? new_name(d) : plain;
	rename_as(d, name, s->target[s->target_count++]);
}

static void one_statement(struct divider *d, size_t lo, size_t hi)
{
	struct kw_str names[KW_STATEMENT_TARGETS];
	struct kw_statement *s, made = { 0 };
	struct kw_buf text;
	const char *value;
	size_t n = 0, from = lo;

	for (size_t i = lo; i < hi && n < KW_STATEMENT_TARGETS && d->t[i].kind == T_NAME; i += 2) {
		names[n++] = d->t[i].text;
		if (is(&d->t[i + 1], "=")) {
			from = i + 2;
			break;
		}
		if (!is(&d->t[i + 1], ","))
			break;
	}
	n = from > lo ? n : 0;
	value = region(d, from, hi);
	for (size_t i = 0; i < n; i++)
		one_target(d, &made, names[i], hi);
	/* A lone expression is the outputs. */
	for (size_t i = 0; n == 0 && i < d->task->output_count && i < KW_STATEMENT_TARGETS; i++)
		made.target[made.target_count++] = d->task->outputs[i].name;
	kw_buf_init(&text, LINE_MAX_BYTES);
	for (int i = 0; i < made.target_count; i++)
		kw_buf_printf(&text, "%s%s", i ? ", " : "", made.target[i]);
	kw_buf_printf(&text, " = %s", value);
	made.text = text.full || !text.ptr ? NULL : kw_arena_strdup(d->a, text.ptr);
	kw_buf_release(&text);
	if (!made.text)
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
	s = d->status == KW_OK ? add(d) : NULL;
	if (s)
		*s = made;
}

static void all_statements(struct divider *d)
{
	size_t lo = 0;

	for (size_t i = 0; i < d->count && d->status == KW_OK; i++) {
		if (d->t[i].kind != T_NEWLINE && d->t[i].kind != T_END)
			continue;
		if (i > lo)
			one_statement(d, lo, i);
		lo = i + 1;
	}
}

/* ---- what they are ---- */

static void find_reads(struct divider *d, size_t which)
{
	struct kw_statement *s = &d->out->at[which];

	for (size_t i = 0; i < which; i++)
		for (int k = 0; k < d->out->at[i].target_count; k++)
			s->reads[i] = s->reads[i] || statement_names(s->text, d->out->at[i].target[k]);
}

static bool is_row_op(const struct kw_node *n)
{
	switch (op_id(n)) {
	case OP_SOFTMAX: case OP_LOG_SOFTMAX: case OP_LAYERNORM: case OP_LAYER_NORM: case OP_RMSNORM: case OP_GROUPNORM:
	case OP_BATCHNORM: case OP_VAR: case OP_STD: case OP_LOGSUMEXP: case OP_NORM: case OP_CROSS_ENTROPY: case OP_NLL_LOSS:
	case OP_MSE_LOSS: case OP_L1_LOSS: case OP_HUBER_LOSS: case OP_SMOOTH_L1_LOSS: case OP_KL_DIV: return true;
	default: return n->kind == KW_NODE_REDUCE;
	}
}

/* What the nodes that a line of the text made are. */
static void classify(struct kw_statements *s, const struct kw_expr *e)
{
	for (size_t i = 0; i < e->node_count; i++) {
		const struct kw_node *n = e->nodes[i];
		struct kw_statement *at = n->line > 0 && (size_t)n->line <= s->count ? &s->at[n->line - 1] : NULL;

		if (!at || !n->op)
			continue;
		if (is_row_op(n)) {
			at->reduces = true;
			if (!at->reduced) {
				at->reduced = n->args[0];
				at->reducer = n;
			}
		} else if (is_heavy_op(n->op)) {
			at->heavy = at->heavy || n->kind != KW_NODE_COMPOSITE || op_id(n) == OP_ATTENTION || is_recurrent(n);
			at->reduces = at->reduces || !at->heavy;
		}
	}
}

static bool reads_input(const struct kw_node *n, char *seen)
{
	if (seen[n->id])
		return seen[n->id] > 1;
	seen[n->id] = 1;
	if (n->kind == KW_NODE_INPUT)
		seen[n->id] = 2;
	for (int i = 0; i < n->arg_count; i++)
		if (reads_input(n->args[i], seen))
			seen[n->id] = 2;
	return seen[n->id] > 1;
}

/* A view of inputs moves nothing by itself. */
static bool only_moves(const struct kw_node *n)
{
	if (n->kind == KW_NODE_INPUT)
		return true;
	if (n->kind != KW_NODE_MOVE)
		return false;
	for (int i = 0; i < n->arg_count; i++)
		if (!only_moves(n->args[i]))
			return false;
	return true;
}

static bool is_output(const struct kw_task *t, const char *name)
{
	for (size_t i = 0; i < t->output_count; i++)
		if (strcmp(t->outputs[i].name, name) == 0)
			return true;
	return false;
}

static void find_copied(struct divider *d, const struct kw_expr *e)
{
	char *seen = kw_arena_calloc(d->a, e->node_count + 1, 1);

	for (size_t i = 0; seen && i < d->out->count; i++) {
		struct kw_statement *s = &d->out->at[i];
		bool copied = true;

		for (int k = 0; k < s->target_count; k++)
			copied = copied && !is_output(d->task, s->target[k]) &&
				 (!s->value[k] || !reads_input(s->value[k], seen) || only_moves(s->value[k]));
		s->copied = copied;
	}
	if (!seen)
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
}

/* Runs the new text, which says what each name is. */
static void find_values(struct divider *d)
{
	struct kw_buf text;
	struct builder b;

	kw_buf_init(&text, TEXT_MAX_BYTES);
	for (size_t i = 0; i < d->out->count; i++)
		kw_buf_printf(&text, "%s\n", d->out->at[i].text);
	if (text.full)
		fail(d, KW_ERR_NOMEM, "out of memory for an expression");
	else if (!expr_run(&b, d->task, d->a, text.ptr ? text.ptr : "", d->err))
		d->status = b.status;
	for (size_t i = 0; d->status == KW_OK && i < d->out->count; i++) {
		struct kw_statement *s = &d->out->at[i];

		for (int k = 0; k < s->target_count; k++) {
			const struct value *v = expr_name(&b, s->target[k]);

			s->value[k] = v && v->kind == V_NODE ? v->n : NULL;
		}
	}
	if (d->status == KW_OK && finish_sizes(&b.x->e, d->a, d->err) != KW_OK)
		d->status = d->err ? d->err->status : KW_ERR_NOMEM;
	if (d->status == KW_OK) {
		classify(d->out, &b.x->e);
		find_copied(d, &b.x->e);
	}
	kw_buf_release(&text);
}

/* What the timed work of each is: of a part as a task of its own, of the first case. */
static void find_costs(struct divider *d)
{
	struct kw_statements *s = d->out;
	int part[KW_STATEMENTS_MAX];

	for (size_t i = 0; i < s->count; i++) {
		struct kw_task t;
		struct kw_expr *e;
		struct kw_bound *b;
		struct kw_cost cost;
		struct kw_arena a;
		const char *yaml;

		if (s->at[i].copied || d->task->perf_count == 0)
			continue;
		for (size_t k = 0; k < s->count; k++)
			part[k] = s->at[k].copied ? KW_NO_PART : k == i ? 0 : 1;
		kw_arena_init(&a, 64 << 20);
		if (kw_statements_task(s, part, 0, &a, &yaml, NULL) == KW_OK &&
		    kw_task_parse_yaml(&t, "part", yaml, strlen(yaml), NULL) == KW_OK) {
			if (kw_expr_parse(&t, &a, &e, NULL) == KW_OK && kw_expr_bind(e, &t.cases[0], &a, &b, NULL) == KW_OK) {
				kw_expr_cost(b, &cost);
				s->at[i].flops = cost.flops;
			}
			kw_task_release(&t);
		}
		kw_arena_release(&a);
	}
}

static const char *refusal(const struct kw_task *t)
{
	if (!t->expr)
		return "only a reference that is an expression can be divided";
	if (t->grad_count)
		return "a backward pass is not divided";
	if (kw_task_has_inout(t))
		return "a task that updates an input in place is not divided";
	if (t->output_count == 0 || t->output_count > KW_STATEMENT_TARGETS)
		return "a task with so many outputs is not divided";
	for (size_t i = 0; i < t->output_count; i++)
		if (t->outputs[i].compare != KW_COMPARE_VALUES)
			return "a task whose outputs are indices or random is not divided";
	return NULL;
}

enum kw_status kw_expr_statements(const struct kw_task *t, struct kw_arena *a, struct kw_statements *out, struct kw_error *err)
{
	struct divider d = { .task = t, .a = a, .err = err, .out = out };

	*out = (struct kw_statements){ .task = t, .at = kw_arena_calloc(a, KW_STATEMENTS_MAX, sizeof(*out->at)) };
	if (refusal(t))
		return kw_fail(err, KW_NO, t->file ? t->file : "", "%s", refusal(t));
	if (!out->at)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an expression");
	read_tokens(&d);
	if (d.status == KW_OK)
		all_statements(&d);
	for (size_t i = 0; d.status == KW_OK && i < out->count; i++) {
		out->at[i].reads = kw_arena_calloc(a, out->count + 1, sizeof(bool));
		if (out->at[i].reads)
			find_reads(&d, i);
		else
			fail(&d, KW_ERR_NOMEM, "out of memory for an expression");
	}
	if (d.status == KW_OK)
		find_values(&d);
	if (d.status == KW_OK)
		find_costs(&d);
	return d.status;
}
