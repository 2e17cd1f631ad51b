/* emit.h - the text that fills the slots of a loop pattern (pointwise, row and column reductions).
 *
 * A value is computed at the outermost loop that it does not vary in:
 *
 *     ROW      once a row             a scalar variable before or between the passes
 *     VECTOR   once a column          an array over the strip (column form, after a reduction)
 *     SEGMENT  once a segment         a scalar variable in the segment loop
 *     ELEMENT  in the inner loop      `name_i`, or in place when it is used once
 *     TOTAL    once                   after all rows
 *
 * Reductions of one stage share a pass; a stage may use what earlier ones gave. */
#ifndef KW_AUTHOR_EMIT_H
#define KW_AUTHOR_EMIT_H

#include "author/fill.h"
#include "author/graph.h"
#include "author/lang.h"
#include "core/pattern.h"

enum kw_au_level { KW_AU_ROW, KW_AU_VECTOR, KW_AU_SEGMENT, KW_AU_ELEMENT, KW_AU_TOTAL };

#define KW_AU_MAX_REDS	 16
#define KW_AU_MAX_CACHED 2
#define KW_AU_MAX_VALUES 32
/* One reduction as the kernel does it; an argmax is two of them. */
struct kw_au_red {
	const struct kw_node *node;
	enum {
		KW_AU_SUM,
		KW_AU_PROD,
		KW_AU_MAX,
		KW_AU_MIN,
		KW_AU_ANY,
		KW_AU_ALL,
		KW_AU_INDEX
	} kind;
	int pass;
	const char *name;    /* of its result */
	enum kw_dtype dtype; /* of lanes and result: f32 f64 i32 i64 */
	const char *best;    /* INDEX: the variable that holds the extreme value */
};
struct kw_au_emit {
	struct kw_au_graph *g;
	const struct kw_au_lang *lang;
	const struct kw_pattern *pattern;
	bool rough;   /* every output is narrow: the language's quicker functions do */
	bool shares;  /* it keeps them in shared memory instead, from where each pass loads NAME_vec
		       */
	bool keeps;   /* the pattern keeps rows in registers: NAME_keep[k][i] */
	bool joining; /* text that joins partial results is being made */
	bool in_body; /* vectors of inputs are at hand: NAME_vec[i] */
	bool *kept, *loaded, *vector; /* by tensor: in NAME_keep; this pass needs NAME_vec; ever
					 moved as a vector */
	bool flat; /* every value is an ELEMENT; index[] says where the loops stand */
	const char *index[KW_AU_ATOMS];
	const char *limit[KW_AU_ATOMS]; /* Triton: the mask of what is inside along that axis; NULL: all is */
	bool late;  /* C, slot `carried`: a row is written while the next one is reduced */
	bool split; /* partial results a block (C: `combine`; GPU: `earlier`) */
	uint32_t col_mask, seg_mask;
	const char **var;   /* by node id: the variable that holds it; NULL: none (yet) */
	bool *named, *cone; /* by node id */
	int *uses;
	bool *divides, *exact; /* by node id: many are divided by it; no cheaper form will do */
	const char **by;       /* by node id: the kw_divisor made of it */
	struct kw_au_red red[KW_AU_MAX_REDS];
	int red_count;
	const struct kw_node *cached[KW_AU_MAX_CACHED];
	const char *cached_name[KW_AU_MAX_CACHED];
	int cached_pass[KW_AU_MAX_CACHED], cached_count;
	/* What is known of a row once its passes are over; late: what may have to be carried along.
	 */
	struct {
		const char *type, *name;
	} value[KW_AU_MAX_VALUES];
	int value_count;
	const char **param_name; /* the kernel's names of the task's params */
	bool *param_used;
	const struct kw_node *dim[16]; /* DIM nodes that became arguments dim0, dim1, … */
	int dim_count;
	const char *names[256]; /* taken */
	int name_count;
	const char **total_name; /* by node id: of reductions over all rows */
	/* Words of the plan: sizes (NULL: rows, segs, cols), and defines that the author writes;
	 * end with NULL. */
	const char *(*sizes)[2], *(*defines)[2];
	bool uses_cores, wants_segs; /* the pattern's signature has them */
	/* The lists that were filled, whose heads and row values come last; NULL: there is none. */
	struct kw_fill *stages, *write, *finish, *total;
	size_t kept_bytes;   /* shared memory for each element of a row */
	int sites;	     /* how often a team has joined a value */
	const char *earlier; /* GPU, split: joins the partial results of all passes so far */
	const char *text;    /* of all slots: which sizes does it use? */
	bool failed;	     /* out of memory, or no emitter: why says */
	const char *why;
	struct kw_error *err;
};
/* No variable takes a word of the pattern's text. */
enum kw_status kw_au_emit_init(struct kw_au_emit *e, struct kw_au_graph *g,
			       const struct kw_pattern *p, struct kw_error *err);
/* Every slot of the pattern but `plan` and `signature`. KW_NO with e->why when something does not
 * fit. */
enum kw_status kw_au_emit_loops(struct kw_au_emit *e, struct kw_fill *f);
/* The kernel, workspace and require lines, and the C signature; after kw_au_emit_loops. */
enum kw_status kw_au_emit_interface(struct kw_au_emit *e, const char *kernel, struct kw_fill *f);

/* `rows`, `segs` and `cols` of a pattern's `when` line in the task's own dims. */
const char *kw_au_substitute(struct kw_au_emit *e, const char *when);
const char *kw_au_name(struct kw_au_emit *e, const char *wish); /* a free name, now taken */

#endif
