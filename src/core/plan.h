/* plan.h - the launch plan: `//@` lines of a candidate (design 5, docs/plan-lines.md).
 *
 *     //@ kernel softmax_row grid=(rows) block=(THREADS) smem=0 args=(x, y, cols:i32)
 *     //@ tune THREADS in {128, 256, 512} default 256
 *
 * Parsed from source comments (`//@` for C-like, `#@` for Python), immutable afterwards, all in the
 * caller's arena. A typo in a keyword suggests the nearest word; messages carry file:line:column.
 *
 * Names that expressions may use: the task's dims; tune and define names (defines in order); and per
 * input and output tensor t: t.contiguous (0/1), t.align (bytes, largest power of two <= 4096 dividing
 * the base address), t.stride0..7 (elements), t.dim0..7; and device facts: sm, cores, simd_bytes,
 * smem_bytes. */
#ifndef KW_CORE_PLAN_H
#define KW_CORE_PLAN_H

#include "base/arena.h"
#include "base/error.h"
#include "core/dtype.h"
#include "core/intexpr.h"
#include "core/shape.h"
#include "core/task.h"

enum { KW_MAP_MAX_RANK = 5 };             /* dims that a TMA descriptor can have */
enum { KW_WORKSPACE_ALIGN = 64 };         /* bytes, of a workspace's address */
enum kw_arg_kind { KW_ARG_TENSOR, KW_ARG_WORKSPACE, KW_ARG_TENSORMAP, KW_ARG_SCALAR, KW_ARG_PARAM };
struct kw_plan_arg {
	enum kw_arg_kind kind;
	const char *name;                 /* tensor, workspace, map or param; NULL for scalars */
	const struct kw_intexpr *expr;    /* SCALAR: "rows * 2:i64" */
	enum kw_dtype dtype;              /* SCALAR and PARAM: type passed */
};
struct kw_plan_kernel {
	const char *name;
	int grid_rank, block_rank, cluster_rank;      /* 0: left out */
	const struct kw_intexpr *grid[3], *block[3], *cluster[3];
	const struct kw_intexpr *smem;                /* bytes; NULL: 0 */
	bool cooperative, pdl;
	struct kw_plan_arg *args;
	size_t arg_count;
	int line;
};
struct kw_plan_workspace {
	const char *name;
	enum kw_dtype dtype;
	int rank;
	const struct kw_intexpr *shape[KW_MAX_RANK];
	bool zero;                                    /* zeroed inside the timed region */
	int line;
};
struct kw_plan_tensormap {
	const char *name, *tensor;                    /* an input, output or workspace */
	int rank;                                     /* of the tensor: 1 to KW_MAP_MAX_RANK */
	const struct kw_intexpr *box[KW_MAX_RANK];    /* the tensor's order: the last is the innermost */
	const char *swizzle;                          /* "none" "32" "64" "128" */
	int l2_bytes;                                 /* fetched into L2 at once: 0, 64, 128, 256 */
	int line;
};
struct kw_plan_define {
	const char *name;
	const struct kw_intexpr *expr;
	int line;
};
struct kw_plan_tune {
	const char *name;
	int64_t *values;
	size_t value_count;
	int64_t default_value;
	int line;
};
struct kw_plan {
	const char *file;                             /* of the candidate, for messages */
	struct kw_plan_kernel *kernels;
	struct kw_plan_workspace *workspaces;
	struct kw_plan_tensormap *tensormaps;
	struct kw_plan_define *defines;
	struct kw_plan_tune *tunes;
	const struct kw_intexpr **wheres, **requires;
	const char **flags;
	size_t kernel_count, workspace_count, tensormap_count, define_count, tune_count, where_count,
		require_count, flag_count;
};

/* text is the whole candidate. task names resolve args and are checked; NULL task: syntax only.
 * No kernel line: KW_ERR_INPUT with a hint. */
enum kw_status kw_plan_parse(const char *file, const char *text, size_t len,
			     const struct kw_task *task, struct kw_arena *a, struct kw_plan *out,
			     struct kw_error *err);

/* A choice of tune values, in plan order. NULL values: defaults. */
struct kw_tune_point {
	const int64_t *values;
	size_t count;
};
/* What a plan means for one case and one tune point: every define and argument as a number. */
struct kw_bound_arg {
	enum kw_arg_kind kind;
	int index;                        /* tensor: inputs first, then outputs; workspace, map: its index */
	bool writable;                    /* an output or a workspace */
	int64_t align_bytes;              /* tensors and workspaces: what their address is a multiple of */
	enum kw_dtype dtype;
	int64_t i;                        /* integer scalar */
	double f;                         /* float param */
};
/* Whether an address or a number is a multiple of 16, which compilers like to know. */
bool kw_bound_arg_is_16(const struct kw_bound_arg *a);
struct kw_bound_kernel {
	const char *name;
	int64_t grid[3], block[3], cluster[3], smem_bytes; /* a grid with a 0 launches nothing */
	bool cooperative, pdl;                        /* pdl: may begin before the one before it ends */
	struct kw_bound_arg *args;
	size_t arg_count;
};
/* A TMA descriptor, whatever the address: what cuTensorMapEncodeTiled is told, in the tensor's order (the
 * driver wants it reversed). Every limit but the address's alignment to 16 bytes is checked already. */
struct kw_bound_map {
	enum kw_arg_kind kind;                        /* KW_ARG_TENSOR or KW_ARG_WORKSPACE */
	int index;                                    /* as in kw_bound_arg */
	enum kw_dtype dtype;
	int rank;
	int64_t dim[KW_MAP_MAX_RANK], stride_bytes[KW_MAP_MAX_RANK], box[KW_MAP_MAX_RANK];
	int swizzle_bytes, l2_bytes;                  /* 0: none */
	bool empty;                                   /* a dim is 0: there is nothing to describe */
};
struct kw_bound_plan {
	bool applicable;                  /* every require and where holds, implicit ones too */
	const char *why_not;              /* the require that failed, as text; else NULL */
	struct kw_intenv_var *defines;    /* define and tune values: these are the -D of the build */
	size_t define_count;
	struct kw_bound_kernel *kernels;
	size_t kernel_count;
	struct kw_shape *workspaces;      /* shapes, in plan order */
	struct kw_bound_map *tensormaps;  /* in plan order */
	size_t tensormap_count;
};
/* views: the tensors' layout in this case (inputs then outputs; base may be a fake address whose
 * alignment is right). Implicit requirement: a tensor whose strides the plan never passes must be
 * contiguous. facts: device facts. */
enum kw_status kw_plan_bind(const struct kw_plan *p, const struct kw_task *t, const struct kw_case *c,
			    const struct kw_view *views, const struct kw_tune_point *point,
			    const struct kw_intenv *facts, struct kw_arena *a,
			    struct kw_bound_plan *out, struct kw_error *err);
/* Number of points of the tune space that satisfy every `where` that needs no dims (those that do are
 * checked at bind); -1 when over 10 million. */
int64_t kw_plan_space_size(const struct kw_plan *p);
/* A choice of tune values as text, "THREADS=256 VEC=4" in plan order, "" without tune lines; values NULL: defaults.
 * This text is the key under which verdicts of a candidate are told apart. NULL: out of memory. */
const char *kw_plan_tune_text(const struct kw_plan *p, const int64_t *values, struct kw_arena *a);
/* Reads such a text back into values[tune_count]; names left out keep their default. KW_ERR_INPUT for a name that the
 * plan does not have or a value that its tune line does not list. */
enum kw_status kw_plan_tune_parse(const struct kw_plan *p, const char *text, int64_t *values, struct kw_error *err);
/* The names of all plan keywords, for messages and docs. */
const char *const *kw_plan_keywords(size_t *count);

#endif
