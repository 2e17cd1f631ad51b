/* layout.h - how a case lays its tensors out: the views that plans are bound to, and the buffers
 * behind them. */
#ifndef KW_JUDGE_LAYOUT_H
#define KW_JUDGE_LAYOUT_H

#include "device/device.h"
#include "expr/expr.h"

/* env: the case's dims; b: the expression bound to it. Both arrays have room for all inputs and outputs; bases are
 * made-up addresses with the alignment that the buffers will have. */
enum kw_status kw_layout_views(const struct kw_task *t, const struct kw_case *c,
			       const struct kw_intenv *env, const struct kw_bound *b,
			       struct kw_view *views, struct kw_buffer_spec *specs, struct kw_error *err);

#endif
