/* The device `interpreter`: Triton's interpreter on this machine's processor, for Triton kernels where there is no GPU. It tells right
 * from wrong, and no times: how long an interpreter takes says nothing about a kernel.
 *
 * Buffers, slots and players are the cpu's; the player's process is the user's Python (python/triton_player.py). It lives with the
 * Python client and not with the other devices because it has to find that Python. */
#include "python/python.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "core/verdict.h"
#include "device/cpu.h"
#include "device/play.h"
#include "device/wire.h"

#include <stdio.h>
#include <string.h>

/* The architecture that kernels are compiled for besides, so that what a compiler refuses is refused here too. */
#define ARCH "sm_90a interpreter"
#define MOST_PROGRAMS 1000             /* a millisecond each, and more */
#define MEMORY_BYTES ((int64_t)2 << 30) /* of Python, numpy and Triton, and what a kernel's blocks take */
enum { SLOTS = 2 };

struct interpreter {
	struct kw_device base;         /* first: the same address */
	struct kw_python_found python;
	struct kw_play_python play;
	char *files;
};

static struct interpreter *mine(const struct kw_device *d)
{
	return (struct interpreter *)(uintptr_t)d;
}

static enum kw_status read_files(struct interpreter *d, struct kw_error *err)
{
	static const char *const names[] = { "triton_source", "triton_interpreter", "triton_player" };
	json_t *files = json_object(), *told;
	struct kw_arena a;
	struct kw_buf text;
	enum kw_status st = files ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	kw_arena_init(&a, 4 << 20);
	kw_buf_init(&text, 8 << 20);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && st == KW_OK; i++) {
		char path[64], *file;

		snprintf(path, sizeof(path), "python/%s.py", names[i]);
		st = kw_data_read(path, &a, &file, NULL, err);
		if (st == KW_OK && json_object_set_new(files, names[i], json_string(file)) != 0)
			st = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	told = json_pack("{s:O,s:s,s:i,s:i}", "files", files, "main", "triton_player", "crash", (int)KW_S_CRASH, "out_of_memory",
			 (int)KW_S_OUT_OF_MEMORY);
	if (st == KW_OK)
		st = told ? kw_json_canonical(told, &text, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	d->files = st == KW_OK ? kw_buf_take(&text) : NULL;
	json_decref(files);
	json_decref(told);
	kw_buf_release(&text);
	kw_arena_release(&a);
	return st;
}

static enum kw_status interpreter_open(struct kw_device **out, struct kw_error *err)
{
	extern const struct kw_device_ops kw_device_interpreter;
	struct interpreter *d = kw_calloc(1, sizeof(*d));
	enum kw_status st;

	*out = NULL;
	if (!d)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a device");
	st = kw_python_find(KW_PYTHON_TRITON, &d->python, err);
	if (st == KW_OK)
		st = read_files(d, err);
	if (st != KW_OK) {
		kw_free(d->files);
		kw_free(d);
		return st;
	}
	d->base.ops = &kw_device_interpreter;
	d->base.most_slots = SLOTS;
	d->base.untimed = true;
	d->base.most_programs = MOST_PROGRAMS;
	kw_cpu_probe(&d->base.hardware);
	snprintf(d->base.hardware.name, sizeof(d->base.hardware.name), "Triton %.40s's interpreter", d->python.triton);
	snprintf(d->base.hardware.arch, sizeof(d->base.hardware.arch), ARCH);
	d->play = (struct kw_play_python){ .path = d->python.path, .files = d->files };
	kw_cpu_guard_judge();
	*out = &d->base;
	return KW_OK;
}

static void interpreter_close(struct kw_device *d)
{
	kw_free(mine(d)->files);
}

static enum kw_status interpreter_ceiling(struct kw_device *d, enum kw_ceiling_kind kind, int64_t bytes, enum kw_measure measure,
					  struct kw_ceiling *out, struct kw_error *err)
{
	(void)d, (void)kind, (void)bytes, (void)measure;
	*out = (struct kw_ceiling){ .kind = kind };
	return kw_fail(err, KW_NO, "", "an interpreter has no ceiling");
}

static enum kw_status interpreter_player(struct kw_session *s, const struct kw_player_opts *o, struct kw_player **out,
					 struct kw_error *err)
{
	struct kw_play_kind kind = { .runner = WIRE_RUNNER_ELF, .python = &mine(s->device)->play };
	struct kw_player_opts own = *o;

	own.memory_bytes = o->memory_bytes ? o->memory_bytes : MEMORY_BYTES;
	own.threads = 1;
	return kw_play_start_kind(s, &own, &kind, out, err);
}

static enum kw_status interpreter_load(struct kw_player *p, const struct kw_artefact *code, const struct kw_bound_plan *plan,
				       int timeout_ms, struct kw_play_result *r, struct kw_error *err)
{
	if (strcmp(code->kind, "triton-source") != 0)
		return kw_fail(err, KW_ERR_BUG, "", "the interpreter runs no artefact of kind '%s'", code->kind);
	return kw_play_load(p, code, plan, timeout_ms, r, err);
}

extern const struct kw_device_ops kw_device_interpreter;
const struct kw_device_ops kw_device_interpreter = {
	.name = "interpreter",
	.open = interpreter_open,
	.close = interpreter_close,
	.ceiling = interpreter_ceiling,
	.session_new = kw_slots_new,
	.session_free = kw_slots_free,
	.player_start = interpreter_player,
	.load = interpreter_load,
	.run = kw_play_run,
	.player_stop = kw_play_stop,
	.ptr = kw_slots_ptr,
	.canary_ok = kw_slots_canary_ok,
	.flush = kw_slots_flush,
	.player_address = kw_slots_player_address,
	.huge_pages = kw_slots_huge_pages,
	.linger = kw_play_linger,
	.layers = kw_play_layers,
};
