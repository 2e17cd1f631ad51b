/* task.h - operation + inputs + reference + cases + tolerance + goal (design 4, docs/tasks.md).
 *
 * Plain data. Loaded from YAML (a path, or a name in the library tasks/), or from the one-line form
 *     softmax(x, axis=-1)   with inputs  "x:f16[128,4096]"
 * Everything lives in the task's arena; borrow it as long as the task lives. Immutable after load:
 * safe to read from any thread.
 *
 * The reference expression is kept as text here; src/expr parses it against these declarations. */
#ifndef KW_CORE_TASK_H
#define KW_CORE_TASK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "core/dtype.h"
#include "core/intexpr.h"
#include "core/shape.h"

struct kw_dim {
	const char *name;
	int64_t min, max;              /* declared range, inclusive */
	int64_t multiple;              /* unseen shapes are multiples of this; default 1 */
};

/* How the judge fills an input. range applies to uniform and integers. */
#define KW_DIST_LIST(X)                                                                   \
	X(NORMAL, "normal")      /* mean 0, sigma 1 (range [a,b]: mean a, sigma b) */      \
	X(UNIFORM, "uniform")    /* range, default [0, 1) */                              \
	X(INTEGERS, "integers")  /* whole numbers, range inclusive; for indices: [0, n-1] */ \
	X(BERNOULLI, "bernoulli")/* 0 or 1; range [p, p] */                               \
	X(PROBABILITIES, "probabilities") /* positive, last axis sums to 1 */             \
	X(POSITIVE, "positive")  /* |normal| + 0.1 */                                     \
	X(ONES, "ones")                                                                   \
	X(ZEROS, "zeros")                                                                 \
	X(PERMUTATION, "permutation") /* of 0..n-1 along the last axis */
enum kw_dist {
#define X(e, name) KW_DIST_##e,
	KW_DIST_LIST(X)
#undef X
	KW_DIST_COUNT
};

/* Layouts that a check case can ask for, per input (design 4; case B06). */
#define KW_LAYOUT_LIST(X)                                                                 \
	X(CONTIGUOUS, "contiguous")                                                       \
	X(SLICED, "sliced")        /* columns of a wider buffer: outer strides larger */  \
	X(STEP, "step")            /* last stride 2 */                                    \
	X(TRANSPOSED, "transposed")/* last two strides swapped */                         \
	X(EXPANDED, "expanded")    /* first stride 0 */                                   \
	X(UNALIGNED, "unaligned")  /* contiguous, base one element past alignment */
enum kw_layout_kind {
#define X(e, name) KW_LAYOUT_##e,
	KW_LAYOUT_LIST(X)
#undef X
	KW_LAYOUT_COUNT
};

/* What a task says of the layouts of an input. ALWAYS: no case may have another. NEVER_SURE: any may come, so a kernel that
 * takes no strides is wrong there, and not just inapplicable. */
enum kw_contiguity { KW_CONTIGUOUS_UNSAID, KW_CONTIGUOUS_ALWAYS, KW_CONTIGUOUS_NEVER_SURE };

enum kw_compare_mode {
	KW_COMPARE_VALUES,             /* numbers within tolerance */
	KW_COMPARE_INDICES,            /* index outputs: ties are equal if the values they select are */
	KW_COMPARE_DISTRIBUTION        /* random outputs: moments and range */
};

struct kw_tensor_decl {
	const char *name;
	enum kw_dtype dtype;
	int rank;
	struct kw_intexpr *shape[KW_MAX_RANK];   /* in dims */
	enum kw_dist dist;
	bool has_range;
	struct kw_intexpr *range_lo_int, *range_hi_int; /* integer ranges may use dims; NULL if plain */
	double range_lo, range_hi;
	struct kw_intexpr *stride[KW_MAX_RANK];  /* inputs: in elements, in dims; where has_strides */
	bool has_strides;                        /* declared: in every case, and known to every kernel */
	enum kw_contiguity contiguous;           /* inputs: what the task promises of all their layouts */
	int64_t align_bytes;                     /* inputs: what every address is a multiple of, and no more; 0: not said */
	bool inout;                              /* an input that the kernel updates, and the output that is written into it */
	int partner;                             /* inout: that output, or that input */
	const char *updated_by;                  /* inout inputs: the output's name in the file; NULL: the only one */
	enum kw_compare_mode compare;            /* outputs */
	const char *indexes;                     /* compare: indices -> the input whose values they select */
	int64_t indexes_axis;                    /* along this axis of that input (negative from the end) */
	int line;                                /* in the file; 0 for one-line tasks */
};

struct kw_param {
	const char *name;
	enum kw_dtype dtype;
	double value;
};

struct kw_case {
	bool perf;                               /* timed; else checked only */
	bool large;                              /* over 2^31 elements or so: only with --large */
	const char *label;                       /* "rows=4096 cols=4096" (+ " x=sliced") */
	int64_t *dims;                           /* one per task dim, same order */
	enum kw_layout_kind *layouts;            /* one per input; all CONTIGUOUS by default */
	int line;
};

enum kw_policy { KW_LIBRARIES_REFUSE, KW_LIBRARIES_ALLOW };

/* A reference in PyTorch (docs/pytorch.md): a line, a file with `Model` and `get_inputs`, or anything that can be called. */
enum kw_torch_form { KW_TORCH_NONE, KW_TORCH_LINE, KW_TORCH_PROBLEM, KW_TORCH_CALLABLE };

struct kw_goal {
	double speedup;                          /* 0: none */
	double sol;                              /* 0: none */
};

struct kw_task {
	struct kw_arena arena;
	const char *name, *title;                /* title: one line for lists; may be "" */
	const char *file;                        /* where it came from; "(command line)" */
	const char *text;                        /* canonical source text (hashed) */
	char sha256[KW_SHA256_HEX];
	struct kw_dim *dims;
	size_t dim_count;
	struct kw_tensor_decl *inputs, *outputs;
	size_t input_count, output_count;
	struct kw_param *params;
	size_t param_count;
	const char **grad;                       /* inputs that the expression is differentiated by; none: it is the task itself */
	size_t grad_count;
	struct kw_tensor_decl *forward_outputs;  /* of a backward task: what the expression gives; partner: the input that holds what
						  * arrives there, or -1. NULL until kw_expr_complete_task made it one. */
	size_t forward_count;
	const char *expr;                        /* reference expression, or NULL */
	int expr_line, expr_column;              /* where its text starts in the file */
	const char *reference_c;                 /* C reference source path, or NULL */
	enum kw_torch_form torch_form;           /* a reference in PyTorch, beside an expression too */
	const char *reference_torch;             /* LINE: its text; else the path of its file */
	int torch_line;                          /* LINE: where its text starts in the task's file */
	const char *torch_callable, *torch_args; /* CALLABLE */
	bool torch_eval;                         /* modules as they are used, not as they are trained */
	bool undescribed;                        /* of a PyTorch file, with no inputs in the task: they are what it says itself */
	const char *reference_note;              /* a sentence for who asks what the reference is, or NULL; in the arena */
	const char *reference_source;            /* text of a file once it is read (reference.h); NULL before, and for expressions */
	size_t reference_len;
	struct kw_case *cases;                   /* perf cases first, in file order */
	size_t case_count, perf_count;
	double tol_rel, tol_abs;                 /* rtol, atol of the file; negative: derived (design 6.8) */
	unsigned allow_precision;                /* bit per enum kw_dtype that may be used inside; tf32 below */
	bool allow_tf32;
	enum kw_policy libraries;
	bool libraries_said;                     /* by the task itself; for a Python module only that counts */
	struct kw_goal goal;
	bool unconfirmed;                        /* drafted by a model, not yet accepted */
};

/* Loads by path when the word has a '/' or ends in .yaml/.yml or exists as a file, else
 * "tasks/WORD.yaml" of the library (suggests the nearest name). */
enum kw_status kw_task_load(struct kw_task *t, const char *path_or_name, struct kw_error *err);
enum kw_status kw_task_parse_yaml(struct kw_task *t, const char *file, const char *text, size_t len,
				  struct kw_error *err);
/* One-line form. inputs: "x:f16[128,4096]" each; the numbers become fixed dims n0, n1, … (equal
 * numbers written as names, x:f32[rows=128,cols=4096], become dims). Output dtype and shape are
 * filled by src/expr (kw_expr_complete_task). */
enum kw_status kw_task_parse_line(struct kw_task *t, const char *expr, const char *const *inputs,
				  size_t input_count, struct kw_error *err);
void kw_task_release(struct kw_task *t);
/* Of its reference: "an expression", "C", "PyTorch"; and its text, of a file once it was read (reference.h). */
const char *kw_task_reference_kind(const struct kw_task *t);
const char *kw_task_reference_text(const struct kw_task *t);
/* Where the author of a PyTorch reference has to look: "task.yaml:5", or the file of a module. */
enum { KW_TASK_PLACE_MAX = 512 };
const char *kw_task_torch_place(const struct kw_task *t, char out[KW_TASK_PLACE_MAX]);
/* Finds the output that is written into each inout input: same dtype, same shape in every case. Whoever adds the outputs calls
 * it. In such a task the input's name in a plan means the one buffer, which holds the input before a call and the output
 * after it; the output's own name is no argument. */
enum kw_status kw_task_link_inout(struct kw_task *t, struct kw_error *err);
bool kw_task_has_inout(const struct kw_task *t);
/* The same operation with an input and an output of their own, as references and baselines see it: a shallow copy whose
 * declarations lie in the arena; to be used as long as t lives, and not released. */
enum kw_status kw_task_out_of_place(const struct kw_task *t, struct kw_arena *a, struct kw_task *out, struct kw_error *err);
/* Whether a dim, a param, an input or an output has this name: they share one space of names. */
bool kw_task_has_name(const struct kw_task *t, const char *name);

/* Dims of a case as an environment for integer expressions (vars in the arena). */
enum kw_status kw_case_env(const struct kw_task *t, const struct kw_case *c, struct kw_arena *a,
			   struct kw_intenv *env, struct kw_error *err);
/* Concrete shape of a declaration under a case. */
enum kw_status kw_tensor_shape(const struct kw_tensor_decl *d, const struct kw_intenv *env,
			       struct kw_shape *out, struct kw_error *err);
/* The strides of a declaration that has them, under a case: 0 or more, and no element in two places but where a stride is 0. */
enum kw_status kw_tensor_strides(const struct kw_tensor_decl *d, const struct kw_intenv *env, const struct kw_shape *shape,
				 int64_t stride[KW_MAX_RANK], struct kw_error *err);
/* Whether a kernel has to cope with the strides of this input: it cannot say that its layout does not concern it. */
bool kw_tensor_any_strides(const struct kw_tensor_decl *d);
/* Whether an input can be laid out so: enough dims, and nothing that the task says of it against it. */
bool kw_layout_fits(const struct kw_tensor_decl *d, enum kw_layout_kind l);
/* Builds a case from dim values (unseen shapes); label is made. layouts: one per input; NULL: contiguous. */
enum kw_status kw_case_make(const struct kw_task *t, const int64_t *dims, const enum kw_layout_kind *layouts, bool perf,
			    struct kw_arena *a, struct kw_case *out, struct kw_error *err);
const char *kw_dist_name(enum kw_dist d);
const char *kw_layout_name(enum kw_layout_kind l);

#endif
