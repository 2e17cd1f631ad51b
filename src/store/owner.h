/* owner.h - who runs a run, and whether it still lives. Inside of store/.
 *
 * A process of another host, or of another PID namespace of this one, cannot be asked: its state is
 * UNKNOWN, and its last sign of life in the store decides (runs.c). */
#ifndef KW_STORE_OWNER_H
#define KW_STORE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

struct kw_owner {
	int64_t pid, pid_start;  /* start in clock ticks after boot */
	char host[128], boot[96]; /* boot: boot id, a blank, inode of the PID namespace */
};
enum kw_owner_state { KW_OWNER_NONE, KW_OWNER_SELF, KW_OWNER_ALIVE, KW_OWNER_DEAD, KW_OWNER_UNKNOWN };

void kw_owner_self(struct kw_owner *o);
bool kw_owner_is(const struct kw_owner *a, const struct kw_owner *b);
enum kw_owner_state kw_owner_state(const struct kw_owner *o, const struct kw_owner *self);

#endif
