/* described.h - what files of PyTorch say of themselves (task_torch.c), each asked once a program. Any thread. */
#ifndef KW_OPS_DESCRIBED_H
#define KW_OPS_DESCRIBED_H

#include <stdbool.h>

/* key: a hash of all that the description depends on (task_kept.c). True: it is known, and text is the caller's to free. False: the caller asks, and
 * says what came of it by kw_described_end, for which whoever wants the same waits meanwhile. */
bool kw_described_begin(const char *key, char **text);
/* text NULL: nothing, and the next one asks for itself. */
void kw_described_end(const char *key, const char *text);

#endif
