/* replay.h - recordings of model calls: JSON Lines, an object a call (docs/models.md).
 *
 *     {"recording": 1, "note": "scripted: what models seldom do"}       optional first line
 *     {"role": "coder", "slot": "r1/coder", "text": "...", "model": "...", "tokens_in": 10, "tokens_out": 20}
 *
 * A call with a slot answers that slot; calls without answer the others of their role in order. */
#ifndef KW_MODEL_REPLAY_H
#define KW_MODEL_REPLAY_H

#include "model/provider.h"

/* Begins a recording; a file that is there is not overwritten (KW_ERR_USAGE) unless `more` says that it is ours. */
enum kw_status kw_record_begin(const char *path, bool more, struct kw_error *err);
/* Adds one call, whole or not at all. */
enum kw_status kw_record_add(const char *path, const struct kw_ask *a, const struct kw_answer *answer,
			     struct kw_error *err);

#endif
