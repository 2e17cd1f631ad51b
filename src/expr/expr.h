/* expr.h - tensor expressions: parse, infer, cost, evaluate (design 4, docs/expressions.md).
 *
 * A task's reference text becomes a typed graph once; a case binds the dims and gives numbers.
 *
 *     kw_expr_parse(task, arena, &e, err);             // graph with symbolic shapes and dtypes
 *     kw_expr_bind(e, case, arena, &b, err);           // concrete shapes
 *     kw_expr_cost(b, &cost);                          // flops, compulsory bytes
 *     kw_eval_new(b, views, opts, &ev, err);           // f64 (or emulated f32) evaluation
 *     kw_eval_box(ev, 0, start, count, out, err);      // any rectangular part of an output
 *
 * Names follow numpy and torch.nn.functional. The graph keeps composite operations (softmax,
 * layernorm, matmul, conv2d, ...) as single nodes; kw_expr_lower rewrites those that can be into
 * elementwise nodes and reductions, for authors. Everything lives in the given arena, immutable after
 * creation; an evaluator is used by several threads at once through kw_eval_box. */
#ifndef KW_EXPR_EXPR_H
#define KW_EXPR_EXPR_H

#include "core/task.h"

/* Node kinds. The op table (ops.def) gives each function its name, arity, attributes, kind, flops per
 * element, its f64 kernel and its documentation line (docs/expressions.md is made from it). */
enum kw_node_kind {
	KW_NODE_INPUT,       /* index: which input */
	KW_NODE_PARAM,       /* index: which param (a scalar) */
	KW_NODE_CONST,       /* value */
	KW_NODE_DIM,         /* a dim used as a number: dim expression */
	KW_NODE_ELEMENTWISE, /* args broadcast to the output shape */
	KW_NODE_REDUCE,      /* sum mean max min prod argmax argmin any all var ... over axes */
	KW_NODE_SCAN,        /* cumsum, cumprod along one axis */
	KW_NODE_MOVE,        /* reshape transpose slice concat broadcast flip pad: no arithmetic */
	KW_NODE_CONTRACT,    /* matmul, einsum, linear */
	KW_NODE_WINDOW,      /* conv, pooling */
	KW_NODE_GATHER,      /* take, embedding, gather, one_hot, topk */
	KW_NODE_COMPOSITE    /* softmax, layernorm, attention, cross_entropy, ...: see lower */
};
struct kw_op;            /* one row of the op table; opaque outside expr/ but for the calls below */
const char *kw_op_name(const struct kw_op *op);
/* What it computes, in a line, where its name alone leaves that open; NULL: it does not. */
const char *kw_op_meaning(const struct kw_op *op);

/* A symbolic size: an integer expression over dims. The polynomial is its canonical form (internal.h);
 * the intexpr holds the canonical text: kw_intexpr_text(s.expr). Of a DIM node, shape[0] is its value. */
struct kw_poly;
struct kw_sym {
	const struct kw_intexpr *expr;
	const struct kw_poly *poly;
};
struct kw_node {
	enum kw_node_kind kind;
	const struct kw_op *op;              /* NULL for INPUT PARAM CONST DIM */
	int id;                              /* position in kw_expr.nodes: args come first */
	enum kw_dtype dtype;                 /* computed type; the judge evaluates in f64 anyway */
	int rank;
	struct kw_sym shape[KW_MAX_RANK];
	struct kw_node **args;
	int arg_count;
	int index;                           /* INPUT, PARAM; output number of a multi-output op */
	double value;                        /* CONST */
	int axes[KW_MAX_RANK], axis_count;   /* REDUCE SCAN softmax…; normalised, ascending */
	bool keepdims;
	int64_t attr[16];                    /* op's own: stride, padding, dilation, groups, k, causal … */
	double fattr[4];                     /* eps, delta, scale … when given as numbers */
	const char *sattr;                   /* einsum text, "tanh" … */
	int line, column;
	int use_count;
};
struct kw_expr {
	const struct kw_task *task;
	struct kw_node **nodes;              /* topological */
	size_t node_count;
	struct kw_node **outputs;            /* one per task output, same order */
	size_t output_count;
};

/* Parses task->expr (or makes a graph of one unknown operation for a reference in C) against the declarations. Errors carry file:line:column and a caret line. Checks
 * outputs' shapes and dtypes against the declared ones. */
enum kw_status kw_expr_parse(const struct kw_task *task, struct kw_arena *a, struct kw_expr **out,
			     struct kw_error *err);
/* Call it behind every load. Fills outputs that are not declared (names y or y0, y1; dtype, shape) from the expression, and makes
 * a task with `grad` the backward pass: what arrives at each float output y becomes an input grad_y, and the outputs are
 * grad_x for each x of the list. Does nothing to other tasks. */
enum kw_status kw_expr_complete_task(struct kw_task *task, struct kw_error *err);
/* Rewrites composites into ELEMENTWISE, REDUCE, MOVE, SCAN nodes where a definition exists (softmax,
 * log_softmax, layernorm, rmsnorm, groupnorm, batchnorm, gelu, silu, cross_entropy, mse, huber, kl_div,
 * var, …); others stay. The result is a new graph on the same task. */
enum kw_status kw_expr_lower(const struct kw_expr *e, struct kw_arena *a, struct kw_expr **out,
			     struct kw_error *err);

/* The same with other formulas: those of textbooks and of well-known kernels, like mean(x * x) - mean(x) * mean(x) for a variance
 * or exp(x) - 1 for expm1. They lose digits elsewhere than the definitions do. form: 1 .. KW_EXPR_FORMS. The result is
 * lowered. says: what is computed how, for people ("expm1 as exp(x) - 1"). KW_NO: there is none of that number. */
#define KW_EXPR_FORMS 2
enum kw_status kw_expr_rephrase(const struct kw_expr *e, int form, struct kw_arena *a, struct kw_expr **out, struct kw_buf *says,
				struct kw_error *err);

/* Families decide which patterns fit. */
#define KW_FAMILY_LIST(X)                                                                  \
	X(POINTWISE, "pointwise")        /* elementwise with broadcasting */               \
	X(ROW_REDUCE, "row_reduce")      /* reductions over trailing axes, then elementwise (softmax, norms, sums) */ \
	X(COLUMN_REDUCE, "column_reduce")/* reductions over leading or middle axes */      \
	X(SCAN, "scan")                                                                    \
	X(MATMUL, "matmul")              /* contraction with pointwise epilogue, batched too */ \
	X(ATTENTION, "attention")                                                          \
	X(CONV, "conv")                                                                    \
	X(POOL, "pool")                                                                    \
	X(MOVE, "move")                  /* transpose, concat, slice … */                  \
	X(GATHER, "gather")                                                                \
	X(SORT, "sort")                  /* top-k */                                       \
	X(MIXED, "mixed")
enum kw_family {
#define X(e, name) KW_FAMILY_##e,
	KW_FAMILY_LIST(X)
#undef X
	KW_FAMILY_COUNT
};
const char *kw_family_name(enum kw_family f);
enum kw_family kw_expr_family(const struct kw_expr *e);
/* Length of the longest reduction behind an output under a bound case (1 when none). */
struct kw_bound;                             /* an expression with concrete shapes; opaque */
enum kw_status kw_expr_bind(const struct kw_expr *e, const struct kw_case *c, struct kw_arena *a,
			    struct kw_bound **out, struct kw_error *err);
int64_t kw_bound_reduction(const struct kw_bound *b, int output);
const struct kw_shape *kw_bound_input_shape(const struct kw_bound *b, int input);
const struct kw_shape *kw_bound_output_shape(const struct kw_bound *b, int output);
const struct kw_shape *kw_bound_node_shape(const struct kw_bound *b, int node_id);

struct kw_cost {
	double flops;                        /* arithmetic the definition needs; exp etc. count 1 */
	double bytes_read, bytes_written;    /* compulsory: each used input element once, each output once */
	double special;                      /* exp, tanh, div, sqrt … counted apart too */
};
void kw_expr_cost(const struct kw_bound *b, struct kw_cost *out);

/* Whether whole numbers that n computes may be beyond its dtype. They wrap there, after each operation, as in numpy and PyTorch;
 * i64 is computed as if it had no end. */
bool kw_expr_wraps(const struct kw_node *n);
/* Whether the smallest error can cost a whole step: floor, round, casts to whole numbers ... */
bool kw_expr_has_steps(const struct kw_expr *e);

/* Evaluation. F64 is the reference; F32 emulates a plain kernel that accumulates in f32 (every
 * elementwise result and running sum rounded to f32, sequential order) and rounds the output to its
 * dtype: the judge takes the tolerance from it. What the expression computes in f64 or i64 it leaves exact: COARSE
 * rounds that too, to the 24 bits of f32 but over the whole range, so that it errs 2^29 times as much as a plain
 * f64 kernel, or as the reference itself on whole numbers beyond 2^53: neither could be measured in f64. */
enum kw_eval_mode { KW_EVAL_F64, KW_EVAL_F32, KW_EVAL_COARSE };
struct kw_eval;
/* inputs: one view per task input (any layout); borrowed and must not change while the evaluator
 * lives. params: one value per task param, or NULL for the declared ones. threads: how many threads
 * kw_eval_prepare may use. max_bytes: memory for materialised nodes; KW_ERR_LIMIT if it does not do. */
enum kw_status kw_eval_new(const struct kw_bound *b, const struct kw_view *inputs, const double *params,
			   enum kw_eval_mode mode, int threads, size_t max_bytes, struct kw_eval **out,
			   struct kw_error *err);
void kw_eval_free(struct kw_eval *ev);
/* Same graph, new inputs (or new contents of the same inputs): drops materialised values. Must be called
 * whenever contents changed. */
enum kw_status kw_eval_reset(struct kw_eval *ev, const struct kw_view *inputs, struct kw_error *err);
/* From now on each operand of an addition, product, exp ... of an F32 or COARSE evaluator is off by up to 2^-23 of itself,
 * differently for each seed: evaluated several times, it shows how far kernels may differ that round as well as a plain
 * one, but elsewhere (Monte Carlo arithmetic; Parker, UCLA CSD-970002, 1997). What selects and compares sees exact values.
 * Seed 0: no longer. Drops materialised values. */
void kw_eval_disturb(struct kw_eval *ev, uint64_t seed);
/* Another draw of every random number: as many independent ones as are asked for; 0 is what the seed says. Drops materialised
 * values. */
void kw_eval_draw(struct kw_eval *ev, int64_t draw);
/* Whether an output depends on random numbers. */
bool kw_expr_is_random(const struct kw_expr *e, int output);
/* Materialises what boxes of the whole output share (e.g. batch statistics); optional: kw_eval_box does it
 * on first use under a lock. `whole` false: only a few boxes will be asked, so do not materialise what is
 * only cheaper when everything is needed. Not while another thread is in kw_eval_box of this evaluator, unless
 * that call is the first use itself. */
enum kw_status kw_eval_prepare(struct kw_eval *ev, bool whole, struct kw_error *err);
/* The box start..start+count of an output, row-major, into out (product of count doubles). Thread-safe. */
enum kw_status kw_eval_box(struct kw_eval *ev, int output, const int64_t *start, const int64_t *count,
			   double *out, struct kw_error *err);
/* An operation, of the lowered graph, whose whole numbers went beyond its dtype and wrapped in what was evaluated so far; NULL:
 * none did. */
const struct kw_node *kw_eval_wrapped(const struct kw_eval *ev);
/* How to cut the whole output into boxes that are cheap to evaluate (all boxes equal but the last ones);
 * about target_elements each. */
void kw_eval_chunk(const struct kw_eval *ev, int output, int64_t target_elements, int64_t count[KW_MAX_RANK]);

/* Flops of 64 single elements of each output; INFINITY where each needs nearly all that there is, as behind several layers. */
double kw_expr_sample_flops(const struct kw_bound *b);

/* A reference in C: its graph is one operation of which only the shapes are known, so that flops are 0, no reduction is known, and
 * the bytes are those of all inputs and outputs. Its evaluators ask for their values, whole outputs at once: values() gives
 * all of an output for these inputs, where it may keep them until forget(); thread-safe, both of them. */
bool kw_expr_is_external(const struct kw_expr *e);
struct kw_external {
	enum kw_status (*values)(void *arg, enum kw_eval_mode mode, int output, const struct kw_view *inputs, const double **out,
				 struct kw_error *err);
	void (*forget)(void *arg); /* the inputs have changed */
	void *arg;
};
enum kw_status kw_eval_new_external(const struct kw_bound *b, const struct kw_view *inputs, enum kw_eval_mode mode,
				    const struct kw_external *from, struct kw_eval **out, struct kw_error *err);

/* Emits naive C (a plan-form candidate for backend `c`): plain loops, one loop nest per node of the graph with
 * elementwise chains fused, the way one writes it first. openmp: `omp parallel for` on outer loops. The plan
 * lines are included. KW_NO when an operation has no emitter (err says which). */
enum kw_status kw_expr_emit_naive_c(const struct kw_expr *e, bool openmp, struct kw_buf *out, struct kw_error *err);
/* The same for a GPU: backend "cuda" or "opencl". Every node that needs an array of its own is a kernel in which a thread
 * computes one element; composites are lowered, so softmax is a kernel for the maxima of the rows, one for the sums and
 * one for the quotients. Indices have 64 bits. Three forms:
 *
 * BASELINE  what one writes first: f32 arithmetic, inputs and outputs as declared and contiguous (the plan passes no
 *           strides). Reductions of several axes, or to one number, go in steps so that each step has many threads.
 * F64       a reference (CUDA only). All arithmetic in f64, casts to narrow dtypes rounded as kw_dtype_from_f64 does,
 *           sums in an order that the text fixes. Inputs in their own dtypes and with the strides of the case,
 *           which the plan passes. Agrees with KW_EVAL_F64 to about 1e-13 of the largest term.
 * F32       a reference that rounds each elementwise result and each step of a sum to f32, in the order of KW_EVAL_F32, and
 *           the result to the output's dtype: the same numbers, but for the order of sums of f64 and of an einsum's sum
 *           over several letters, which that evaluator blocks. So sums are not split: one to a single number is the
 *           work of one thread.
 *
 * In a reference each output is an array of double, whatever its dtype (bind the plan with contiguous views of the
 * outputs), and the kernel that writes it (info->output) computes the `count` elements from `first` on, in row-major
 * order, to the beginning of that array: its last two arguments are 0:i64 and the whole count, and its grid is
 * cdiv(count, 256). A caller that wants a part changes these three in the bound plan. The kernels before it, which
 * fill workspaces, need to run once for the contents of the inputs; all workspaces are f64 or i64, and none is zeroed.
 *
 * out: the plan lines and the text; info may be NULL. KW_NO names what cannot be emitted: an operation without a
 * naive form (err says which), a reference for OpenCL, more kernels or arguments than a plan may have. KW_ERR_NOMEM also when
 * out is full. */
enum kw_naive_form { KW_NAIVE_BASELINE, KW_NAIVE_F64, KW_NAIVE_F32 };
enum { KW_NAIVE_MAX_KERNELS = 64, KW_NAIVE_MAX_WORKSPACES = 64 }; /* of a plan */
struct kw_naive_info {
	size_t kernel_count;
	int output[KW_NAIVE_MAX_KERNELS];    /* of a reference, by kernel: the output of which it computes a range; else -1 */
	int lanes[KW_NAIVE_MAX_KERNELS];     /* threads that an element has */
};
enum kw_status kw_expr_emit_naive_gpu(const struct kw_expr *e, const char *backend, enum kw_naive_form form,
				      struct kw_buf *out, struct kw_naive_info *info, struct kw_error *err);
/* The C text of an elementwise subgraph as one scalar expression; leaves are printed by the callback (which
 * returns false for "descend"); inputs and params are always for the callback. Functions are those of the
 * builder header (kw.h). KW_NO when an operation has no scalar form. */
typedef bool (*kw_leaf_fn)(void *arg, const struct kw_node *n, struct kw_buf *out);
enum kw_status kw_expr_emit_scalar_c(const struct kw_node *root, kw_leaf_fn leaf, void *arg, struct kw_buf *out,
				     struct kw_error *err);

/* Audit of design 4: labels only. Each finding is one line in the arena: "constant_output: …". Evaluates the
 * expression at small sizes. */
enum kw_status kw_expr_audit(const struct kw_expr *e, struct kw_arena *a, const char ***labels, size_t *count,
			     struct kw_error *err);

#endif
