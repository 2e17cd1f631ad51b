/* eval.c - evaluators: contexts, the recursion over nodes, materialised nodes, chunks. */
#include "expr/eval_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* ---- contexts ---- */

static void ctx_free(struct ctx *c)
{
	while (c->first) {
		struct scratch_block *next = c->first->next;
		kw_free(c->first);
		c->first = next;
	}
	kw_free(c->memo);
	kw_free(c->head);
	kw_free(c);
}

struct ctx *ctx_get(struct kw_eval *ev)
{
	struct ctx *c;

	pthread_mutex_lock(&ev->lock);
	c = ev->pool;
	if (c)
		ev->pool = c->next;
	pthread_mutex_unlock(&ev->lock);
	if (!c) {
		c = kw_calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		c->head = kw_alloc(sizeof(*c->head) * (ev->e->node_count + 1));
		if (!c->head) {
			kw_free(c);
			return NULL;
		}
		c->ev = ev;
	}
	for (size_t i = 0; i < ev->e->node_count; i++)
		c->head[i] = -1;
	c->memo_count = 0;
	c->block = c->first;
	if (c->block)
		c->block->used = 0;
	c->status = KW_OK;
	kw_error_reset(&c->err);
	return c;
}

void ctx_put(struct ctx *c)
{
	struct kw_eval *ev = c->ev;

	pthread_mutex_lock(&ev->lock);
	c->next = ev->pool;
	ev->pool = c;
	pthread_mutex_unlock(&ev->lock);
}

bool ctx_fail(struct ctx *c, enum kw_status s, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	if (c->status == KW_OK) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		c->status = kw_fail(&c->err, s, "", "%s", text);
	}
	return false;
}

double *ctx_alloc(struct ctx *c, int64_t count)
{
	size_t n = ((size_t)count + 7) & ~(size_t)7;
	struct scratch_block *b = c->block, *next;

	if (b && b->cap - b->used >= n) {
		b->used += n;
		return b->data + b->used - n;
	}
	next = b ? b->next : c->first;
	if (!next || next->cap < n) {
		size_t cap = n > (1 << 16) ? n : 1 << 16;
		struct scratch_block *fresh;

		if (cap > c->ev->max_bytes / sizeof(double)) {
			ctx_fail(c, KW_ERR_LIMIT, "an intermediate value needs %zu MiB, over the limit of %zu MiB",
				 cap >> 17, c->ev->max_bytes >> 20);
			return NULL;
		}
		fresh = kw_alloc(sizeof(*fresh) + cap * sizeof(double));
		if (!fresh) {
			ctx_fail(c, KW_ERR_NOMEM, "no memory for an intermediate value");
			return NULL;
		}
		fresh->cap = cap;
		fresh->next = next;
		if (b)
			b->next = fresh;
		else
			c->first = fresh;
		next = fresh;
	}
	next->used = n;
	c->block = next;
	return next->data;
}

struct mark ctx_mark(const struct ctx *c)
{
	return (struct mark){ c->block, c->block ? c->block->used : 0, c->memo_count };
}

void ctx_release(struct ctx *c, struct mark m)
{
	while (c->memo_count > m.memo_count) {
		const struct memo *e = &c->memo[--c->memo_count];
		c->head[e->node] = e->before;
	}
	c->block = m.block;
	if (m.block)
		m.block->used = m.used;
	else if (c->first)
		c->first->used = 0, c->block = c->first;
}

static bool remember(struct ctx *c, const struct kw_node *n, const struct box *x, const double *data)
{
	if (c->memo_count == c->memo_cap) {
		size_t cap = c->memo_cap ? 2 * c->memo_cap : 32;
		struct memo *grown = kw_realloc(c->memo, cap * sizeof(*grown));
		if (!grown)
			return ctx_fail(c, KW_ERR_NOMEM, "no memory for the evaluation");
		c->memo = grown;
		c->memo_cap = cap;
	}
	c->memo[c->memo_count] = (struct memo){ n->id, c->head[n->id], *x, data };
	c->head[n->id] = (int)c->memo_count++;
	return true;
}

static const double *recall(const struct ctx *c, const struct kw_node *n, const struct box *x)
{
	for (int i = c->head[n->id]; i >= 0; i = c->memo[i].before) {
		if (memcmp(c->memo[i].box.start, x->start, sizeof(*x->start) * (size_t)n->rank) == 0 &&
		    memcmp(c->memo[i].box.count, x->count, sizeof(*x->count) * (size_t)n->rank) == 0)
			return c->memo[i].data;
	}
	return NULL;
}

/* ---- nodes ---- */

static bool leaf(struct ctx *c, const struct kw_node *n, double *out)
{
	*out = n->kind == KW_NODE_CONST ? n->value :
	       n->kind == KW_NODE_PARAM ? c->ev->params[n->index] : (double)c->ev->b->sym[n->id][0];
	/* A kernel is handed the param in its dtype: 1e-5 of f32 is not 1e-5. */
	if (n->kind == KW_NODE_PARAM && n->dtype != KW_F64) {
		unsigned char narrow[8];
		kw_dtype_store(n->dtype, narrow, *out);
		*out = kw_dtype_load(n->dtype, narrow);
	}
	if (c->ev->f32 && n->kind != KW_NODE_DIM && kw_dtype_is_float(n->dtype) && n->dtype != KW_F64)
		*out = (double)(float)*out;
	return true;
}

static bool compute(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	bool ok;

	switch (n->kind) {
	case KW_NODE_INPUT:
		ok = eval_input(c, n, x, out);
		if (ok && n->dtype == KW_I64) /* a double does not hold all of them either */
			vec_round(rounds(c, n), out, box_volume(x, n->rank));
		return ok;
	case KW_NODE_PARAM:
	case KW_NODE_CONST:
	case KW_NODE_DIM: return leaf(c, n, out);
	case KW_NODE_MOVE: return eval_move(c, n, x, out);
	case KW_NODE_GATHER: return eval_gather(c, n, x, out);
	case KW_NODE_ELEMENTWISE: ok = eval_elementwise(c, n, x, out); break;
	case KW_NODE_REDUCE: ok = eval_reduce(c, n, x, out); break;
	case KW_NODE_SCAN: ok = eval_scan(c, n, x, out); break;
	case KW_NODE_CONTRACT: ok = eval_contract(c, n, x, out); break;
	case KW_NODE_WINDOW: ok = eval_window(c, n, x, out); break;
	default:
		if (is_recurrent(n))
			return eval_recurrent(c, n, x, out);
		return ctx_fail(c, KW_ERR_BUG, "'%s' has no evaluation", kw_op_name(n->op));
	}
	if (ok)
		vec_round(rounds(c, n), out, box_volume(x, n->rank));
	return ok;
}

/* The last axis from which on the box is the whole node: from there its elements are one run. */
static int whole_from(const struct kw_shape *s, const struct box *x)
{
	int i = s->rank;

	while (i > 0 && x->start[i - 1] == 0 && x->count[i - 1] == s->dim[i - 1])
		i--;
	return i;
}

static const double *from_material(struct ctx *c, const struct kw_node *n, const struct box *x)
{
	const struct kw_shape *s = node_shape(c, n);
	const double *data = c->ev->mat[n->id].data;
	int axis = whole_from(s, x), outer = axis > 0 ? axis - 1 : 0;
	int64_t stride[KW_MAX_RANK], offset = 0, run = 1, rows = 1, at[KW_MAX_RANK] = { 0 };
	double *out;

	kw_shape_contiguous(s, stride);
	for (int i = 0; i < s->rank; i++) {
		offset += x->start[i] * stride[i];
		if (i < outer)
			rows *= x->count[i];
		else
			run *= x->count[i];
	}
	if (rows == 1)
		return data + offset;
	out = ctx_alloc(c, rows * run);
	for (int64_t r = 0; out && r < rows; r++) {
		vec_copy(data + offset, out + r * run, run);
		for (int i = outer - 1; i >= 0; i--) {
			offset += stride[i];
			if (++at[i] < x->count[i])
				break;
			offset -= x->count[i] * stride[i];
			at[i] = 0;
		}
	}
	return out;
}

const double *eval_node(struct ctx *c, const struct kw_node *n, const struct box *x)
{
	static const double nothing[1];
	int64_t volume = box_volume(x, n->rank);
	const double *known;
	struct mark m;
	double *out;

	if (volume == 0)
		return nothing;
	if (c->ev->mat[n->id].data)
		return from_material(c, n, x);
	if (n->use_count > 1 && (known = recall(c, n, x)))
		return known;
	out = ctx_alloc(c, volume);
	if (!out)
		return NULL;
	m = ctx_mark(c);
	if (!compute(c, n, x, out))
		return NULL;
	if (c->memo_count == m.memo_count)
		ctx_release(c, m);
	if (n->use_count > 1 && !remember(c, n, x, out))
		return NULL;
	return out;
}

/* Whether n computes with its operands, and so rounds, or only selects and compares. */
static bool computes(const struct kw_node *n)
{
	switch (n->op->id) {
	case OP_EQ: case OP_NE: case OP_LT: case OP_LE: case OP_GT: case OP_GE: case OP_AND: case OP_OR: case OP_NOT:
	case OP_NEG: case OP_RELU: case OP_ABS: case OP_SIGN: case OP_ISNAN: case OP_MAXIMUM: case OP_MINIMUM: case OP_WHERE:
	case OP_CLIP: case OP_CAST: case OP_ARANGE: case OP_UNIFORM: case OP_MAX: case OP_MIN: case OP_ARGMAX: case OP_ARGMIN: case OP_ANY:
	case OP_ALL: case OP_CUMMAX: case OP_MAX_POOL1D: case OP_MAX_POOL2D: case OP_MAX_POOL3D:
		return false;
	default:
		return true;
	}
}

static uint64_t place_hash(const struct kw_node *n, int k, const struct box *x)
{
	uint64_t h = (uint64_t)n->id * 8 + (uint64_t)k;

	for (int i = 0; i < n->args[k]->rank; i++)
		h = (h ^ (uint64_t)x->start[i]) * 0x9e3779b97f4a7c15u + (h >> 29);
	return h * 0x94d049bb133111ebu;
}

const double *eval_operand(struct ctx *c, const struct kw_node *n, int k, const struct box *x)
{
	const double *p = eval_node(c, n->args[k], x);
	int64_t count = box_volume(x, n->args[k]->rank);
	double *q;

	if (!p || !c->ev->noise || !rounds(c, n) || !kw_dtype_is_float(n->args[k]->dtype) || !computes(n))
		return p;
	q = ctx_alloc(c, count);
	if (q)
		vec_disturb(c->ev->noise + place_hash(n, k, x), p, q, count);
	return q;
}

bool eval_into(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const double *p;
	struct mark m = ctx_mark(c);

	if (box_volume(x, n->rank) == 0)
		return true;
	if (n->use_count <= 1 && !c->ev->mat[n->id].data)
		return compute(c, n, x, out);
	p = eval_node(c, n, x);
	if (!p)
		return false;
	vec_copy(p, out, box_volume(x, n->rank));
	if (c->memo_count == m.memo_count)
		ctx_release(c, m);
	return true;
}

/* ---- evaluators ---- */

static void drop_material(struct kw_eval *ev)
{
	for (size_t i = 0; ev->mat && i < ev->e->node_count; i++) {
		kw_free(ev->mat[i].data);
		ev->mat[i] = (struct material){ 0 };
	}
	ev->used_bytes = 0;
	atomic_store(&ev->prepared, 0);
}

void kw_eval_free(struct kw_eval *ev)
{
	if (!ev)
		return;
	drop_material(ev);
	while (ev->pool) {
		struct ctx *next = ev->pool->next;
		ctx_free(ev->pool);
		ev->pool = next;
	}
	pthread_mutex_destroy(&ev->lock);
	kw_arena_release(&ev->arena);
	kw_free(ev);
}

void kw_eval_disturb(struct kw_eval *ev, uint64_t seed)
{
	if (!ev->f32 || ev->noise == seed || ev->external.values)
		return;
	ev->noise = seed;
	drop_material(ev);
}

void kw_eval_draw(struct kw_eval *ev, int64_t draw)
{
	if (ev->draw == draw)
		return;
	ev->draw = draw;
	drop_material(ev);
}

static enum kw_status set_inputs(struct kw_eval *ev, const struct kw_view *inputs, struct kw_error *err)
{
	const struct kw_task *t = ev->e->task;

	for (size_t i = 0; i < t->input_count; i++) {
		const struct kw_shape *s = kw_bound_input_shape(ev->b, (int)i);
		char got[128], want[128];

		if (s && !kw_shape_eq(&inputs[i].shape, s))
			return kw_fail(err, KW_ERR_INPUT, "", "input '%s' is %s, the case says %s", t->inputs[i].name,
				       kw_shape_text(&inputs[i].shape, got, sizeof(got)),
				       kw_shape_text(s, want, sizeof(want)));
		if ((enum kw_dtype)inputs[i].dtype != t->inputs[i].dtype)
			return kw_fail(err, KW_ERR_INPUT, "", "input '%s' is %s, declared %s", t->inputs[i].name,
				       kw_dtype_name((enum kw_dtype)inputs[i].dtype),
				       kw_dtype_name(t->inputs[i].dtype));
		ev->inputs[i] = inputs[i];
	}
	return KW_OK;
}

enum kw_status kw_eval_new(const struct kw_bound *b, const struct kw_view *inputs, const double *params,
			   enum kw_eval_mode mode, int threads, size_t max_bytes, struct kw_eval **out,
			   struct kw_error *err)
{
	struct kw_eval *ev = kw_calloc(1, sizeof(*ev));
	const struct kw_task *t = b->e->task;
	enum kw_status s = KW_OK;

	*out = NULL;
	if (!ev)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for an evaluator");
	kw_arena_init(&ev->arena, 64 << 20);
	pthread_mutex_init(&ev->lock, NULL);
	ev->f32 = mode != KW_EVAL_F64;
	ev->coarse = mode == KW_EVAL_COARSE;
	ev->threads = threads < 1 ? 1 : threads > 256 ? 256 : threads;
	ev->max_bytes = max_bytes;
	s = kw_expr_lower(b->e, &ev->arena, &ev->e, err);
	if (s == KW_OK)
		s = kw_expr_bind(ev->e, b->c, &ev->arena, &ev->b, err);
	if (s == KW_OK) {
		ev->inputs = kw_arena_calloc(&ev->arena, t->input_count + 1, sizeof(*ev->inputs));
		ev->params = kw_arena_calloc(&ev->arena, t->param_count + 1, sizeof(*ev->params));
		ev->mat = kw_arena_calloc(&ev->arena, ev->e->node_count + 1, sizeof(*ev->mat));
		if (!ev->inputs || !ev->params || !ev->mat)
			s = kw_fail(err, KW_ERR_NOMEM, "", "no memory for an evaluator");
	}
	for (size_t i = 0; s == KW_OK && i < t->param_count; i++)
		ev->params[i] = params ? params[i] : t->params[i].value;
	if (s == KW_OK)
		s = set_inputs(ev, inputs, err);
	if (s != KW_OK) {
		if (!ev->e)
			ev->mat = NULL;
		kw_eval_free(ev);
		return s;
	}
	*out = ev;
	return KW_OK;
}

enum kw_status kw_eval_reset(struct kw_eval *ev, const struct kw_view *inputs, struct kw_error *err)
{
	drop_material(ev);
	if (ev->external.forget)
		ev->external.forget(ev->external.arg);
	return set_inputs(ev, inputs, err);
}

/* The judge compares whole numbers exactly: they wrap when they are stored. A plain kernel rounds then. */
static void store_narrow(const struct kw_eval *ev, int output, double *out, int64_t volume)
{
	enum kw_dtype d = ev->e->task->outputs[output].dtype;
	unsigned char narrow[512 * 8];

	if (!kw_dtype_is_float(ev->e->outputs[output]->dtype))
		kw_dtype_wrap(d, out, (size_t)volume);
	for (int64_t i = 0; i < volume && ev->f32 && d != KW_F64; i += 512) {
		size_t m = (size_t)(volume - i < 512 ? volume - i : 512);
		kw_dtype_from_f64(d, out + i, narrow, m);
		kw_dtype_to_f64(d, narrow, out + i, m);
	}
}

enum kw_status kw_eval_box(struct kw_eval *ev, int output, const int64_t *start, const int64_t *count, double *out,
			   struct kw_error *err)
{
	const struct kw_node *n = ev->e->outputs[output];
	const struct kw_shape *s = &ev->b->shape[n->id];
	struct box x;
	struct ctx *c;
	enum kw_status st;
	int64_t volume;

	for (int i = 0; i < s->rank; i++) {
		x.start[i] = start[i];
		x.count[i] = count[i];
		if (start[i] < 0 || count[i] < 0 || start[i] > s->dim[i] - count[i])
			return kw_fail(err, KW_ERR_BUG, "", "a box beyond output %d", output);
	}
	if (kw_interrupted())
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	volume = box_volume(&x, s->rank);
	if (ev->external.values) {
		st = eval_external(ev, output, &x, out, err);
		if (st == KW_OK)
			store_narrow(ev, output, out, volume);
		return st;
	}
	if (!atomic_load(&ev->prepared)) {
		st = kw_eval_prepare(ev, volume * 256 >= kw_shape_count(s), err);
		if (st != KW_OK)
			return st;
	}
	c = ctx_get(ev);
	if (!c)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the evaluation");
	eval_into(c, n, &x, out);
	st = c->status;
	if (st != KW_OK && err)
		*err = c->err;
	ctx_put(c);
	if (st == KW_OK)
		store_narrow(ev, output, out, volume);
	return st;
}
