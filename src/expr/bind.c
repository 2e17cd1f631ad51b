/* bind.c - concrete shapes for a case, and the boxes that boxes need. */
#include "expr/internal.h"

#include <string.h>

static enum kw_status bind_node(struct kw_bound *b, const struct kw_node *n, struct kw_error *err)
{
	struct kw_shape *s = &b->shape[n->id];
	enum kw_status st;

	s->rank = n->rank;
	for (int i = 0; i < n->rank; i++) {
		if ((st = sym_eval(n->shape[i].poly, &b->env, &s->dim[i], err)) != KW_OK)
			return st;
		if (s->dim[i] < 0)
			return kw_fail(err, KW_ERR_INPUT, "", "a size is %lld", (long long)s->dim[i]);
	}
	if (n->kind == KW_NODE_DIM && (st = sym_eval(n->shape[0].poly, &b->env, &b->sym[n->id][0], err)) != KW_OK)
		return st;
	for (int i = 0; i < 3 * KW_MAX_RANK; i++) {
		if (xn(n)->sym[i] && (st = sym_eval(xn(n)->sym[i], &b->env, &b->sym[n->id][i], err)) != KW_OK)
			return st;
	}
	if (kw_shape_count(s) < 0)
		return kw_fail(err, KW_ERR_LIMIT, "", "a tensor of more elements than 64 bits count");
	return KW_OK;
}

enum kw_status kw_expr_bind(const struct kw_expr *e, const struct kw_case *c, struct kw_arena *a,
			    struct kw_bound **out, struct kw_error *err)
{
	struct kw_bound *b = kw_arena_calloc(a, 1, sizeof(*b));
	enum kw_status s;

	*out = NULL;
	if (b) {
		b->shape = kw_arena_calloc(a, e->node_count + 1, sizeof(*b->shape));
		b->sym = kw_arena_calloc(a, e->node_count + 1, sizeof(*b->sym));
	}
	if (!b || !b->shape || !b->sym)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to bind the expression");
	b->e = e;
	b->c = c;
	if ((s = kw_case_env(e->task, c, a, &b->env, err)) != KW_OK)
		return s;
	if ((s = run_checks(xe(e), &b->env, c->label ? c->label : "?", err)) != KW_OK)
		return s;
	for (size_t i = 0; i < e->node_count; i++) {
		struct kw_error inner = { 0 };
		s = bind_node(b, e->nodes[i], &inner);
		if (s == KW_OK)
			continue;
		char text[1700];
		snprintf(text, sizeof(text), "%s (case %s)", inner.text, c->label ? c->label : "?");
		fail_at(xe(e), e->nodes[i]->line, e->nodes[i]->column, err, text);
		if (err)
			err->status = s;
		return s;
	}
	*out = b;
	return KW_OK;
}

const struct kw_shape *kw_bound_node_shape(const struct kw_bound *b, int id)
{
	return &b->shape[id];
}

const struct kw_shape *kw_bound_output_shape(const struct kw_bound *b, int output)
{
	return &b->shape[b->e->outputs[output]->id];
}

const struct kw_shape *kw_bound_input_shape(const struct kw_bound *b, int input)
{
	for (size_t i = 0; i < b->e->node_count; i++) {
		if (b->e->nodes[i]->kind == KW_NODE_INPUT && b->e->nodes[i]->index == input)
			return &b->shape[i];
	}
	return NULL;
}

int64_t box_volume(const struct box *x, int rank)
{
	int64_t v = 1;

	for (int i = 0; i < rank; i++)
		v *= x->count[i];
	return v;
}

void box_whole(const struct kw_shape *s, struct box *out)
{
	for (int i = 0; i < s->rank; i++) {
		out->start[i] = 0;
		out->count[i] = s->dim[i];
	}
}

void contract_labels(const struct kw_node *n, struct labels *l)
{
	const char *p = n->sattr, *arrow = strstr(p, "->");
	int k = 0;

	*l = (struct labels){ .operands = 2 };
	for (int i = 0; i < 2; i++, p++) {
		for (k = 0; p < arrow && *p != ','; p++)
			l->in[i][k++] = *p;
	}
	memcpy(l->out, arrow + 2, strlen(arrow + 2));
	k = 0;
	for (int i = 0; i < 2; i++) {
		for (const char *s = l->in[i]; *s; s++) {
			if (!strchr(l->out, *s) && !memchr(l->sum, *s, (size_t)k))
				l->sum[k++] = *s;
		}
	}
}

void window_get(const struct kw_bound *b, const struct kw_node *n, struct window *w)
{
	const struct kw_shape *weight = n->arg_count > 1 ? &b->shape[n->args[1]->id] : NULL;

	*w = (struct window){ .nd = (int)n->attr[0], .groups = b->sym[n->id][0], .count_pad = n->attr[14] != 0 };
	for (int i = 0; i < w->nd; i++) {
		w->stride[i] = n->attr[1 + i];
		w->pad[i] = n->attr[4 + i];
		w->dilation[i] = n->attr[7 + i];
		w->kernel[i] = weight ? weight->dim[2 + i] : n->attr[10 + i];
		w->out_pad[i] = weight ? n->attr[10 + i] : 0;
	}
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* ---- one function per kind ---- */

static void need_broadcast(const struct kw_shape *s, int rank, const struct box *x, struct box *out)
{
	for (int i = 0; i < s->rank; i++) {
		int from = rank - s->rank + i;
		bool one = s->dim[i] == 1;
		out->start[i] = one ? 0 : x->start[from];
		out->count[i] = one ? 1 : x->count[from];
	}
}

static void need_reduce(const struct kw_node *n, const struct kw_shape *s, const struct box *x, struct box *out)
{
	for (int i = 0, k = 0, o = 0; i < s->rank; i++) {
		bool gone = k < n->axis_count && n->axes[k] == i;
		k += gone;
		out->start[i] = gone ? 0 : x->start[o];
		out->count[i] = gone ? s->dim[i] : x->count[o];
		o += !gone || n->keepdims;
	}
}

/* Axes of both shapes in groups of equal product; within a group the flat range decides. */
static void need_reshape(const struct kw_shape *from, const struct kw_shape *to, const struct box *x, struct box *out)
{
	int i = 0, j = 0;

	while (i < from->rank || j < to->rank) {
		int i0 = i, j0 = j;
		int64_t p = 1, q = 1, lo = 0, hi = 0, size;

		if (i < from->rank)
			p = from->dim[i++];
		if (j < to->rank)
			q = to->dim[j++];
		while (p != q) {
			if (p < q && i < from->rank)
				p *= from->dim[i++];
			else if (j < to->rank)
				q *= to->dim[j++];
			else
				p *= from->dim[i++];
		}
		for (int k = j0; k < j; k++) {
			lo = lo * to->dim[k] + x->start[k];
			hi = hi * to->dim[k] + x->start[k] + x->count[k] - 1;
		}
		size = p;
		for (int k = i0; k < i; k++) {
			size = from->dim[k] ? size / from->dim[k] : 0;
			if (!size) {
				out->start[k] = 0;
				out->count[k] = from->dim[k];
				continue;
			}
			out->start[k] = lo / size % from->dim[k];
			out->count[k] = hi / size % from->dim[k] - out->start[k] + 1;
			if (lo / size / from->dim[k] != hi / size / from->dim[k]) {
				out->start[k] = 0;
				out->count[k] = from->dim[k];
			}
		}
	}
}

static void need_map(const struct kw_node *n, const struct kw_shape *s, const struct box *x, struct box *out)
{
	for (int i = 0; i < s->rank; i++) {
		out->start[i] = 0;
		out->count[i] = 1;
	}
	for (int i = 0; i < n->rank; i++) {
		if (n->attr[i] < 0 || s->dim[n->attr[i]] == 1)
			continue;
		out->start[n->attr[i]] = x->start[i];
		out->count[n->attr[i]] = x->count[i];
	}
}

static void need_concat(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg, struct box *out)
{
	int axis = n->axes[0];
	int64_t first = 0, size = b->shape[n->args[arg]->id].dim[axis], lo, hi;

	for (int k = 0; k < arg; k++)
		first += b->shape[n->args[k]->id].dim[axis];
	*out = *x;
	lo = clamp(x->start[axis] - first, 0, size);
	hi = clamp(x->start[axis] + x->count[axis] - first, 0, size);
	out->start[axis] = lo;
	out->count[axis] = hi - lo;
}

static void need_move(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg, struct box *out)
{
	const struct kw_shape *s = &b->shape[n->args[arg]->id], *to = &b->shape[n->id];
	const int64_t *sym = b->sym[n->id];

	*out = *x;
	switch (n->op->id) {
	case OP_RESHAPE: need_reshape(s, to, x, out); return;
	case OP_CONCAT: need_concat(b, n, x, arg, out); return;
	case OP_SLICE:
		for (int i = 0; i < n->rank; i++) {
			out->start[i] = sym[i] + x->start[i] * n->attr[i];
			out->count[i] = x->count[i] ? (x->count[i] - 1) * n->attr[i] + 1 : 0;
		}
		return;
	case OP_PAD:
		for (int i = 0; i < n->rank; i++) {
			int64_t lo = clamp(x->start[i] - sym[i], 0, s->dim[i]);
			out->count[i] = clamp(x->start[i] + x->count[i] - sym[i], 0, s->dim[i]) - lo;
			out->start[i] = lo;
		}
		return;
	case OP_FLIP:
		for (int k = 0; k < n->axis_count; k++) {
			int i = n->axes[k];
			out->start[i] = s->dim[i] - x->start[i] - x->count[i];
		}
		return;
	case OP_REPEAT: {
		int i = n->axes[0];
		int64_t r = sym[0] > 0 ? sym[0] : 1;
		out->start[i] = x->start[i] / r;
		out->count[i] = x->count[i] ? (x->start[i] + x->count[i] - 1) / r - out->start[i] + 1 : 0;
		return;
	}
	default: need_map(n, s, x, out); return;
	}
}

static void need_contract(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg,
			  struct box *out)
{
	const struct kw_shape *s = &b->shape[n->args[arg]->id];
	struct labels l;

	contract_labels(n, &l);
	for (int i = 0; i < s->rank; i++) {
		const char *at = strchr(l.out, l.in[arg][i]);
		bool whole = !at || s->dim[i] == 1;
		out->start[i] = whole ? 0 : x->start[at - l.out];
		out->count[i] = whole ? s->dim[i] : x->count[at - l.out];
	}
}

static bool is_transposed(const struct kw_node *n)
{
	return n->op->id == OP_CONV_TRANSPOSE1D || n->op->id == OP_CONV_TRANSPOSE2D || n->op->id == OP_CONV_TRANSPOSE3D;
}

static void need_window(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg,
			struct box *out)
{
	const struct kw_shape *s = &b->shape[n->args[arg]->id];
	struct window w;
	int lead;

	window_get(b, n, &w);
	lead = n->rank - w.nd;
	box_whole(s, out);
	if (arg == 1) {
		if (!is_transposed(n)) {
			out->start[0] = x->start[1];
			out->count[0] = x->count[1];
		}
		return;
	}
	for (int i = 0; i < lead; i++) {
		out->start[i] = x->start[i];
		out->count[i] = x->count[i];
	}
	if (n->arg_count > 1) { /* channels: those of the groups touched */
		int64_t per_out = b->shape[n->id].dim[1] / w.groups, per_in = s->dim[1] / w.groups;
		int64_t g0 = per_out ? x->start[1] / per_out : 0;
		int64_t g1 = per_out && x->count[1] ? (x->start[1] + x->count[1] - 1) / per_out + 1 : g0;
		out->start[1] = g0 * per_in;
		out->count[1] = (g1 - g0) * per_in;
	}
	for (int i = 0; i < w.nd; i++) {
		int k = lead + i;
		int64_t reach = w.dilation[i] * (w.kernel[i] - 1), first = x->start[k], last = first + x->count[k] - 1;
		int64_t lo, hi;
		if (is_transposed(n)) {
			lo = (first + w.pad[i] - reach) / w.stride[i];
			hi = (last + w.pad[i]) / w.stride[i] + 1;
		} else {
			lo = first * w.stride[i] - w.pad[i];
			hi = last * w.stride[i] - w.pad[i] + reach + 1;
		}
		out->start[k] = clamp(lo, 0, s->dim[k]);
		out->count[k] = x->count[k] ? clamp(hi, out->start[k], s->dim[k]) - out->start[k] : 0;
	}
}

static void need_gather(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg,
			struct box *out)
{
	const struct kw_shape *s = &b->shape[n->args[arg]->id];
	int axis = n->axes[0], ranks = (int)n->attr[1];

	if (n->op->id != OP_TAKE) {
		*out = *x;
		if (arg == 0) {
			out->start[axis] = 0;
			out->count[axis] = s->dim[axis];
		}
		return;
	}
	for (int i = 0; i < s->rank; i++) {
		int from = arg == 1 ? axis + i : i < axis ? i : i + ranks - 1;
		bool whole = arg == 0 && i == axis;
		out->start[i] = whole ? 0 : x->start[from];
		out->count[i] = whole ? s->dim[i] : x->count[from];
	}
}

static void need_composite(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg,
			   struct box *out)
{
	(void)x;
	box_whole(&b->shape[n->args[arg]->id], out);
}

void need_box(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg, struct box *out)
{
	const struct kw_shape *s = &b->shape[n->args[arg]->id];

	if (box_volume(x, n->rank) == 0) {
		*out = (struct box){ 0 };
		return;
	}
	switch (n->kind) {
	case KW_NODE_ELEMENTWISE: need_broadcast(s, n->rank, x, out); break;
	case KW_NODE_REDUCE: need_reduce(n, s, x, out); break;
	case KW_NODE_SCAN:
		*out = *x;
		out->count[n->axes[0]] += out->start[n->axes[0]];
		out->start[n->axes[0]] = 0;
		break;
	case KW_NODE_MOVE: need_move(b, n, x, arg, out); break;
	case KW_NODE_CONTRACT: need_contract(b, n, x, arg, out); break;
	case KW_NODE_WINDOW: need_window(b, n, x, arg, out); break;
	case KW_NODE_GATHER: need_gather(b, n, x, arg, out); break;
	default:
		if (is_recurrent(n))
			need_recurrent(b, n, x, arg, out);
		else if (n->op->id == OP_EXTERNAL)
			box_whole(&b->shape[n->args[arg]->id], out);
		else
			need_composite(b, n, x, arg, out);
		break;
	}
}
