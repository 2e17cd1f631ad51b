/* spawn.h - starts the player's process: exec of this very program, in namespaces where granted. Private to device/. */
#ifndef KW_DEVICE_SPAWN_H
#define KW_DEVICE_SPAWN_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct kw_spawned {
	pid_t pid;
	int pidfd;
	unsigned layers;               /* LAYER_PID, LAYER_NET, ... that the kernel granted */
};
/* control becomes descriptor WIRE_CONTROL of the child; everything else is closed. isolate: with namespaces. The
 * child dies with this process. Any thread may call. */
enum kw_status kw_spawn_player(int control, bool isolate, int threads, struct kw_spawned *out, struct kw_error *err);

/* A Python in the folders that a box allows, for a script of ours: descriptor WIRE_CODE of it. */
struct kw_sandbox;
struct kw_spawn_python {
	const char *path;
	int script;
	struct kw_sandbox *box;        /* NULL: none */
	bool trusted;                  /* with the user's own environment: it may compile and keep what it has compiled */
};
enum kw_status kw_spawn_python(int control, const struct kw_spawn_python *o, struct kw_spawned *out, struct kw_error *err);

#endif
