#include "device/cpu.h"

#include "base/alloc.h"
#include "device/device.h"
#include "device/play.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#define MOST_SLOTS 64
#define BATCH_BYTES 64000000 /* two milliseconds of memory traffic */

void kw_cpu_guard_judge(void)
{
	struct rlimit l;

	/* The judge holds a descriptor for each buffer of each slot. */
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max < 65536 ? l.rlim_max : 65536;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	/* No process of the same user may attach to the judge or read its memory. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static enum kw_status cpu_open(struct kw_device **out, struct kw_error *err)
{
	extern const struct kw_device_ops kw_device_cpu;
	struct kw_device *d = kw_calloc(1, sizeof(*d));

	*out = NULL;
	if (!d)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a device");
	d->ops = &kw_device_cpu;
	d->batch_bytes = BATCH_BYTES;
	d->most_slots = MOST_SLOTS;
	kw_cpu_probe(&d->hardware);
	kw_cpu_guard_judge();
	*out = d;
	return KW_OK;
}

static enum kw_status cpu_ceiling(struct kw_device *d, enum kw_ceiling_kind kind, int64_t bytes,
				  enum kw_measure measure, struct kw_ceiling *out, struct kw_error *err)
{
	return kw_cpu_ceiling(&d->hardware, kind, bytes, measure, out, err);
}

extern const struct kw_device_ops kw_device_cpu;
const struct kw_device_ops kw_device_cpu = {
	.name = "cpu",
	.open = cpu_open,
	.ceiling = cpu_ceiling,
	.session_new = kw_slots_new,
	.session_free = kw_slots_free,
	.player_start = kw_play_start,
	.load = kw_play_load,
	.run = kw_play_run,
	.player_stop = kw_play_stop,
	.ptr = kw_slots_ptr,
	.canary_ok = kw_slots_canary_ok,
	.flush = kw_slots_flush,
	.player_address = kw_slots_player_address,
	.huge_pages = kw_slots_huge_pages,
	.linger = kw_play_linger,
	.layers = kw_play_layers,
	.process = kw_play_pid,
};
