/* reference.h - the C reference of a task (docs/tasks.md).
 *
 * A C file with plan lines, like a candidate for the backend `c`, but of the same task in f64: floats of inputs, outputs and params
 * are doubles, and everything is contiguous. So one parser, one compiler and one player serve both.
 *
 *     //@ kernel reference args=(x, y, rows:i64, cols:i64)
 *     void reference(const double *x, double *y, int64_t rows, int64_t cols)
 *
 * The same text is compiled once more with `double` read as `float` behind its #include lines: that is the plain kernel in f32 from
 * whose error the tolerance follows. */
#ifndef KW_CORE_REFERENCE_H
#define KW_CORE_REFERENCE_H

#include "core/candidate.h"

enum kw_reference_form { KW_REFERENCE_F64, KW_REFERENCE_F32, KW_REFERENCE_FORMS };
struct kw_reference {
	struct kw_task task[KW_REFERENCE_FORMS];          /* *t with other dtypes; borrowed from it, not released */
	struct kw_candidate candidate[KW_REFERENCE_FORMS];
};

/* Reads the file that reference_c or reference_torch names into the task: reference_source, and the hash. Nothing to do for an
 * expression or a line. */
enum kw_status kw_reference_load(struct kw_task *t, struct kw_error *err);
/* Parses its plan lines against the task; KW_ERR_INPUT with the place when they do not fit. t was loaded and outlives *out. */
enum kw_status kw_reference_read(const struct kw_task *t, struct kw_arena *a, struct kw_reference *out, struct kw_error *err);

#endif
