/* module.h - players for candidates that are Python modules. Private to device/.
 *
 * A zygote, one a program, has torch (importer.h) and makes players as copies of itself (python/module_player.py). They speak the
 * messages of wire.h, with two more: the spec (JSON: inputs, outputs, parameters of the task) and a report, a memory file in which
 * a player tells where the outputs of its calls lie. The judge reads them there, out of the stopped process: so no copy is timed,
 * and an answer that is not there when the call returns is not there.
 *
 *     kw_module_new(o, slots, &m, err);
 *     kw_module_spawn(m, -1, &child, err);       // instead of kw_child_start
 *     ... WIRE_START, maps ...
 *     kw_module_tell(m, &child, err);            // spec and report, before READY
 *     kw_module_settle(m, &child, memory, ...);  // after READY: limits, and whether its memory can be read
 *     kw_module_collect(m, &child, order, n, watched, &r);  // after a run, while it is stopped
 *
 * One owner. */
#ifndef KW_DEVICE_MODULE_H
#define KW_DEVICE_MODULE_H

#include "device/child.h"
#include "device/slots.h"
#include "device/wire.h"

struct kw_module;
enum kw_status kw_module_new(const struct kw_module_play *o, struct slots *slots, struct kw_module **out, struct kw_error *err);
/* On a device with memory of its own. specs: borrowed. */
enum kw_status kw_module_new_apart(const struct kw_module_play *o, const struct kw_buffer_spec *specs, int slots,
				   struct kw_module **out, struct kw_error *err);
void kw_module_free(struct kw_module *m);
/* gpu: the number of the device that it will use, -1 none. One that was started ahead for it is taken first. */
enum kw_status kw_module_spawn(struct kw_module *m, int gpu, struct kw_child *c, struct kw_error *err);
/* Starts the zygote, for players with a driver of a GPU or without, ahead of the first spawn; where h says Triton, it goes on to import that.
 * It ends with the calling thread. */
void kw_module_expect(const struct kw_module_host *h, bool driver);
/* Players for candidates with a context on a GPU, so that count of them are there (with Triton or without, as h says); they start side by side. What fails is met when a
 * player is spawned. Ready: when the last of them works no more, until a session wants it. */
void kw_module_ahead(const struct kw_module_host *h, int gpu, int count);
void kw_module_ahead_ready(void);
enum kw_status kw_module_tell(struct kw_module *m, struct kw_child *c, struct kw_error *err);
enum kw_status kw_module_settle(struct kw_module *m, struct kw_child *c, int64_t memory_bytes, int threads, struct kw_error *err);
/* Whether the player has to copy its outputs into the slots itself, in the clock. */
bool kw_module_copies(const struct kw_module *m);
/* Whether it does so when it is asked to (WIRE_FETCH) and no clock runs: what is trusted hides no work there. */
bool kw_module_copies_later(const struct kw_module *m);
/* Instead of kw_child_close: a healthy player that is trusted stays, stopped, for the next session with the same spec. m may be NULL. */
void kw_module_retire(struct kw_module *m, struct kw_child *c, bool healthy);
/* The outputs of the last run into the slots; what cannot be an answer becomes r. */
void kw_module_collect(struct kw_module *m, struct kw_child *c, const int32_t *order, int n, bool watched,
		       struct kw_play_result *r);
/* The same again, as far as it can be had: has anything changed since? */
void kw_module_collect_again(struct kw_module *m, struct kw_child *c);
/* True: the reply to the command of this nonce is a question, and it has been answered or r says why not; the player goes on until
 * *deadline_ns, which is as much later as that took. False: it is none. */
bool kw_module_answered(struct kw_module *m, struct kw_child *c, const struct wire_reply *w, uint64_t nonce, int64_t *deadline_ns,
			struct kw_play_result *r, enum kw_status *st, struct kw_error *err);
/* WIRE_RAISED in the judge's words. */
void kw_module_raised(struct kw_module *m, int kind, struct kw_play_result *r);
/* A fault, of which only the place in the candidate is known. */
void kw_module_fault(struct kw_module *m, struct kw_play_result *r);
/* Bytes of outputs that one batch of this session leaves in the player. */
int64_t kw_module_output_bytes(const struct kw_module *m);

#endif
