/* eval_internal.h - what the files of the evaluator share.
 *
 * eval_node() gives a box of a node as contiguous doubles: from a materialised node, from the memo of this call, or by
 * its kernel, which asks for the boxes of its arguments the same way. Values live on a scratch stack: a kernel's output
 * is pushed before the values it asks for, and those are popped when it returns, unless one of them was remembered. */
#ifndef KW_EXPR_EVAL_INTERNAL_H
#define KW_EXPR_EVAL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "expr/internal.h"

/* From the seeds of one draw to those of the next: a prime beyond what tasks use as seeds. */
#define DRAW_STEP 1000000000039

/* Above this many elements a reduction asks for its argument in slabs. */
#define SLAB_ELEMENTS 32768

/* One loop, compiled for several machines, chosen when the program is loaded. (Sanitizers and ifuncs do not mix.)
 * Static only: in other files clang 14 calls such a function by a name that is not there. */
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || defined(KW_NO_CLONES)
#define CLONES
#elif defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define CLONES
#else
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

struct scratch_block {
	struct scratch_block *next;
	size_t used, cap;                 /* doubles */
	double data[];
};
struct memo {
	int node, before;                 /* before: the node's previous entry, -1 none */
	struct box box;
	const double *data;
};
struct mark {
	struct scratch_block *block;
	size_t used;
	size_t memo_count;
};
struct ctx {
	struct kw_eval *ev;
	struct ctx *next;                 /* in the pool */
	struct scratch_block *first, *block;
	struct memo *memo;
	size_t memo_count, memo_cap;
	int *head;                        /* per node: latest memo entry, -1 none */
	size_t live_bytes;
	enum kw_status status;
	struct kw_error err;
};
struct material {
	bool wanted;
	double *data;
	int64_t count;
};
struct kw_eval {
	struct kw_arena arena;
	struct kw_expr *e;                /* lowered */
	struct kw_bound *b;
	struct kw_view *inputs;
	double *params;
	atomic_int wrapped;               /* 1 + id of a node whose whole numbers went beyond its dtype; 0: none did */
	bool f32, coarse;                 /* coarse: f64 and i64 nodes lose as many bits as f32 has fewer */
	uint64_t noise;                   /* 0: none */
	int64_t draw;                     /* added to every seed, times DRAW_STEP */
	int threads;
	size_t max_bytes, used_bytes;
	struct material *mat;             /* per node */
	pthread_mutex_t lock;
	atomic_int prepared;              /* 0 no, 1 for few boxes, 2 for the whole */
	struct ctx *pool;
	struct kw_external external;      /* values NULL: there is none */
};
enum kw_status eval_external(struct kw_eval *ev, int output, const struct box *x, double *out, struct kw_error *err);

struct ctx *ctx_get(struct kw_eval *ev);
void ctx_put(struct ctx *c);
double *ctx_alloc(struct ctx *c, int64_t count);
struct mark ctx_mark(const struct ctx *c);
void ctx_release(struct ctx *c, struct mark m);
bool ctx_fail(struct ctx *c, enum kw_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
const double *eval_node(struct ctx *c, const struct kw_node *n, const struct box *x);
bool eval_into(struct ctx *c, const struct kw_node *n, const struct box *x, double *out); /* copies if it must */
/* Operand k of n, which n computes with: with noise, if there is any. */
const double *eval_operand(struct ctx *c, const struct kw_node *n, int k, const struct box *x);

static inline const struct kw_shape *node_shape(const struct ctx *c, const struct kw_node *n)
{
	return &c->ev->b->shape[n->id];
}

/* What the results and running sums of a node are rounded to. */
enum rounding { ROUND_NONE, ROUND_F32, ROUND_24_BITS };
static inline enum rounding rounds(const struct ctx *c, const struct kw_node *n)
{
	if (n->dtype == KW_F64 || n->dtype == KW_I64)
		return c->ev->coarse ? ROUND_24_BITS : ROUND_NONE;
	return c->ev->f32 && kw_dtype_is_float(n->dtype) ? ROUND_F32 : ROUND_NONE;
}
/* To nearest even, like f32, but with f64's exponents. */
static inline double keep_24_bits(double v)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	u = (u + 0x0fffffff + (u >> 29 & 1)) & ~(uint64_t)0x1fffffff;
	memcpy(&v, &u, sizeof(v));
	return v;
}
static inline double rounded(enum rounding r, double v)
{
	return r == ROUND_NONE ? v : r == ROUND_F32 ? (double)(float)v : keep_24_bits(v);
}

/* Kernels: out has box_volume(x) doubles. */
bool eval_elementwise(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_reduce(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_scan(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_move(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_contract(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_window(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_gather(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_recurrent(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);
bool eval_input(struct ctx *c, const struct kw_node *n, const struct box *x, double *out);

/* eval_whole.c: one run of whole numbers, as run() of eval_elem.c does it of floats; and what follows it: division by 0, and
 * wrapping to n's dtype. */
bool whole_is_exact(const struct kw_node *n); /* whether whole_run() computes it, in 64 bits instead of in doubles */
void whole_run(const struct kw_node *n, const double *const *p, const bool *repeated, double *out, int64_t count, bool *beyond);
void whole_not(const double *p, double *out, int64_t count);
void whole_finish(struct ctx *c, const struct kw_node *n, double *out, int64_t count, bool beyond);

/* eval_math.c: vectorised loops. */
void vec_round(enum rounding r, double *x, int64_t n);
void vec_copy(const double *x, double *out, int64_t n);
void vec_disturb(uint64_t seed, const double *x, double *out, int64_t n); /* each by up to 2^-23 of itself */
typedef void (*vec1_fn)(const double *x, double *out, int64_t n);
typedef void (*vec2_fn)(const double *x, const double *y, double *out, int64_t n);
typedef void (*vec2s_fn)(const double *x, double y, double *out, int64_t n);
vec1_fn vec_unary(enum op_id id);
vec2_fn vec_binary(enum op_id id);
vec2s_fn vec_binary_scalar(enum op_id id);   /* y one number; NULL when there is none */
vec2s_fn vec_scalar_binary(enum op_id id);   /* the first operand is the number: f(array, number) */
void vec_where(const double *c, const double *x, const double *y, double *out, int64_t n);
double vec_sum(const double *x, int64_t n);
double vec_max(const double *x, int64_t n);
double vec_min(const double *x, int64_t n);
double vec_dot(const double *x, const double *y, int64_t n);
void vec_axpy(enum rounding r, double a, const double *x, double *y, int64_t n);  /* y += a x */
/* Four of them in order: y += a[0] x[0..] + a[sa] x[sx..] + … */
void vec_axpy4(enum rounding r, const double *a, int64_t sa, const double *x, int64_t sx, double *y, int64_t n);
void vec_add(enum rounding r, const double *x, double *y, int64_t n);             /* y += x */

#endif
