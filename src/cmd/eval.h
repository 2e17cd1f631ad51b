/* eval.h - what the two files of `kwright eval` share. */
#ifndef KW_CMD_EVAL_H
#define KW_CMD_EVAL_H

#include "cmd/cmd.h"

/* With a hardware sheet for a device: builds, checks the launches, runs nothing. KW_NO: it could
 * not be built or launched there. */
enum kw_status kw_eval_build(struct kw_cmd *cmd, const struct kw_op_build_opts *o,
			     struct kw_error *err);

#endif
