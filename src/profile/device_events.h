/* device_events.h - what a device did, event after event, to launches (launches.h): for readers of traces.
 *
 *     struct kw_device_events d;
 *     kw_device_events_init(&d, &launches);
 *     while (next event)
 *             kw_device_event(&d, &(struct kw_device_event){ .name = "gemm", .begin_us = 5, .us = 21, ... });
 *     kw_device_events_finish(&d);
 *
 * Launches of one kernel with one grid and block are one launch with their mean time; where the device was idle for much of the
 * time, that is a launch of its own and the first. Any thread. */
#ifndef KW_PROFILE_DEVICE_EVENTS_H
#define KW_PROFILE_DEVICE_EVENTS_H

#include "profile/launches.h"

struct kw_device_event {
	const char *name;                 /* NULL: a copy or a fill, which keeps the device busy and is no kernel */
	double begin_us, us;              /* NaN: not told */
	int64_t grid[3], block[3];        /* 0: not told */
	double registers, smem_bytes;     /* NaN: not told */
	int64_t device;
};
struct kw_device_span {
	double begin, end;                /* us */
};
struct kw_device_events {
	struct kw_launches *out;
	size_t first;                     /* launches before it are not of these events */
	int64_t *device_of;               /* of each launch: devices may be named behind the events */
	struct kw_device_span *spans;
	size_t span_count, span_cap;
	bool left_out;
};
void kw_device_events_init(struct kw_device_events *d, struct kw_launches *out);
void kw_device_event(struct kw_device_events *d, const struct kw_device_event *e);
/* Adds how busy the device was and the notes about both, and frees what was held. False: there was no kernel. */
bool kw_device_events_finish(struct kw_device_events *d);

#endif
