/* audit.c - `task check`: labels for tasks that a wrong kernel could pass, or that say less than they seem to.
 *
 * By evaluation on a small case, with several fillings of the inputs: constant_output, zero_output, nan_output,
 * infinite_output, ignores_input, nondeterministic; on the largest case of moderate size: zeros_pass, small_output. From the graph:
 * redundant_operation. Nothing is refused.
 *
 * Where the sizes are fixed and large (gigabytes, as in public suites) a few thousand elements at both ends of the outputs are
 * evaluated at full size, over inputs whose values repeat: the same few megabytes are mapped over and over. */
#include "expr/internal.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

#define MAX_LABELS 64
#define SMALL_ELEMENTS 200000
#define LARGE_ELEMENTS (16 << 20)
#define PART_ELEMENTS 4096
#define PERIOD_BYTES ((size_t)8 << 20)
#define MAPPED_MAX_BYTES ((size_t)128 << 30)
#define PART_FLOPS 5e8
/* What KernelBench and many scripts take as their absolute tolerance. */
#define COMMON_ATOL 1e-2

struct audit {
	const struct kw_expr *e;
	struct kw_arena *a;
	const char **labels;
	size_t count;
	bool nomem;
	bool part;                        /* outputs are looked at in part: at both ends */
	bool wrapped;                     /* whole numbers went beyond their dtype: it was said */
	int evaluated;                    /* how often that could be done */
	bool dear;                        /* it was left out, as it takes too long */
};

static void audit_label(struct audit *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void audit_label(struct audit *t, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < t->count; i++) {
		if (strcmp(t->labels[i], text) == 0)
			return;
	}
	if (t->count == MAX_LABELS)
		return;
	t->labels[t->count] = kw_arena_strdup(t->a, text);
	if (t->labels[t->count])
		t->count++;
	else
		t->nomem = true;
}

/* ---- inputs ---- */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static double uniform(uint64_t seed, int64_t i)
{
	return (double)(mix(seed + (uint64_t)i) >> 11) * 0x1p-53;
}

/* Sum of twelve uniforms: near enough to a normal for an audit. */
static double normal(uint64_t seed, int64_t i)
{
	double s = -6;

	for (int k = 0; k < 12; k++)
		s += uniform(seed + 977 * (uint64_t)k, i * 12 + k);
	return s;
}

static bool range(const struct kw_tensor_decl *d, const struct kw_intenv *env, double *lo, double *hi)
{
	int64_t v;

	*lo = d->range_lo;
	*hi = d->range_hi;
	if (d->range_lo_int && kw_intexpr_eval(d->range_lo_int, env, &v, NULL) == KW_OK)
		*lo = (double)v;
	if (d->range_hi_int && kw_intexpr_eval(d->range_hi_int, env, &v, NULL) == KW_OK)
		*hi = (double)v;
	return d->has_range;
}

static double draw(const struct kw_tensor_decl *d, const struct kw_intenv *env, const struct kw_shape *s, uint64_t seed,
		   int64_t i)
{
	double lo, hi, u = uniform(seed, i);
	bool has = range(d, env, &lo, &hi);
	int64_t last = s->rank ? s->dim[s->rank - 1] : 1;

	switch (d->dist) {
	case KW_DIST_UNIFORM: return has ? lo + u * (hi - lo) : u;
	case KW_DIST_INTEGERS: return has ? floor(lo + u * (hi - lo + 1)) : floor(u * 8);
	case KW_DIST_BERNOULLI: return u < (has ? lo : 0.5);
	case KW_DIST_PROBABILITIES: return (u + 0.05) / ((double)last * 0.55);
	case KW_DIST_POSITIVE: return fabs(normal(seed, i)) + 0.1;
	case KW_DIST_ONES: return 1;
	case KW_DIST_ZEROS: return 0;
	case KW_DIST_PERMUTATION: return (double)((i + (int64_t)(seed % 7)) % last);
	default: return has ? lo + hi * normal(seed, i) : normal(seed, i);
	}
}

struct trial {
	struct kw_bound *b;
	struct kw_view *views;
	size_t *mapped;                   /* bytes of an input whose values repeat; 0: it is whole, on the heap */
	size_t inputs;
	struct kw_arena arena;
};

static void fill(const struct audit *t, const struct trial *r, size_t input, uint64_t seed)
{
	const struct kw_tensor_decl *d = &t->e->task->inputs[input];
	struct kw_view *v = &r->views[input];
	int64_t n = r->mapped[input] ? (int64_t)(PERIOD_BYTES / kw_dtype_bytes(d->dtype)) : kw_shape_count(&v->shape);
	double part[256];

	for (int64_t i = 0; i < n; i += 256) {
		int64_t m = n - i < 256 ? n - i : 256;
		for (int64_t k = 0; k < m; k++)
			part[k] = draw(d, &r->b->env, &v->shape, mix(seed * 64 + input), i + k);
		kw_dtype_from_f64(d->dtype, part, (char *)v->base + i * (int64_t)kw_dtype_bytes(d->dtype), (size_t)m);
	}
}

static void trial_free(struct trial *r)
{
	for (size_t i = 0; r->views && r->mapped && i < r->inputs; i++) {
		if (r->mapped[i] && r->views[i].base)
			munmap(r->views[i].base, r->mapped[i]);
		else
			kw_free(r->views[i].base);
	}
	kw_arena_release(&r->arena);
}

/* Address space of at least that many bytes in which the same PERIOD_BYTES of memory stand over and over; NULL: not to be had. */
static void *map_repeated(size_t bytes, size_t *mapped)
{
	size_t all = (bytes + PERIOD_BYTES - 1) / PERIOD_BYTES * PERIOD_BYTES;
	char *base = bytes > MAPPED_MAX_BYTES ? MAP_FAILED : mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = base == MAP_FAILED ? -1 : memfd_create("audit", MFD_CLOEXEC);
	bool good = fd >= 0 && ftruncate(fd, (off_t)PERIOD_BYTES) == 0;

	for (size_t at = 0; good && at < all; at += PERIOD_BYTES)
		good = mmap(base + at, PERIOD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (!good && base != MAP_FAILED)
		munmap(base, all);
	*mapped = good ? all : 0;
	return good ? base : NULL;
}

static bool trial_init(const struct audit *t, struct trial *r, const struct kw_case *c)
{
	const struct kw_task *task = t->e->task;

	*r = (struct trial){ .inputs = task->input_count };
	kw_arena_init(&r->arena, 64 << 20);
	r->views = kw_arena_calloc(&r->arena, task->input_count + 1, sizeof(*r->views));
	r->mapped = kw_arena_calloc(&r->arena, task->input_count + 1, sizeof(*r->mapped));
	if (!r->views || !r->mapped || kw_expr_bind(t->e, c, &r->arena, &r->b, NULL) != KW_OK)
		return false;
	for (size_t i = 0; i < task->input_count; i++) {
		const struct kw_shape *s = kw_bound_input_shape(r->b, (int)i);
		struct kw_view *v = &r->views[i];
		v->dtype = (int)task->inputs[i].dtype;
		v->shape = *s;
		kw_shape_contiguous(s, v->stride);
		if (t->part && (size_t)kw_shape_count(s) > PERIOD_BYTES / kw_dtype_bytes(task->inputs[i].dtype))
			v->base = map_repeated((size_t)kw_shape_count(s) * kw_dtype_bytes(task->inputs[i].dtype), &r->mapped[i]);
		else
			v->base = kw_calloc((size_t)kw_shape_count(s) + 1, kw_dtype_bytes(task->inputs[i].dtype));
		if (!v->base)
			return false;
		fill(t, r, i, 1);
	}
	return true;
}

/* ---- choosing cases ---- */

static double case_elements(const struct audit *t, const struct kw_case *c, double *outputs)
{
	struct kw_arena a;
	struct kw_bound *b;
	double n = -1;

	kw_arena_init(&a, 64 << 20);
	if (kw_expr_bind(t->e, c, &a, &b, NULL) == KW_OK) {
		n = *outputs = 0;
		for (size_t i = 0; i < t->e->node_count; i++) {
			if (t->e->nodes[i]->kind == KW_NODE_INPUT)
				n += (double)kw_shape_count(&b->shape[i]);
		}
		for (size_t i = 0; i < t->e->output_count; i++)
			*outputs += (double)kw_shape_count(kw_bound_output_shape(b, (int)i));
	}
	kw_arena_release(&a);
	return n;
}

/* A dim of 1 hides what it means: an index into one place is always the same. */
static bool is_degenerate(const struct kw_task *task, const struct kw_case *c)
{
	for (size_t i = 0; i < task->dim_count; i++) {
		if (c->dims[i] < 2 && task->dims[i].max > 1)
			return true;
	}
	return false;
}

/* The largest case with at most `most` elements going in and coming out. */
static const struct kw_case *largest(const struct audit *t, double most)
{
	const struct kw_task *task = t->e->task;
	const struct kw_case *best = NULL;
	double best_n = 0;

	for (size_t i = 0; i < task->case_count; i++) {
		double out = 0, n = is_degenerate(task, &task->cases[i]) ? -1 : case_elements(t, &task->cases[i], &out);
		if (out > 0 && n >= 0 && n + out > best_n && n + out <= most) {
			best = &task->cases[i];
			best_n = n + out;
		}
	}
	return best;
}

/* A small case of our own: each dim near a few odd numbers, in its range and a multiple of what it must be. */
static bool invent(const struct audit *t, struct kw_arena *a, struct kw_case *c)
{
	static const int64_t tries[] = { 5, 8, 16, 4, 64, 1 };
	const struct kw_task *task = t->e->task;
	int64_t dims[64];

	for (size_t k = 0; k < sizeof(tries) / sizeof(*tries); k++) {
		double out = 0, in;
		for (size_t i = 0; i < task->dim_count && i < 64; i++) {
			int64_t m = task->dims[i].multiple > 0 ? task->dims[i].multiple : 1;
			int64_t v = (tries[k] + m - 1) / m * m;
			v = v < task->dims[i].min ? task->dims[i].min : v;
			dims[i] = v > task->dims[i].max ? task->dims[i].max : v;
		}
		if (task->dim_count > 64 || kw_case_make(task, dims, NULL, false, a, c, NULL) != KW_OK)
			continue;
		in = case_elements(t, c, &out); /* dims may be fixed, and large */
		if (in >= 0 && out > 0 && in + out <= SMALL_ELEMENTS)
			return true;
	}
	return false;
}

/* ---- evaluation ---- */

/* Right, if it is meant so: the evaluator does as numpy and PyTorch do. */
static void note_wrapped(struct audit *t, const struct kw_node *n)
{
	t->wrapped = true;
	audit_label(t, "wraps: line %d, column %d: %s goes beyond %s, and wraps as in numpy; i32(...) or i64(...) of its inputs gives it room",
		    xe(t->e)->file_line + n->line - 1, xe(t->e)->file_column + n->column - 1, n->op->name, kw_dtype_name(n->dtype));
}

/* The first elements of an output, at most limit; with t->part as many of its last ones behind them. */
static double *evaluate(struct audit *t, const struct trial *r, int output, int threads, int64_t limit,
			int64_t *count)
{
	const struct kw_shape *s = kw_bound_output_shape(r->b, output);
	struct kw_eval *ev = NULL;
	int64_t start[KW_MAX_RANK] = { 0 }, end[KW_MAX_RANK], box[KW_MAX_RANK], room = t->part && limit > PART_ELEMENTS ? PART_ELEMENTS : limit;
	int64_t one;
	double *out = NULL;

	*count = 1;
	for (int i = s->rank - 1; i >= 0; i--) {
		box[i] = s->dim[i] < room ? s->dim[i] : room;
		room = room / (box[i] > 0 ? box[i] : 1);
		room = room < 1 ? 1 : room;
		*count *= box[i];
		end[i] = s->dim[i] - box[i];
	}
	one = *count;
	*count = t->part ? 2 * one : one;
	/* Few elements may need all that there is: a mean over everything, behind a convolution. */
	if (t->part && *count > 0 && expr_box_flops(r->b, output, start, box) > PART_FLOPS) {
		t->dear = true;
		return NULL;
	}
	if (*count > 0 && kw_eval_new(r->b, r->views, NULL, KW_EVAL_F64, threads, (size_t)1 << 30, &ev, NULL) == KW_OK) {
		out = kw_alloc((size_t)*count * sizeof(*out));
		if (out && (kw_eval_box(ev, output, start, box, out, NULL) != KW_OK ||
			    (t->part && kw_eval_box(ev, output, end, box, out + one, NULL) != KW_OK))) {
			kw_free(out);
			out = NULL;
		}
	}
	if (ev && !t->wrapped && kw_eval_wrapped(ev))
		note_wrapped(t, kw_eval_wrapped(ev));
	kw_eval_free(ev);
	t->evaluated += out != NULL;
	return out;
}

static bool same_values(const double *x, const double *y, int64_t n)
{
	return memcmp(x, y, sizeof(*x) * (size_t)n) == 0;
}

static void check_values(struct audit *t, const char *name, const double *x, const double *other, int64_t n)
{
	int64_t nan = 0, infinite = 0, zero = 0, first = 0;

	for (int64_t i = 0; i < n; i++) {
		nan += x[i] != x[i];
		infinite += isinf(x[i]) != 0;
		zero += x[i] == 0;
		first += x[i] == x[0];
	}
	if (nan)
		audit_label(t, "nan_output: %lld of %lld values of '%s' are NaN with the declared inputs", (long long)nan,
			    (long long)n, name);
	if (infinite)
		audit_label(t, "infinite_output: %lld of %lld values of '%s' are infinite with the declared inputs",
			    (long long)infinite, (long long)n, name);
	if (zero == n)
		audit_label(t, "zero_output: '%s' is 0 everywhere", name);
	else if (other && same_values(x, other, n) && (first == n || n == 1))
		audit_label(t, "constant_output: '%s' is %g whatever the inputs are", name, x[0]);
	else if (other && same_values(x, other, n))
		audit_label(t, "constant_output: '%s' does not change with the inputs", name);
	else if (first == n && n > 8)
		audit_label(t, "constant_output: all values of '%s' are the same (%g)", name, x[0]);
}

/* Which inputs change something: one at a time is filled anew. */
static void check_dependence(struct audit *t, struct trial *r)
{
	const struct kw_task *task = t->e->task;

	for (size_t i = 0; i < task->input_count; i++) {
		bool depends = kw_shape_count(&r->views[i].shape) == 0;
		bool fixed = task->inputs[i].dist == KW_DIST_ONES || task->inputs[i].dist == KW_DIST_ZEROS;

		for (size_t k = 0; k < t->e->output_count && !depends; k++) {
			int64_t n, m;
			double *x = evaluate(t, r, (int)k, 1, SMALL_ELEMENTS, &n), *y;
			for (uint64_t seed = 2; seed < 5 && x && !depends && !fixed; seed++) {
				fill(t, r, i, seed);
				y = evaluate(t, r, (int)k, 1, SMALL_ELEMENTS, &m);
				depends = !y || !same_values(x, y, n);
				kw_free(y);
			}
			depends = depends || !x;
			kw_free(x);
			fill(t, r, i, 1);
		}
		if (!depends && fixed)
			audit_label(t, "constant_input: '%s' always holds the same values", task->inputs[i].name);
		else if (!depends)
			audit_label(t, "ignores_input: no output depends on '%s'%s", task->inputs[i].name,
				    t->part ? ", as far as was looked at" : "");
	}
}

static void check_small(struct audit *t, struct trial *r)
{
	const struct kw_task *task = t->e->task;

	for (size_t k = 0; k < t->e->output_count; k++) {
		int64_t n, m;
		double *x = evaluate(t, r, (int)k, 1, SMALL_ELEMENTS, &n);
		double *again = evaluate(t, r, (int)k, 3, SMALL_ELEMENTS, &m), *other;

		if (x && again && !same_values(x, again, n))
			audit_label(t, "nondeterministic: '%s' differs between two evaluations", task->outputs[k].name);
		for (size_t i = 0; i < task->input_count; i++)
			fill(t, r, i, 2);
		other = evaluate(t, r, (int)k, 1, SMALL_ELEMENTS, &m);
		for (size_t i = 0; i < task->input_count; i++)
			fill(t, r, i, 1);
		if (x)
			check_values(t, task->outputs[k].name, x, other, n);
		kw_free(x);
		kw_free(again);
		kw_free(other);
	}
}

/* Returning zeros must not pass (a known hole of absolute tolerances). */
static void check_scale(struct audit *t, const struct trial *r, const struct kw_case *c)
{
	const struct kw_task *task = t->e->task;

	for (size_t k = 0; k < t->e->output_count; k++) {
		int64_t n;
		double *x, most = 0;

		if (!kw_dtype_is_float(task->outputs[k].dtype))
			continue;
		x = evaluate(t, r, (int)k, 2, 4096, &n);
		for (int64_t i = 0; x && i < n; i++)
			most = fabs(x[i]) > most ? fabs(x[i]) : most;
		kw_free(x);
		if (!x || most == 0)
			continue;
		if (task->tol_abs >= most)
			audit_label(t, "zeros_pass: the tolerance of %g accepts zeros; the largest value of '%s' is %.3g (%s)",
				    task->tol_abs, task->outputs[k].name, most, c->label);
		else if (most <= COMMON_ATOL)
			audit_label(t, "small_output: the largest value of '%s' is %.3g (%s); an absolute tolerance of %g "
				    "would accept zeros", task->outputs[k].name, most, c->label, COMMON_ATOL);
	}
}

/* ---- redundant operations, from the graph ---- */

static bool is_number(const struct kw_node *n, double v)
{
	return n->kind == KW_NODE_CONST && n->value == v;
}

/* Certainly not below 0 (or NaN). */
static bool never_negative(const struct kw_node *n, int depth)
{
	if (n->kind == KW_NODE_CONST)
		return n->value >= 0;
	if (n->kind == KW_NODE_DIM || n->dtype == KW_BOOL || n->dtype == KW_U8)
		return true;
	if (!n->op || depth > 20 || kw_expr_wraps(n))
		return false;
	switch (n->op->id) {
	case OP_EXP: case OP_EXP2: case OP_SQUARE: case OP_ABS: case OP_SQRT: case OP_RSQRT: case OP_SIGMOID: case OP_RELU:
	case OP_SOFTMAX: case OP_SOFTPLUS: case OP_RELU6: case OP_HARDSIGMOID: case OP_VAR: case OP_STD:
		return true;
	case OP_MUL:
		return n->args[0] == n->args[1] ||
		       (never_negative(n->args[0], depth + 1) && never_negative(n->args[1], depth + 1));
	case OP_ADD: case OP_DIV:
		return never_negative(n->args[0], depth + 1) && never_negative(n->args[1], depth + 1);
	case OP_MAXIMUM:
		return never_negative(n->args[0], depth + 1) || never_negative(n->args[1], depth + 1);
	case OP_SUM: case OP_MEAN: case OP_MAX: case OP_MIN: case OP_RESHAPE: case OP_TRANSPOSE: case OP_SLICE:
	case OP_BROADCAST_TO: case OP_EXPAND_DIMS: case OP_SQUEEZE:
		return never_negative(n->args[0], depth + 1);
	default:
		return false;
	}
}

static bool sums_over_one(const struct kw_node *n)
{
	for (int i = 0; i < n->axis_count; i++) {
		if (!sym_is(n->args[0]->shape[n->axes[i]].poly, 1))
			return false;
	}
	return n->axis_count > 0 && n->op->id != OP_ARGMAX && n->op->id != OP_ARGMIN;
}

static const char *redundant(const struct kw_node *n)
{
	const struct kw_node *x = n->arg_count > 0 ? n->args[0] : NULL, *y = n->arg_count > 1 ? n->args[1] : NULL;
	enum op_id inner = x ? op_id(x) : OP_NONE;

	switch (op_id(n)) {
	case OP_RELU: return never_negative(x, 0) ? "relu of what is never negative" : NULL;
	case OP_ABS: return never_negative(x, 0) ? "abs of what is never negative" : NULL;
	case OP_MAXIMUM: return (is_number(y, 0) && never_negative(x, 0)) ? "maximum with 0 of what is never negative" : NULL;
	case OP_MUL: return is_number(x, 1) || is_number(y, 1) ? "times 1" :
			    is_number(x, 0) || is_number(y, 0) ? "times 0" : NULL;
	case OP_ADD: return is_number(x, 0) || is_number(y, 0) ? "plus 0" : NULL;
	case OP_SUB: return is_number(y, 0) ? "minus 0" : x == y ? "x - x" : NULL;
	case OP_DIV: return is_number(y, 1) ? "divided by 1" : x == y ? "x / x" : NULL;
	case OP_POW: return is_number(y, 1) ? "to the power 1" : NULL;
	case OP_NEG: return inner == OP_NEG ? "two signs that cancel" : NULL;
	case OP_LOG: return inner == OP_EXP ? "log of exp" : inner == OP_SOFTMAX ? "log of softmax; log_softmax is exact" : NULL;
	case OP_EXP: return inner == OP_LOG ? "exp of log" : NULL;
	case OP_SQUARE: return inner == OP_SQRT ? "square of a square root" : NULL;
	case OP_FLOOR: case OP_CEIL: case OP_ROUND: case OP_TRUNC:
		return inner == OP_FLOOR || inner == OP_CEIL || inner == OP_ROUND || inner == OP_TRUNC ||
		       !kw_dtype_is_float(x->dtype) ? "rounding what is whole" : NULL;
	case OP_TRANSPOSE:
		for (int i = 0; inner == OP_TRANSPOSE && i < n->rank; i++) {
			if (x->attr[n->attr[i]] != i)
				return NULL;
		}
		return inner == OP_TRANSPOSE ? "two transposes that cancel" : NULL;
	case OP_RESHAPE: return inner == OP_RESHAPE ? "reshape of a reshape" : NULL;
	case OP_FLIP: return inner == OP_FLIP ? "flip of a flip" : NULL;
	case OP_SUM: case OP_MEAN: case OP_MAX: case OP_MIN: case OP_PROD:
		return sums_over_one(n) ? "a reduction over axes of size 1" : NULL;
	default: return NULL;
	}
}

static void check_graph(struct audit *t)
{
	for (size_t i = 0; i < t->e->node_count; i++) {
		const struct kw_node *n = t->e->nodes[i];
		const char *what = redundant(n);
		if (what)
			audit_label(t, "redundant_operation: line %d, column %d: %s", xe(t->e)->file_line + n->line - 1,
				    xe(t->e)->file_column + n->column - 1, what);
	}
	for (size_t p = 0; p < t->e->task->param_count; p++) {
		bool used = false;
		for (size_t i = 0; i < t->e->node_count; i++)
			used |= t->e->nodes[i]->kind == KW_NODE_PARAM && t->e->nodes[i]->index == (int)p;
		if (!used)
			audit_label(t, "ignores_param: '%s' is not used", t->e->task->params[p].name);
	}
}

enum kw_status kw_expr_audit(const struct kw_expr *e, struct kw_arena *a, const char ***labels, size_t *count,
			     struct kw_error *err)
{
	struct audit t = { .e = e, .a = a };
	struct trial r;
	struct kw_case own;
	const struct kw_case *small, *large;

	*labels = NULL;
	*count = 0;
	t.labels = kw_arena_calloc(a, MAX_LABELS + 1, sizeof(*t.labels));
	if (!t.labels)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the audit");
	if (kw_expr_is_external(e)) {
		audit_label(&t, "unknown_cost: the reference is %s: its flops are not known, and bytes are those of all inputs and outputs",
			    kw_task_reference_kind(e->task));
		audit_label(&t, "unknown_operation: what a reference in %s computes twice or for nothing cannot be read from it",
			    kw_task_reference_kind(e->task));
		*labels = t.labels;
		*count = t.count;
		return t.nomem ? kw_fail(err, KW_ERR_NOMEM, "", "no memory for the audit") : KW_OK;
	}
	check_graph(&t);
	small = largest(&t, SMALL_ELEMENTS);
	if (!small && invent(&t, a, &own))
		small = &own;
	t.part = !small;
	if (!small && e->task->case_count > 0)
		small = &e->task->cases[0];
	if (!small) {
		audit_label(&t, "not_evaluated: there is no case");
	} else {
		if (trial_init(&t, &r, small)) {
			check_small(&t, &r);
			check_dependence(&t, &r);
		}
		trial_free(&r);
		if (t.evaluated == 0)
			audit_label(&t, t.dear ? "not_evaluated: no case is small enough for the audit, and a part of the outputs needs nearly "
						 "all of the work"
					       : "not_evaluated: no case is small enough for the audit");
	}
	large = largest(&t, LARGE_ELEMENTS);
	if (!large && t.evaluated) {
		t.part = true;
		large = &e->task->cases[0];
	}
	if (large) {
		if (trial_init(&t, &r, large))
			check_scale(&t, &r, large);
		trial_free(&r);
	}
	*labels = t.labels;
	*count = t.count;
	return t.nomem ? kw_fail(err, KW_ERR_NOMEM, "", "no memory for the audit") : KW_OK;
}
