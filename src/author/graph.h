/* graph.h - what the author knows of a task: its index space and which part of it each value varies
 * over.
 *
 * Axes of all tensors are matched through the graph (broadcasting aligns them, a reshape splits or
 * joins them, a transpose permutes them) until the whole expression is indexed by one list of
 * **atoms**: axes that no node cuts any further, in the memory order of the largest tensor.
 * Neighbouring atoms that every tensor treats alike are merged. So a softmax over [batch, heads, s,
 * s] becomes rows x cols, and a group norm over [n, c, h, w] becomes rows (n, groups) x segments
 * (channels) x cols (h w).
 *
 * Every value has a mask of the atoms that it varies over. Three loops walk the space:
 *
 *     row (kept atoms, shared out to threads)  >  seg (reduced, or kept and outer)  >  col
 * (innermost, vectorised)
 *
 * Everything lives in the arena given to kw_au_analyse. */
#ifndef KW_AUTHOR_GRAPH_H
#define KW_AUTHOR_GRAPH_H

#include "expr/expr.h"

#define KW_AU_ATOMS 24
#define KW_AU_RANK  16

struct kw_au_atom {
	const char *size; /* integer expression over the task's dims */
	const char *var;  /* the kernel's name for the size: "rows", "cols", "seg_dim0" */
	int64_t probe;	  /* the size at the probe dims */
	bool reduced;
};
/* A task tensor as the kernel sees it: its atoms outermost first. Outputs are contiguous; an input
 * whose axes are atoms may have any strides but for the last one. */
struct kw_au_tensor {
	bool output, used, given;
	int index; /* among the task's inputs or outputs */
	enum kw_dtype dtype;
	const char *name, *c_name; /* in the task; in the kernel (never a word of the pattern) */
	int atoms[KW_AU_RANK], atom_count;
	int axis[KW_AU_RANK];	/* the tensor's axis that is just this atom; -1: merged or cut */
	uint32_t mask, strides; /* strides: axes whose stride the text uses, passed as arguments */
};
enum kw_au_form {
	KW_AU_POINTWISE, /* nothing reduced */
	KW_AU_ROWS,	 /* the innermost atom is reduced */
	KW_AU_COLUMNS	 /* the innermost atom is kept, something before it is reduced */
};
struct kw_au_node {
	const struct kw_node *node;
	uint32_t mask; /* atoms it varies over */
	int stage;     /* how many reduction passes must be over before it is known */
	bool total;    /* reduces the kept atoms too: known after all rows */
	bool live;     /* the root needs it */
	bool same;     /* no arithmetic: its value is its first argument's */
};
struct kw_au_graph {
	const struct kw_task *task;
	const struct kw_expr *expr; /* lowered */
	struct kw_arena *arena;
	struct kw_au_atom atoms[KW_AU_ATOMS];
	int atom_count;
	uint32_t kept, reduced;	      /* masks */
	struct kw_au_tensor *tensors; /* inputs, then outputs, then `given` if there is one */
	size_t tensor_count;
	struct kw_au_node *nodes; /* by node id */
	int stage_count;	  /* reduction passes */
	bool has_total;
	enum kw_au_form form;
	/* The three loops: rows = atoms row_atoms.., segs, col (one atom; -1: none, one element).
	 */
	const struct kw_node *root, *given;
	int row_atoms[KW_AU_ATOMS], row_count, seg_atoms[KW_AU_ATOMS], seg_count, col_atom;
};

/* What to analyse: the whole expression, or a part of it for patterns with more than one space
 * (matmul). */
struct kw_au_part {
	const struct kw_node *root; /* only what this value needs; NULL: the outputs */
	const struct kw_node
		*given; /* a value that comes from elsewhere: nothing behind it is looked at */
	int apart;	/* the last atoms that must not be merged */
};
/* part NULL: everything. KW_NO with *why set (in the arena) when the expression has no such form.
 */
enum kw_status kw_au_analyse(const struct kw_expr *lowered, const struct kw_au_part *part,
			     struct kw_arena *a, struct kw_au_graph **out, const char **why,
			     struct kw_error *err);
const char *kw_au_op(const struct kw_node *n); /* "" when it has none */
/* Follows nodes that change no value under atom indexing (moves; reductions over axes of size 1) to
 * what they show. */
const struct kw_node *kw_au_origin(const struct kw_au_graph *g, const struct kw_node *n);
/* A sum of products along one axis where one factor is a vector: a reduction for us. */
bool kw_au_is_dot(const struct kw_node *n);
bool kw_au_is_reduce(const struct kw_node *n); /* REDUCE or such a product */
bool kw_au_is_argreduce(const struct kw_node *n);
/* Elements from one index of the atom to the next, as C text; "0" when t does not vary over it.
 * Notes the strides that it names. */
const char *kw_au_stride(struct kw_au_graph *g, const struct kw_au_tensor *t, int atom);
const char *kw_au_product(const struct kw_au_graph *g, const int *atoms, int count);

#endif
