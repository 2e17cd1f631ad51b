/* naive.h - what the files of the naive C emitter share (naive.c, naive_tools.c, naive_plan.c, naive_value.c,
 * naive_move.c, naive_elem.c, naive_window.c, naive_stage.c); nobody else includes it.
 *
 * The graph is lowered but for the composites that have a loop of their own here. A *stage* is a node that gets an
 * array: an output, or a workspace. Every other node is computed where it is used: values are C expressions at an
 * index, and what they need first (the sum behind a mean) goes as statements into the scope of the deepest loop
 * variable that it depends on. So softmax's row maximum lands between the row loop and the column loop, which is
 * where one writes it.
 *
 * A scope is one loop that is still open; its text is what has been written inside it so far. Closing a loop adds
 * it to the text of its parent. Thread rule: one generator, one thread. */
#ifndef KW_EXPR_NAIVE_H
#define KW_EXPR_NAIVE_H

#include "expr/internal.h"

enum ctype { CT_F32, CT_F64, CT_I64 };    /* what values are computed in */

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
	bool openmp, flat;                /* flat: indices are offsets (naive.c) */
	bool divides;                     /* the helper of // and % was used */
	int names;
	int *uses;                        /* per node, by live nodes and outputs */
	const struct kw_node **consumer;  /* per node: the last one; NULL for outputs */
	bool *live, *stage;
	const char **array;               /* per node: where its values are; NULL: computed where used */
	enum kw_dtype *array_dtype;
	bool *written;                    /* per output */
	struct kw_buf body, workspaces, args;
	int workspace_count;
};

#define NAIVE_MAX_TEXT (4u << 20)

/* naive_tools.c */
void naive_nomem(struct gen *g);
bool naive_fail(struct gen *g, const struct kw_node *n, const char *what);
const char *naive_text(struct gen *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *naive_name(struct gen *g, const char *stem);              /* no name of the task */
const char *naive_size(struct gen *g, const struct kw_poly *p);       /* as an operand */
const char *naive_dim(struct gen *g, const struct kw_node *n, int axis);
bool naive_is_one(const struct kw_node *n, int axis);
enum ctype naive_ctype(enum kw_dtype d);
const char *naive_ctype_text(enum ctype c);
void naive_scope(struct gen *g, struct scope *s, struct scope *parent, const char *bound);
/* Adds the loop to its parent; pragma: NULL or a whole line. */
void naive_close(struct gen *g, struct scope *s, const char *pragma);
void naive_line(struct scope *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *naive_offset(struct gen *g, const struct kw_node *n, const struct at *ix);
/* array[offset] = v, converted to the array's dtype. v has n's ctype. */
void naive_store(struct gen *g, struct scope *s, const char *array, enum kw_dtype d, const char *offset, enum ctype c,
		 const char *v);

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
