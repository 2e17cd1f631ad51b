/* naive.h - what the files of the naive emitters share (naive.c, naive_gpu.c, naive_tools.c, naive_plan.c, naive_split.c,
 * naive_value.c, naive_move.c, naive_elem.c, naive_window.c, naive_stage.c); nobody else includes it.
 *
 * The graph is lowered but for the composites that have a loop of their own here. A *stage* is a node that gets an
 * array: an output, or a workspace. Every other node is computed where it is used: values are C expressions at an
 * index, and what they need first (the sum behind a mean) goes as statements into the scope of the deepest loop
 * variable that it depends on. So softmax's row maximum lands between the row loop and the column loop, which is
 * where one writes it.
 *
 * For GPUs every stage is a kernel whose threads have an element each, so a value that several threads need (a row's
 * maximum) is a stage too, composites are lowered all the way, and the loops that are left are those of reductions.
 *
 * A scope is one loop that is still open; its text is what has been written inside it so far. Closing a loop adds
 * it to the text of its parent. Thread rule: one generator, one thread. */
#ifndef KW_EXPR_NAIVE_H
#define KW_EXPR_NAIVE_H

#include "expr/internal.h"

enum ctype { CT_F32, CT_F64, CT_I64 };    /* what values are computed in */

struct language {                         /* what differs between C, CUDA and OpenCL C */
	const char *backend;
	bool gpu;                         /* a kernel a stage */
	const char *f32_suffix;           /* of the functions of math.h */
	const char *i64_min, *i64_max, *inf, *nan;
	const char *min, *max, *cdiv;     /* what the functions of sizes are called */
	const char *includes, *helper, *kernel, *global; /* before a helper, a kernel, a pointer */
	const char *thread;               /* this thread's number */
};
struct kernel {                           /* of a GPU form */
	const char *total, *plan_total;   /* how many threads have work, in the language and in a plan */
	const char *body;
	int output;                       /* of a reference: the one of which it computes a range; else -1 */
	int lanes;                        /* threads that an element has: 1, or those of a warp (naive_value.c) */
};

struct known {                            /* a value that has a name already */
	const struct kw_node *n;
	const char *key, *name;
	struct known *next;
};
struct scope {
	struct scope *parent;             /* NULL: the function's body */
	int depth;
	const char *var, *bound;
	struct kw_buf text;
	struct known *known;
};
struct at {                               /* an index along one axis */
	const char *text;
	struct scope *scope;              /* the deepest loop that it depends on */
};
struct gen {
	const struct kw_expr *e;
	const struct kw_task *task;
	struct kw_arena *a;
	struct kw_error *err;
	enum kw_status status;            /* first failure */
	const struct language *lang;
	bool openmp, flat;                /* flat: indices are offsets (naive.c) */
	bool wide;                        /* a reference: floats are doubles, and inputs have strides */
	bool rounds;                      /* a reference that rounds each result to f32 */
	struct kw_intenv sizes;           /* of the task's first case; which form is fast depends on them, and nothing else */
	int names;
	int *uses;                        /* per node, by live nodes and outputs */
	const struct kw_node **consumer;  /* per node: the last one; NULL for outputs */
	bool *live, *stage;
	const char **array;               /* per node: where its values are; NULL: computed where used */
	enum kw_dtype *array_dtype;
	bool *written;                    /* per output */
	struct kw_buf body, workspaces, args, numbers;
	int workspace_count;
	struct kernel *kernels;
	size_t kernel_count;
	const char *first, *count;        /* a reference's range */
	const char *lane;                 /* in a kernel with lanes: this thread's number among them; else NULL */
};

#define NAIVE_MAX_TEXT (4u << 20)
enum { NAIVE_LANES = 32, NAIVE_LANE_TERMS = 8 }; /* that a lane brings at once */

/* naive_tools.c */
void naive_nomem(struct gen *g);
bool naive_fail(struct gen *g, const struct kw_node *n, const char *what);
const char *naive_text(struct gen *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *naive_name(struct gen *g, const char *stem);              /* no name of the task */
const char *naive_size(struct gen *g, const struct kw_poly *p);       /* as an operand */
const char *naive_dim(struct gen *g, const struct kw_node *n, int axis);
bool naive_names(const char *text, struct kw_str word); /* whether it is a word of the text */
/* a * b of sizes. Numbers have no type of their own: what an int cannot hold comes as one number, which a compiler takes as a long. */
const char *naive_product(struct gen *g, const char *a, const char *b);
bool naive_is_one(const struct kw_node *n, int axis);
enum ctype naive_ctype(const struct gen *g, enum kw_dtype d);
const char *naive_ctype_text(enum ctype c);
void naive_scope(struct gen *g, struct scope *s, struct scope *parent, const char *bound);
/* Adds the loop to its parent; pragma: NULL or a whole line. */
void naive_close(struct gen *g, struct scope *s, const char *pragma);
void naive_line(struct scope *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *naive_offset(struct gen *g, const struct kw_node *n, const struct at *ix);
/* Whether n is an input with strides of its own: every input of a reference, and one whose task says so. */
bool naive_is_strided(const struct gen *g, const struct kw_node *n);
/* What a stride of such an input is called. */
const char *naive_stride(struct gen *g, int input, int axis);
/* array[offset] = v, converted to the array's dtype. v has n's ctype. */
void naive_store(struct gen *g, struct scope *s, const char *array, enum kw_dtype d, const char *offset, enum ctype c,
		 const char *v);

/* A name of the task that means something else in the language gets an underscore. */
const char *naive_ident(struct gen *g, const char *name);
/* v rounded as the form rounds a result of dtype d. */
const char *naive_rounded(struct gen *g, enum kw_dtype d, const char *v);
/* acc = acc op v, rounded likewise. */
void naive_add(struct gen *g, struct scope *s, enum kw_dtype d, const char *acc, char op, const char *v);
/* The helpers that the text calls. */
void naive_helpers(const struct gen *g, const char *text, struct kw_buf *out);
/* One tab per open brace. */
void naive_indent(struct kw_buf *out, struct kw_str text);
void naive_declare(struct gen *g);                /* the arguments of the task */
bool naive_prepare(struct gen *g);
/* Fails where a plan could not hold what was emitted. */
void naive_limit(struct gen *g);
void naive_release(struct gen *g);

/* naive_split.c: reductions of several axes or to one number in steps, so that each has many threads. */
enum kw_status naive_split(const struct kw_expr *e, struct kw_arena *a, struct kw_expr **out, struct kw_error *err);

/* naive.c */
extern const struct language naive_c;
void naive_emit_all(struct gen *g);
/* Elementwise on tensors of one shape and on numbers: one index will do. */
bool naive_is_flat(struct gen *g, const struct kw_node *n, const struct kw_node *root);
/* Lines "PLAN,DECLARATION" become the plan's or the function's arguments; text: only those that it names. */
void naive_arguments(struct kw_buf *out, struct kw_str lines, bool plan, const char *text);

/* naive_gpu.c: one kernel: root is its body, where ix are the indices of the thread's element of n but for the axes
 * of skip. output: as in struct kernel. Returns the name of the thread's number. */
const char *naive_begin_kernel(struct gen *g, const struct kw_node *n, unsigned skip, int output, struct kernel *k,
			       struct scope *root, struct at *ix);
void naive_end_kernel(struct gen *g, struct kernel *k, struct scope *root);
/* All of n into array, or the range of an output. */
void naive_gpu_nest(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d, int output);

/* naive_plan.c: which nodes get arrays, and in which order a nest runs. */
void naive_plan(struct gen *g);
/* order[i]: the axis of n that the i-th loop runs over. */
void naive_loop_order(struct gen *g, const struct kw_node *n, int *order);
bool naive_is_template(const struct kw_node *n);  /* has a loop nest of its own in naive_stage.c */
bool naive_keeps(const struct kw_node *n);        /* stays composite when lowered */

/* naive_value.c: the value of n at ix as a C expression of n's ctype, or converted. cur: the innermost open loop. */
const char *naive_value(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *cur);
const char *naive_value_as(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *cur, enum ctype c);
const char *naive_cast(struct gen *g, const char *v, enum ctype from, enum ctype to);
/* A name for an expression, in scope s; names and numbers stay themselves. */
const char *naive_let(struct gen *g, struct scope *s, enum ctype c, const char *stem, const char *v);
void naive_arg_index(struct gen *g, const struct kw_node *n, const struct kw_node *arg, const struct at *ix,
		     struct at *out);
/* Whether n, as it is computed in one kernel, is few elements behind a long running sum: then each has a warp. */
bool naive_wants_lanes(struct gen *g, const struct kw_node *n);
/* The deepest scope that n at ix depends on. */
struct scope *naive_deepest(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *cur);
const char *naive_load(struct gen *g, const struct kw_node *n, const struct at *ix);

/* naive_move.c: moves and reads by index: the same value at another index. */
const char *naive_move(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s);
const char *naive_gather(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s);

/* naive_elem.c: an elementwise operation on its arguments' values. */
const char *naive_elem(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s);
const char *naive_number(struct gen *g, double v, enum ctype c);

/* naive_window.c: convolution and pooling at an index. */
const char *naive_window(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s);

/* naive_stage.c: writes all of n into array. */
void naive_template(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d,
		    const struct kw_node *twin, const char *twin_array, enum kw_dtype twin_dtype);
void naive_flush(struct gen *g, struct scope *root);

#endif
