/* matrix.h - measured rates of a device's matrix units (matrix.cu), which is what a product of matrices is held against.
 *
 *     enum kw_rate r = kw_matrix_rate_of(task, expr);          // KW_RATE_COUNT: plain arithmetic decides
 *     kw_matrix_ceiling(dev, r, KW_MEASURE_ONCE, &c, err);     // c.per_s operations a second, c.method how
 *
 * KW_NO: not known, and not to be measured: no compiler, or units that these kernels do not reach in full (from sm_100 on the
 * large ones are driven otherwise); then the data sheet's figure is the best there is. One thread. */
#ifndef KW_JUDGE_MATRIX_H
#define KW_JUDGE_MATRIX_H

#include "core/task.h"
#include "device/device.h"
#include "expr/expr.h"

/* The units that a task's products may use at its precision. */
enum kw_rate kw_matrix_rate_of(const struct kw_task *t, const struct kw_expr *e);
/* The rates that there are kernels for: i counts from 0; KW_RATE_COUNT behind the last. */
enum kw_rate kw_matrix_rate_at(size_t i);
/* Which kernel of matrix.cu measures it on an architecture, the operations of one of its rounds a block, and blocks a
 * multiprocessor; NULL: none. */
const char *kw_matrix_kernel(enum kw_rate r, const char *arch, double *flops_per_block_round, int *blocks_per_unit,
			     const char **method);
enum kw_status kw_matrix_ceiling(struct kw_device *d, enum kw_rate rate, enum kw_measure measure, struct kw_ceiling *out,
				 struct kw_error *err);

#endif
