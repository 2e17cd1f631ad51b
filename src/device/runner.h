/* runner.h - what differs between kinds of artefact inside a player: how one is prepared for, loaded and run. One file a
 * kind (player_elf.c, player_opencl.c); player.c has the rest: messages, maps, faults. Private to device/.
 *
 * All of it runs in the player. Until lock_down only our own code has run; after load the candidate's may. */
#ifndef KW_DEVICE_RUNNER_H
#define KW_DEVICE_RUNNER_H

#include "device/wire.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct mapping {
	uint8_t *file;                 /* of the whole file, and in it the buffer */
	uint8_t *base;
	size_t file_bytes, bytes;
	bool read_only, zero;
};
struct player {
	struct wire_start start;
	struct mapping *maps;          /* [slot * buffers + buffer] */
	bool locked;
	int64_t device_ns;             /* of the last batch, by the device's own clock; known when it was fetched */
	volatile sig_atomic_t loading; /* dlopen may look for libraries in vain */
};
enum { RUNNER_NO_ANSWER = -100000 };
struct runner {
	/* Trusted start-up: opens files, starts threads. Ends the player by kw_player_fault where it cannot. */
	void (*prepare)(struct player *p);
	/* Gives up what the candidate must not have, and adds the layers that were granted to r. */
	void (*lock_down)(struct player *p, struct wire_reply *r);
	/* The artefact is descriptor WIRE_CODE, which the caller closes. r is LOADED already. */
	void (*load)(struct player *p, const struct wire_load *l, struct wire_reply *r);
	/* Calls the plan on each slot in turn and waits for the end. */
	void (*run)(struct player *p, const int32_t *order, uint32_t count);
	/* Optional. A refused call on a path: its result, or RUNNER_NO_ANSWER. Async-signal-safe; any thread. */
	long (*file)(struct player *p, int call, const char *path);
	/* Optional: devices with memory of their own. Contents of the slots to the device, outputs back. */
	void (*stage)(struct player *p, const int32_t *order, uint32_t count);
	void (*fetch)(struct player *p, const int32_t *order, uint32_t count);
};
extern const struct runner kw_runner_elf, kw_runner_opencl;

/* The first message, not yet read, is WIRE_PYTHON: this process becomes that Python. */
_Noreturn void kw_python_player(void);

/* Tells the judge that this machine, not the candidate, is at fault, and ends. number: an errno; 0: none. */
_Noreturn void kw_player_fault(const char *what, int number);
/* As a candidate's fault; see enum wire_kind. */
_Noreturn void kw_player_die(uint32_t kind, int number, const char *text);
/* As if a write to this address, in the player's own maps, had faulted. */
_Noreturn void kw_player_wrote(const void *address);

#endif
