/* timing.h - clocks around launches: is the device waited for before the second reading, is a flush of the cache inside the window.
 *
 *     struct kw_timing w = { .out = launches };
 *     for each statement, in order
 *             kw_timing_step(&w, KW_TIMING_LAUNCH, line, text);
 *
 * What is found is a launch of its own, "the timing". Any thread. */
#ifndef KW_PROFILE_TIMING_H
#define KW_PROFILE_TIMING_H

#include "profile/launches.h"

enum kw_timing_event { KW_TIMING_NOTHING, KW_TIMING_CLOCK, KW_TIMING_EVENT, KW_TIMING_LAUNCH, KW_TIMING_WAIT, KW_TIMING_FLUSH };
struct kw_timing {
	struct kw_launches *out;
	struct kw_launch *k;
	bool clock, event, launched, flushed_before, flushed_inside;
	int line;
};
void kw_timing_step(struct kw_timing *w, enum kw_timing_event e, int line, struct kw_str text);
/* Another function begins: no window reaches into it. */
void kw_timing_forget(struct kw_timing *w);
/* What a line of Python does; device: the file uses one, so that any call may launch. */
enum kw_timing_event kw_timing_python(struct kw_str line, bool device);

#endif
