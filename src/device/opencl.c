/* The `opencl` device: one device of the machine's OpenCL runtimes, which only the players load (player_opencl.c).
 *
 * A CPU (PoCL) runs kernels on the judge's own buffers, between guard pages; everything said of the `cpu` device holds. Other
 * devices get copies, made before a batch and fetched after it, outside of the clock. */
#include "device/opencl.h"

#include "base/alloc.h"
#include "base/file.h"
#include "device/cpu.h"
#include "device/device.h"
#include "device/play.h"
#include "device/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES 64000000          /* as on the cpu */
#define MOST_SLOTS 64
#define RED_ZONE_BYTES ((size_t)64 << 10)

struct opencl_device {
	struct kw_device base;            /* first: the same address */
	struct kw_cl_info info;
	struct kw_hardware host;          /* whose ceilings hold where the device is the CPU */
	bool copies;                      /* $KWRIGHT_OPENCL_COPY: on a CPU too, so that this way can be tried without a GPU */
};

static struct opencl_device *mine(const struct kw_device *d)
{
	return (struct opencl_device *)(uintptr_t)d;
}

static void describe(struct opencl_device *d)
{
	struct kw_hardware *h = &d->base.hardware;
	const struct kw_cl_info *i = &d->info;

	if (i->cpu)
		*h = d->host;
	d->base.ceilings_of_host = i->cpu;
	snprintf(h->name, sizeof(h->name), "%.70s, %.20s", i->name, i->pocl ? "PoCL" : i->platform_name);
	snprintf(h->vendor, sizeof(h->vendor), "%.47s", i->vendor);
	snprintf(h->driver, sizeof(h->driver), "%.63s", i->driver);
	snprintf(h->arch, sizeof(h->arch), "opencl %s", i->cpu ? "cpu" : i->gpu ? "gpu" : "device");
	h->units = (int)i->units;
	h->memory_bytes = i->memory_bytes;
	h->limits.threads_per_block = (int)i->group_size;
	h->limits.smem_per_block_bytes = i->local_bytes;
	memcpy(h->limits.block, i->group, sizeof(h->limits.block));
	d->copies = !i->cpu || getenv("KWRIGHT_OPENCL_COPY");
	/* A context of a GPU takes half a second or more, and drivers make one after the other, those of other programs too: six were
	 * made for a candidate that the first call showed to be wrong. */
	d->base.players_are_dear = d->copies;
	if (d->copies)
		d->base.red_zone_bytes = RED_ZONE_BYTES;
	if (i->cpu)
		return;
	h->l2_bytes = h->last_level_cache_bytes = i->cache_bytes;
	h->clock_hz = (double)i->clock_mhz * 1e6;
	/* Nothing here can empty its caches: the batch that is copied in goes through them instead. */
	if (4.0 * (double)i->cache_bytes > d->base.batch_bytes)
		d->base.batch_bytes = 4.0 * (double)i->cache_bytes;
}

static enum kw_status opencl_open(struct kw_device **out, struct kw_error *err)
{
	extern const struct kw_device_ops kw_device_opencl;
	struct opencl_device *d = kw_calloc(1, sizeof(*d));
	enum kw_status s;

	*out = NULL;
	if (!d)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a device");
	s = kw_cl_find(&d->info, err);
	if (s != KW_OK) {
		kw_free(d);
		return s;
	}
	d->base.ops = &kw_device_opencl;
	d->base.batch_bytes = BATCH_BYTES;
	d->base.most_slots = MOST_SLOTS;
	kw_cpu_probe(&d->host);
	describe(d);
	kw_cpu_guard_judge();
	*out = &d->base;
	return KW_OK;
}

static enum kw_status opencl_ceiling(struct kw_device *d, enum kw_ceiling_kind kind, int64_t bytes, enum kw_measure measure,
				     struct kw_ceiling *out, struct kw_error *err)
{
	if (!mine(d)->info.cpu)
		return kw_cl_ceiling(&mine(d)->info, &d->hardware, kind, bytes, measure, out, err);
	return kw_cpu_ceiling(&mine(d)->host, kind, bytes, measure, out, err);
}

static enum kw_status opencl_overheads(struct kw_device *d, struct kw_overheads *out, struct kw_error *err)
{
	return kw_cl_overheads(&mine(d)->info, out, err);
}

/* Baselines are OpenCL programs too, and the box costs them nothing: one way to start a player. */
static enum kw_status opencl_player(struct kw_session *s, const struct kw_player_opts *o, struct kw_player **out,
				    struct kw_error *err)
{
	const struct kw_cl_info *i = &mine(s->device)->info;
	struct kw_play_kind kind = { .runner = WIRE_RUNNER_OPENCL, .platform = i->platform, .device = i->device,
				     .copies = mine(s->device)->copies, .bare = !i->cpu };
	struct kw_player_opts boxed = *o;

	boxed.trusted = false;
	return kw_play_start_kind(s, &boxed, &kind, out, err);
}

/* What a player without a folder of its own left in the common one. */
static void opencl_stop(struct kw_player *p)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "/tmp/kw-opencl-%d", (int)kw_play_pid(p));
	kw_play_stop(p);
	kw_rmtree(folder, NULL);
}

static enum kw_status opencl_load(struct kw_player *p, const struct kw_artefact *code, const struct kw_bound_plan *plan,
				  int timeout_ms, struct kw_play_result *r, struct kw_error *err)
{
	if (strcmp(code->kind, "opencl-binary") != 0)
		return kw_fail(err, KW_ERR_BUG, "", "the opencl device runs no artefact of kind '%s'", code->kind);
	return kw_play_load(p, code, plan, timeout_ms, r, err);
}

extern const struct kw_device_ops kw_device_opencl;
const struct kw_device_ops kw_device_opencl = {
	.name = "opencl",
	.open = opencl_open,
	.ceiling = opencl_ceiling,
	.overheads = opencl_overheads,
	.session_new = kw_slots_new,
	.session_free = kw_slots_free,
	.player_start = opencl_player,
	.load = opencl_load,
	.run = kw_play_run,
	.player_stop = opencl_stop,
	.ptr = kw_slots_ptr,
	.canary_ok = kw_slots_canary_ok,
	.flush = kw_slots_flush,
	.player_address = kw_slots_player_address,
	.huge_pages = kw_slots_huge_pages,
	.linger = kw_play_linger,
	.layers = kw_play_layers,
	.process = kw_play_pid,
};
