/* described.h - what files of PyTorch say of themselves (task_torch.c), each asked once a program. Any thread. */
#ifndef KW_OPS_DESCRIBED_H
#define KW_OPS_DESCRIBED_H

#include <stdbool.h>

#include "base/str.h"
#include "base/hash.h"

enum { KW_DESCRIBED_NOTE = 400 };

/* key: a hash of all that the description depends on. True: it is known; text and note are filled. False: the caller asks, and says what
 * came of it by kw_described_end, for which whoever wants the same waits meanwhile. */
bool kw_described_begin(const char *key, struct kw_buf *text, char note[KW_DESCRIBED_NOTE]);
/* text NULL: nothing, and the next one asks for itself. */
void kw_described_end(const char *key, const struct kw_buf *text, const char note[KW_DESCRIBED_NOTE]);

#endif
