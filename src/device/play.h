/* play.h - the judge's side of a player: start, load, run, stop. Private to device/. */
#ifndef KW_DEVICE_PLAY_H
#define KW_DEVICE_PLAY_H

#include "device/slots.h"

#include <sys/types.h>

/* Borrowed, for the life of the players. */
struct kw_play_python {
	const char *path;              /* of the interpreter */
	const char *files;             /* JSON: { "files": { name: text }, "main": name, ... }; main(all of it) is called */
};
/* What kind of artefact a player is for, and on which device of a runtime (wire.h). */
struct kw_play_kind {
	uint32_t runner, platform, device;
	bool copies;                   /* memory of its own: slots are staged before a run and fetched after it */
	bool bare;                     /* no namespaces: drivers that need the machine's own */
	const struct kw_play_python *python; /* the player is the user's Python, which gets maps and commands as any other; NULL: it is
					      * this program */
};
enum kw_status kw_play_start_kind(struct kw_session *s, const struct kw_player_opts *o, const struct kw_play_kind *kind,
				  struct kw_player **out, struct kw_error *err);
/* For shared objects. */
enum kw_status kw_play_start(struct kw_session *s, const struct kw_player_opts *o, struct kw_player **out,
			     struct kw_error *err);
enum kw_status kw_play_load(struct kw_player *p, const struct kw_artefact *code, const struct kw_bound_plan *plan,
			    int timeout_ms, struct kw_play_result *r, struct kw_error *err);
enum kw_status kw_play_run(struct kw_player *p, const int *order, int n, int timeout_ms, struct kw_play_result *r,
			   struct kw_error *err);
void kw_play_stop(struct kw_player *p);
int64_t kw_play_linger(struct kw_player *p, int64_t ns);
const char *kw_play_layers(const struct kw_player *p);
pid_t kw_play_pid(const struct kw_player *p);

/* --- what the players of all devices share --- */
/* The bytes of an artefact in a memory file that nobody can change; close it. */
enum kw_status kw_play_seal(const void *code, size_t bytes, int *fd, struct kw_error *err);
/* LAYER_ bits in words: "landlock6 seccomp no-net ...". */
void kw_play_name_layers(unsigned layers, int landlock_abi, char *out, size_t n);

#endif
