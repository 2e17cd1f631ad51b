/* internal.h - what the files of expr/ share; nobody else includes it.
 *
 * Reading order: sym.c (symbolic sizes), ops.def + ops.c (the table), lex.c, parse.c (text to values), build*.c (values
 * to nodes: shapes, dtypes), define.c (definitions of composites in the language itself, lowering), bind.c, cost.c,
 * family.c, eval*.c, emit*.c, audit.c.
 *
 * The parser computes *values*: numbers, tuples, strings, nodes. Whole numbers and dims stay polynomials, so that
 * `reshape(x, (rows, cols // 2))` is decided while parsing; they become nodes where arithmetic meets a tensor. */
#ifndef KW_EXPR_INTERNAL_H
#define KW_EXPR_INTERNAL_H

#include "expr/expr.h"

#define MAX_NODES 8192
#define MAX_ARGS 64          /* of one call; concat of many */
#define MAX_SLOTS 24
#define MAX_DEPTH 100

/* ---- sym.c: polynomials with integer coefficients over dims and opaque divisions ----
 * Immutable, in an arena. NULL in gives NULL out, and NULL is "out of memory or over a limit". */
const struct kw_poly *sym_const(struct kw_arena *a, int64_t v);
const struct kw_poly *sym_name(struct kw_arena *a, const char *name);
const struct kw_poly *sym_add(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q);
const struct kw_poly *sym_sub(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q);
const struct kw_poly *sym_mul(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q);
const struct kw_poly *sym_div(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q);
const struct kw_poly *sym_mod(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q);
const struct kw_poly *sym_min(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q);
const struct kw_poly *sym_max(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q);
const struct kw_poly *sym_parse(struct kw_arena *a, const char *text); /* text of an intexpr */
bool sym_is_const(const struct kw_poly *p, int64_t *v);
bool sym_is(const struct kw_poly *p, int64_t v);
bool sym_eq(const struct kw_poly *p, const struct kw_poly *q);         /* certainly equal */
bool sym_differs(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q); /* certainly not */
char *sym_text(struct kw_arena *a, const struct kw_poly *p);
/* KW_ERR_INPUT names the expression: overflow, division by zero, unknown name. */
enum kw_status sym_eval(const struct kw_poly *p, const struct kw_intenv *env, int64_t *out, struct kw_error *err);

/* ---- values ---- */
enum value_kind { V_NONE, V_INT, V_FLOAT, V_BOOL, V_STR, V_NODE, V_TUPLE, V_SLICE, V_ELLIPSIS };
struct value {
	enum value_kind kind;
	const struct kw_poly *i;          /* INT */
	double f;                         /* FLOAT, BOOL */
	const char *s;                    /* STR */
	struct kw_node *n;                /* NODE */
	struct value *items;              /* TUPLE; SLICE: start, stop, step (NONE where left out) */
	int count;
	int line, column;                 /* in the expression text, from 1 */
};

/* ---- ops ---- */
enum op_id {
	OP_NONE,
#define X(id, name, aliases, kind, sig, build, flops, special, doc) OP_##id,
#include "expr/ops.def"
#undef X
	OP_COUNT
};
struct builder;
struct call;
typedef bool (*build_fn)(struct builder *b, struct call *c, struct value *out);
struct kw_op {
	enum op_id id;
	const char *name, *aliases;       /* aliases: blank separated */
	enum kw_node_kind kind;
	const char *sig;                  /* "x, axis|dim=-1": names, alternatives, defaults */
	build_fn build;
	double flops, special;            /* per output element, elementwise only; others in cost.c */
	const char *doc;
};
const struct kw_op *op_get(enum op_id id);
const struct kw_op *op_find(struct kw_str name);          /* by name or alias; not the hidden "_x" ones */
const struct kw_op *op_find_hidden(struct kw_str name);
const char *op_nearest(const char *word);
static inline enum op_id op_id(const struct kw_node *n) { return n->op ? n->op->id : OP_NONE; }

struct call {
	const struct kw_op *op;
	const char *name;                 /* as written */
	int line, column;
	struct value slot[MAX_SLOTS];
	const char *slot_name[MAX_SLOTS];
	bool given[MAX_SLOTS];
	int slot_count;                   /* builders may append extras for the definition */
};

/* ---- nodes ---- */
struct xnode {
	struct kw_node n;                 /* first: a kw_node pointer is an xnode pointer */
	bool weak;                        /* a number, not a tensor: does not widen dtypes */
	struct value *slot;               /* the call, for lowering; NULL for leaves and operators */
	const char **slot_name;
	int slot_count;
	const struct kw_poly *sym[3 * KW_MAX_RANK]; /* op's symbolic attributes: slice start, pad widths, … */
};
static inline struct xnode *xn(const struct kw_node *n) { return (struct xnode *)(uintptr_t)n; }

enum constraint_kind { CHECK_EQ, CHECK_GE };
struct constraint {                       /* a OP b, checked at bind when it was undecided */
	enum constraint_kind kind;
	const struct kw_poly *a, *b;
	const char *what;
	int line, column;
};
struct xexpr {
	struct kw_expr e;                 /* first */
	struct constraint *checks;
	size_t check_count, check_cap;
	size_t node_cap;
	const char *file, *text;
	int file_line, file_column;
};
static inline const struct xexpr *xe(const struct kw_expr *e) { return (const struct xexpr *)(const void *)e; }

struct name_entry {
	const char *name;
	struct value v;
};
struct builder {
	struct kw_arena *a;
	const struct kw_task *task;
	struct xexpr *x;
	struct kw_error *err;
	enum kw_status status;            /* first failure */
	int line, column;                 /* where nodes made now come from */
	bool defining;                    /* inside a definition: places are the call's, hidden ops are known */
	int define_depth;
	struct name_entry *names;
	size_t name_count, name_cap;
};

/* ---- parse.c ---- */
/* Runs a block; *last is the value of the last statement. Names are added to b->names. */
bool run_block(struct builder *b, const char *text, bool single, struct value *last);
/* Fails at a place of the text with a caret; returns false. */
bool bfail(struct builder *b, int line, int column, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool bnomem(struct builder *b);
void set_name(struct builder *b, const char *name, const struct value *v);
/* First failing check under env; err names the place with a caret. */
enum kw_status run_checks(const struct xexpr *x, const struct kw_intenv *env, const char *where,
			  struct kw_error *err);
enum kw_status fail_at(const struct xexpr *x, int line, int column, struct kw_error *err, const char *text);

/* ---- expr.c ---- */
/* Runs another text over a task's declarations; what its names are then. False: b->status. */
bool expr_run(struct builder *b, const struct kw_task *t, struct kw_arena *a, const char *text, struct kw_error *err);
const struct value *expr_name(struct builder *b, const char *name); /* NULL: none */

/* ---- divide.c ---- */
bool statement_names(const char *text, const char *name);

/* ---- build.c: the tools of builders ---- */
struct kw_node *new_node(struct builder *b, enum kw_node_kind kind, enum op_id op, enum kw_dtype d, int rank);
struct kw_node *finish(struct builder *b, struct kw_node *n);           /* adds it, or finds an equal one */
struct kw_node *finish_call(struct builder *b, struct kw_node *n, const struct call *c); /* remembers slots */
struct value v_node(struct kw_node *n);
struct value v_int(const struct kw_poly *p);
bool to_node(struct builder *b, const struct value *v, struct kw_node **out);
bool set_args(struct builder *b, struct kw_node *n, struct kw_node *const *args, int count);
bool broadcast(struct builder *b, struct kw_node *n, struct kw_node *const *args, int count);
enum kw_dtype promote(struct kw_node *const *args, int count);
enum kw_dtype to_float(enum kw_dtype d);
bool require_eq(struct builder *b, const struct kw_poly *p, const struct kw_poly *q, const char *what);
bool require_ge(struct builder *b, const struct kw_poly *p, const struct kw_poly *q, const char *what);
const char *shape_text(struct builder *b, const struct kw_node *n);
struct kw_node *make(struct builder *b, enum op_id id, int count, ...); /* elementwise from nodes */
bool apply(struct builder *b, enum op_id id, const struct value *args, int count, struct value *out);
/* Slots. */
int slot_index(const struct call *c, const char *name);
bool has(const struct call *c, const char *name);                        /* present and not None */
bool get_node(struct builder *b, const struct call *c, const char *name, struct kw_node **out);
bool get_poly(struct builder *b, const struct call *c, const char *name, const struct kw_poly **out);
bool get_i64(struct builder *b, const struct call *c, const char *name, int64_t *out);
bool get_bool(struct builder *b, const struct call *c, const char *name, bool *out);
bool get_str(struct builder *b, const struct call *c, const char *name, const char **out);
bool get_axis(struct builder *b, const struct call *c, const char *name, int rank, int *out);
/* Ascending, distinct; None: all axes. */
bool get_axes(struct builder *b, const struct call *c, const char *name, int rank, int *axes, int *count);
/* n numbers from a number or a tuple. */
bool get_tuple(struct builder *b, const struct call *c, const char *name, int n, int64_t *out);
void add_slot(struct call *c, const char *name, const struct value *v);
bool call_op(struct builder *b, const struct kw_op *op, const char *name, int line, int column,
	     const struct value *pos, int npos, const char *const *key, const struct value *kval, int nkey,
	     struct value *out);
bool index_value(struct builder *b, const struct value *v, const struct value *index, int count, int line,
		 int column, struct value *out);
struct kw_node *make_reduce(struct builder *b, enum op_id id, struct kw_node *x, const int *axes, int count,
			    bool keepdims);

#define X(id, name, aliases, kind, sig, build, flops, special, doc) build_fn_decl(build)
#define build_fn_decl(f) bool f(struct builder *b, struct call *c, struct value *out);
#include "expr/ops.def"
#undef X

/* ---- define.c ---- */
/* The block over the call's slots; its last value. */
bool run_definition(struct builder *b, const struct call *c, const char *text, struct value *out);
const char *op_definition(enum op_id id); /* NULL: primitive */
/* Fills kw_sym.expr of every node from its polynomial. */
enum kw_status finish_sizes(struct kw_expr *e, struct kw_arena *a, struct kw_error *err);
void count_uses(struct kw_expr *e);
void drop_unused(struct kw_expr *e);
/* keep: op ids that stay composite; NULL: none. */
enum kw_status lower_except(const struct kw_expr *e, bool (*keep)(const struct kw_node *), struct kw_arena *a,
			    struct kw_expr **out, struct kw_error *err);
/* Puts in place of each node the block that text_of gives, in which its one argument is x; NULL: it stays. */
typedef bool (*text_of_fn)(const struct kw_node *n, struct kw_arena *a, const char **text); /* false: no memory */
enum kw_status rewrite(const struct kw_expr *e, text_of_fn text_of, struct kw_arena *a, struct kw_expr **out,
		       struct kw_error *err);

/* grad.c: turns a task into its backward pass; and the graph of that from the graph of the expression. */
enum kw_status grad_task(struct kw_task *t, struct kw_error *err);
enum kw_status grad_of(const struct kw_expr *forward, struct kw_arena *a, struct kw_expr **out, struct kw_error *err);

/* recurrent.c */
bool is_recurrent(const struct kw_node *n);
void recurrent_cost(const struct kw_bound *b, const struct kw_node *n, struct kw_cost *c);

/* external.c */
bool external_outputs(struct builder *b, const struct kw_task *t);

/* docs.c: the text of docs/expressions.md. */
void expr_docs(struct kw_buf *out);

/* ---- bind.c ---- */
struct kw_bound {
	const struct kw_expr *e;
	const struct kw_case *c;
	struct kw_intenv env;
	struct kw_shape *shape;              /* per node */
	int64_t (*sym)[3 * KW_MAX_RANK];     /* per node: xnode.sym as numbers */
};

/* A box of a node: start and count per axis. */
struct box {
	int64_t start[KW_MAX_RANK], count[KW_MAX_RANK];
};
int64_t box_volume(const struct box *x, int rank);
void box_whole(const struct kw_shape *s, struct box *out);
/* need.c: the box of args[i] that a box of n needs (for data-dependent reads: the whole axis). */
void need_box(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int i, struct box *out);
/* Flops and special functions that a box of an output needs, each node evaluated once; Inf: it cannot be said (cost.c). */
double expr_box_flops(const struct kw_bound *b, int output, const int64_t *start, const int64_t *count);

void need_recurrent(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg, struct box *out);

/* einsum labels of a CONTRACT node: sattr is "ab,bc->ac" over axis letters. */
struct labels {
	char in[2][KW_MAX_RANK + 1], out[KW_MAX_RANK + 1], sum[2 * KW_MAX_RANK + 1];
	int operands;
};
void contract_labels(const struct kw_node *n, struct labels *l);

/* Window attributes: attr[0] spatial rank, then blocks of three. */
struct window {
	int nd;
	int64_t kernel[3], stride[3], pad[3], dilation[3], out_pad[3], groups;
	bool count_pad;
};
void window_get(const struct kw_bound *b, const struct kw_node *n, struct window *w);

#endif
