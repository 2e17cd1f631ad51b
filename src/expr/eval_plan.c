/* eval_plan.c - what to materialise, in which chunks, by which threads.
 *
 * Boxes are sent backwards from an output to every node (need_box). From the box that one chunk needs, times the number
 * of chunks, follows how often a node would be evaluated over; what would be evaluated much more than once is
 * materialised: each node once, itself in chunks, in topological order. */
#include "expr/eval_internal.h"

#include <string.h>

#include "base/alloc.h"

struct demand {
	struct box box;                   /* union of what is needed */
	bool any;
};

static void grow(struct demand *d, const struct box *x, int rank)
{
	if (box_volume(x, rank) == 0)
		return;
	for (int i = 0; i < rank; i++) {
		int64_t lo = x->start[i], hi = lo + x->count[i];
		if (d->any) {
			int64_t l = d->box.start[i], h = l + d->box.count[i];
			lo = l < lo ? l : lo;
			hi = h > hi ? h : hi;
		}
		d->box.start[i] = lo;
		d->box.count[i] = hi - lo;
	}
	d->any = true;
}

/* A read by index touches at most as many places of its axis as there are indices. */
static void few_rows(const struct kw_node *n, const struct box *x, struct box *need)
{
	int axis = n->axes[0], rank = n->op->id == OP_TAKE ? (int)n->attr[1] : 1;
	int64_t count = 1;

	for (int i = axis; i < axis + rank; i++)
		count *= x->count[i];
	if (count < need->count[axis])
		need->count[axis] = count;
}

/* Demands of all nodes when box x of n is asked; stops at materialised nodes (but counts them). */
static void demands(const struct kw_eval *ev, const struct kw_node *n, const struct box *x, struct demand *d)
{
	memset(d, 0, sizeof(*d) * ev->e->node_count);
	grow(&d[n->id], x, n->rank);
	for (int i = n->id; i >= 0; i--) {
		const struct kw_node *m = ev->e->nodes[i];
		if (!d[i].any || (ev->mat[i].wanted && m != n))
			continue;
		for (int k = 0; k < m->arg_count; k++) {
			struct box need;
			need_box(ev->b, m, &d[i].box, k, &need);
			if (k == 0 && m->kind == KW_NODE_GATHER && m->op->id != OP_TOPK)
				few_rows(m, &d[i].box, &need);
			grow(&d[m->args[k]->id], &need, m->args[k]->rank);
		}
	}
}

/* Work of one element of a node, in units of a load. */
static double weight(const struct kw_eval *ev, const struct kw_node *n)
{
	double k = 1;

	switch (n->kind) {
	case KW_NODE_ELEMENTWISE: return n->op->special > 0 ? 4 : 1;
	case KW_NODE_CONTRACT: {
		struct labels l;
		contract_labels(n, &l);
		for (const char *s = l.sum; *s; s++) {
			const char *at = strchr(l.in[0], *s);
			if (at)
				k *= (double)ev->b->shape[n->args[0]->id].dim[at - l.in[0]];
		}
		return k;
	}
	case KW_NODE_WINDOW: {
		struct window w;
		window_get(ev->b, n, &w);
		for (int i = 0; i < w.nd; i++)
			k *= (double)w.kernel[i];
		return n->arg_count > 1 ? k * (double)ev->b->shape[n->args[0]->id].dim[1] / (double)w.groups : k;
	}
	case KW_NODE_COMPOSITE: return is_recurrent(n) ? (double)(n->attr[0] * ev->b->shape[n->id].dim[2]) : 1;
	default: return 1;
	}
}

/* Boxes of about `target` elements: trailing axes whole, then as many of the next as fit. */
static void trailing(const struct kw_shape *s, int64_t target, int first, int64_t *count)
{
	int64_t room = target < 1 ? 1 : target;

	for (int i = 0; i < s->rank; i++)
		count[i] = 1;
	if (first >= 0) {
		count[first] = s->dim[first] < 1 ? 1 : s->dim[first];
		room = room / count[first] > 0 ? room / count[first] : 1;
	}
	for (int i = s->rank - 1; i >= 0; i--) {
		if (i == first)
			continue;
		count[i] = s->dim[i] < room ? (s->dim[i] < 1 ? 1 : s->dim[i]) : room;
		room = room / count[i] > 0 ? room / count[i] : 1;
		if (count[i] < s->dim[i])
			break;
	}
}

static double chunks_of(const struct kw_shape *s, const int64_t *count)
{
	double n = 1;

	for (int i = 0; i < s->rank; i++)
		n *= (double)((s->dim[i] + count[i] - 1) / count[i]);
	return n;
}

/* A chunk in the middle stands for all of them. */
static void sample_box(const struct kw_shape *s, const int64_t *count, struct box *x)
{
	for (int i = 0; i < s->rank; i++) {
		int64_t chunks = (s->dim[i] + count[i] - 1) / count[i];
		x->start[i] = chunks / 2 * count[i];
		x->count[i] = s->dim[i] - x->start[i] < count[i] ? s->dim[i] - x->start[i] : count[i];
	}
}

/* Whether evaluating a node `times` over pays less than keeping it. */
static bool worth_keeping(const struct kw_node *n, double times, double elements)
{
	switch (n->kind) {
	case KW_NODE_REDUCE: case KW_NODE_SCAN: case KW_NODE_CONTRACT: case KW_NODE_WINDOW: case KW_NODE_GATHER:
		return times > 1.5;
	case KW_NODE_COMPOSITE:
		return is_recurrent(n) && times > 1.5;
	case KW_NODE_ELEMENTWISE:
		return n->arg_count > 0 && times > (elements < 1e6 ? 2 : 4);
	case KW_NODE_MOVE:
		return n->op->id == OP_RESHAPE && n->args[0]->kind != KW_NODE_INPUT && times > 3;
	default:
		return false;
	}
}

static double plan_cost(const struct kw_eval *ev, const struct kw_node *n, const int64_t *count, struct demand *d)
{
	const struct kw_shape *s = &ev->b->shape[n->id];
	double chunks = chunks_of(s, count), cost = 0;
	struct box x;

	sample_box(s, count, &x);
	demands(ev, n, &x, d);
	for (int i = 0; i <= n->id; i++) {
		const struct kw_node *m = ev->e->nodes[i];
		double all = (double)kw_shape_count(&ev->b->shape[i]);
		double asked = d[i].any ? chunks * (double)box_volume(&d[i].box, m->rank) : 0;

		if (asked > all * 1.5 && worth_keeping(m, asked / (all > 0 ? all : 1), all))
			asked = all * 1.5;
		cost += asked * weight(ev, m);
	}
	return cost;
}

static void chunk_of(const struct kw_eval *ev, const struct kw_node *n, int64_t target, int64_t *count)
{
	const struct kw_shape *s = &ev->b->shape[n->id];
	struct demand *d = kw_alloc(sizeof(*d) * (ev->e->node_count + 1));
	int64_t other[KW_MAX_RANK];
	double best;

	trailing(s, target, -1, count);
	if (!d)
		return;
	best = plan_cost(ev, n, count, d);
	for (int first = 0; first < s->rank; first++) {
		double cost;
		if (s->dim[first] > 16 * (target < 1 ? 1 : target))
			continue; /* too far from what was asked for */
		trailing(s, target, first, other);
		cost = plan_cost(ev, n, other, d);
		if (cost < 0.6 * best) {
			best = cost;
			memcpy(count, other, sizeof(*count) * (size_t)s->rank);
		}
	}
	kw_free(d);
}

void kw_eval_chunk(const struct kw_eval *ev, int output, int64_t target, int64_t count[KW_MAX_RANK])
{
	const struct kw_shape *s = &ev->b->shape[ev->e->outputs[output]->id];

	if (!ev->external.values) {
		chunk_of(ev, ev->e->outputs[output], target, count);
		return;
	}
	for (int i = s->rank - 1; i >= 0; i--) { /* it is all there: runs in memory */
		count[i] = s->dim[i] < target ? s->dim[i] : target > 1 ? target : 1;
		target = s->dim[i] > 0 ? target / s->dim[i] : target;
	}
}

/* ---- materialising ---- */

struct job {
	struct kw_eval *ev;
	const struct kw_node *n;
	double *data;
	int64_t count[KW_MAX_RANK], chunks[KW_MAX_RANK], total;
	atomic_llong next;
	atomic_int status;
	struct kw_error err;
	pthread_mutex_t lock;
};

static void store_box(const struct kw_shape *s, const struct box *x, const double *from, double *data)
{
	int64_t stride[KW_MAX_RANK], at[KW_MAX_RANK] = { 0 }, offset = 0, run, rows = 1;

	kw_shape_contiguous(s, stride);
	for (int i = 0; i < s->rank; i++) {
		offset += x->start[i] * stride[i];
		rows *= i + 1 < s->rank ? x->count[i] : 1;
	}
	run = s->rank ? x->count[s->rank - 1] : 1;
	for (int64_t r = 0; r < rows; r++) {
		vec_copy(from + r * run, data + offset, run);
		for (int i = s->rank - 2; i >= 0; i--) {
			offset += stride[i];
			if (++at[i] < x->count[i])
				break;
			offset -= x->count[i] * stride[i];
			at[i] = 0;
		}
	}
}

static void *worker(void *arg)
{
	struct job *j = arg;
	const struct kw_shape *s = &j->ev->b->shape[j->n->id];
	int64_t i;

	while (atomic_load(&j->status) == KW_OK && (i = atomic_fetch_add(&j->next, 1)) < j->total) {
		struct ctx *c = ctx_get(j->ev);
		const double *p = NULL;
		struct box x;

		for (int k = s->rank - 1; k >= 0; k--) {
			x.start[k] = i % j->chunks[k] * j->count[k];
			i /= j->chunks[k];
			x.count[k] = s->dim[k] - x.start[k] < j->count[k] ? s->dim[k] - x.start[k] : j->count[k];
		}
		if (c)
			p = eval_node(c, j->n, &x);
		if (p) {
			store_box(s, &x, p, j->data);
		} else {
			pthread_mutex_lock(&j->lock);
			if (c)
				j->err = c->err;
			atomic_store(&j->status, c ? c->status : KW_ERR_NOMEM);
			pthread_mutex_unlock(&j->lock);
		}
		if (c)
			ctx_put(c);
	}
	return NULL;
}

static enum kw_status materialise(struct kw_eval *ev, const struct kw_node *n, struct kw_error *err)
{
	const struct kw_shape *s = &ev->b->shape[n->id];
	size_t count = (size_t)kw_shape_count(s);
	struct job j = { .ev = ev, .n = n };
	pthread_t thread[256];
	int threads = 0;

	if (count > (ev->max_bytes - ev->used_bytes) / sizeof(double))
		return kw_fail(err, KW_ERR_LIMIT, "", "the reference needs %zu MiB for '%s', over the limit of %zu MiB",
			       (ev->used_bytes + count * sizeof(double)) >> 20, kw_op_name(n->op), ev->max_bytes >> 20);
	if (!count)
		return KW_OK;
	j.data = kw_alloc(count * sizeof(double));
	if (!j.data)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for '%s' of the reference", kw_op_name(n->op));
	j.total = 1;
	chunk_of(ev, n, 16384, j.count);
	for (int i = 0; i < s->rank; i++) {
		j.chunks[i] = (s->dim[i] + j.count[i] - 1) / j.count[i];
		j.total *= j.chunks[i];
	}
	pthread_mutex_init(&j.lock, NULL);
	while (threads < ev->threads - 1 && threads + 1 < j.total) {
		if (pthread_create(&thread[threads], NULL, worker, &j))
			break;
		threads++;
	}
	worker(&j);
	while (threads > 0)
		pthread_join(thread[--threads], NULL);
	pthread_mutex_destroy(&j.lock);
	if (atomic_load(&j.status) != KW_OK) {
		enum kw_status st = (enum kw_status)atomic_load(&j.status);
		kw_free(j.data);
		if (err && j.err.text[0])
			*err = j.err;
		return j.err.text[0] ? st : kw_fail(err, st, "", "no memory for the evaluation");
	}
	ev->mat[n->id].data = j.data;
	ev->mat[n->id].count = (int64_t)count;
	ev->used_bytes += count * sizeof(double);
	return KW_OK;
}

/* Marks what root needs more than once; roots' own needs come first, so nodes go from last to first. */
static void mark_wanted(struct kw_eval *ev, const struct kw_node *root, bool whole, struct demand *d)
{
	const struct kw_shape *s = &ev->b->shape[root->id];
	int64_t count[KW_MAX_RANK];
	double chunks;
	struct box x;

	if (whole) {
		chunk_of(ev, root, 16384, count);
		chunks = chunks_of(s, count);
	} else {
		double all = (double)kw_shape_count(s);
		for (int i = 0; i < s->rank; i++)
			count[i] = 1;
		chunks = all < 1024 ? all : 1024;
	}
	sample_box(s, count, &x);
	demands(ev, root, &x, d);
	for (int i = root->id - 1; i >= 0; i--) {
		const struct kw_node *m = ev->e->nodes[i];
		double all = (double)kw_shape_count(&ev->b->shape[i]), asked;

		if (!d[i].any || ev->mat[i].wanted || all <= 0)
			continue;
		asked = chunks * (double)box_volume(&d[i].box, m->rank);
		if (!worth_keeping(m, asked / all, all) ||
		    all * sizeof(double) > (double)(ev->max_bytes - ev->used_bytes) / 2)
			continue;
		ev->mat[i].wanted = true;
		demands(ev, root, &x, d); /* what only this node needs is no longer asked through root */
	}
}

/* Evaluation recurses, so a node is kept wherever a path has become this long since the last one that is. */
enum { MAX_RECURSION = 500 };

static enum kw_status mark_deep(struct kw_eval *ev, struct kw_error *err)
{
	int *depth = kw_calloc(ev->e->node_count + 1, sizeof(*depth));

	if (!depth)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the evaluation");
	for (size_t i = 0; i < ev->e->node_count; i++) {
		const struct kw_node *n = ev->e->nodes[i];

		for (int k = 0; k < n->arg_count; k++) {
			int below = ev->mat[n->args[k]->id].wanted ? 0 : depth[n->args[k]->id];
			depth[i] = below + 1 > depth[i] ? below + 1 : depth[i];
		}
		if (depth[i] >= MAX_RECURSION)
			ev->mat[i].wanted = true;
	}
	kw_free(depth);
	return KW_OK;
}

enum kw_status kw_eval_prepare(struct kw_eval *ev, bool whole, struct kw_error *err)
{
	enum kw_status s = KW_OK;
	struct demand *d;
	static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;

	if (ev->external.values)
		return KW_OK;
	pthread_mutex_lock(&preparing);
	if (atomic_load(&ev->prepared) >= (whole ? 2 : 1)) {
		pthread_mutex_unlock(&preparing);
		return KW_OK;
	}
	d = kw_alloc(sizeof(*d) * (ev->e->node_count + 1));
	if (!d)
		s = kw_fail(err, KW_ERR_NOMEM, "", "no memory for the evaluation");
	if (s == KW_OK)
		s = mark_deep(ev, err);
	for (size_t i = 0; s == KW_OK && i < ev->e->output_count; i++)
		mark_wanted(ev, ev->e->outputs[i], whole, d);
	for (size_t i = ev->e->node_count; s == KW_OK && i-- > 0;) {
		if (ev->mat[i].wanted && !ev->mat[i].data)
			mark_wanted(ev, ev->e->nodes[i], true, d);
	}
	kw_free(d);
	for (size_t i = 0; s == KW_OK && i < ev->e->node_count; i++) {
		if (ev->mat[i].wanted && !ev->mat[i].data)
			s = materialise(ev, ev->e->nodes[i], err);
	}
	if (s == KW_OK)
		atomic_store(&ev->prepared, whole ? 2 : 1);
	pthread_mutex_unlock(&preparing);
	return s;
}
