#include "profile/timing.h"

#include <string.h>

#include "profile/input.h"

static void found(struct kw_timing *w, int metric, int line, struct kw_str text)
{
	if (!w->k) {
		w->k = kw_launches_add(w->out, KW_STR("the timing"), line);
		if (!w->k)
			return;
	}
	kw_launch_add_count(w->k, metric, 1);
	kw_launch_place(w->k, metric, line, text);
}

/* A window opens at a clock and closes at the next; what was enqueued before it and not waited for runs inside it. */
void kw_timing_step(struct kw_timing *w, enum kw_timing_event e, int line, struct kw_str text)
{
	switch (e) {
	case KW_TIMING_CLOCK:
		if (w->clock && w->launched)
			found(w, KW_M_TIMED_LAUNCHES, line, text);
		w->clock = !w->clock || !w->launched;
		w->flushed_inside = w->flushed_before;
		w->launched = false;
		break;
	case KW_TIMING_EVENT:
		w->event = !w->event;
		w->flushed_inside = false;
		break;
	case KW_TIMING_LAUNCH:
		if ((w->clock || w->event) && w->flushed_inside)
			found(w, KW_M_FLUSH_IN_WINDOW, w->line, text);
		w->flushed_inside = w->flushed_before = false;
		w->launched = true;
		break;
	case KW_TIMING_WAIT:
		w->launched = w->flushed_before = w->flushed_inside = false;
		break;
	case KW_TIMING_FLUSH:
		w->flushed_before = !w->event;
		w->flushed_inside = w->clock || w->event;
		w->line = line;
		break;
	case KW_TIMING_NOTHING:
		break;
	}
}

static enum kw_timing_event host_event(const struct kw_tokens *t, size_t i)
{
	static const struct {
		const char *word;
		enum kw_timing_event event;
	} words[] = { { "now", KW_TIMING_CLOCK },
		      { "clock", KW_TIMING_CLOCK },
		      { "gettimeofday", KW_TIMING_CLOCK },
		      { "omp_get_wtime", KW_TIMING_CLOCK },
		      { "clock_gettime", KW_TIMING_CLOCK },
		      { "cudaEventRecord", KW_TIMING_EVENT },
		      { "cudaDeviceSynchronize", KW_TIMING_WAIT },
		      { "cudaStreamSynchronize", KW_TIMING_WAIT },
		      { "cudaEventSynchronize", KW_TIMING_WAIT },
		      { "cudaThreadSynchronize", KW_TIMING_WAIT },
		      { "cudaMemcpy", KW_TIMING_WAIT },
		      { "hipDeviceSynchronize", KW_TIMING_WAIT },
		      { "hipStreamSynchronize", KW_TIMING_WAIT },
		      { "hipEventSynchronize", KW_TIMING_WAIT },
		      { "hipEventRecord", KW_TIMING_EVENT },
		      { "hipMemcpy", KW_TIMING_WAIT },
		      { "hipMemset", KW_TIMING_FLUSH },
		      { "hipMemsetAsync", KW_TIMING_FLUSH },
		      { "clFinish", KW_TIMING_WAIT },
		      { "cudaMemset", KW_TIMING_FLUSH },
		      { "cudaMemsetAsync", KW_TIMING_FLUSH },
		      { "flush_l2", KW_TIMING_FLUSH },
		      { "flush_cache", KW_TIMING_FLUSH } };

	if (kw_token_is(t, i, "<<<") || kw_token_is(t, i, "hipLaunchKernelGGL"))
		return KW_TIMING_LAUNCH;
	if (t->list[i].kind != KW_TOKEN_WORD || !kw_token_is(t, i + 1, "("))
		return KW_TIMING_NOTHING;
	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if (kw_token_is(t, i, words[k].word))
			return words[k].event;
	return KW_TIMING_NOTHING;
}

void kw_read_host(const struct kw_tokens *t, struct kw_launches *out)
{
	struct kw_timing w = { .out = out };

	for (size_t i = 0; i + 1 < t->count; i++)
		kw_timing_step(&w, host_event(t, i), t->list[i].line, kw_token_line(t, i));
}

/* ---- Python ---- */

static bool holds_any(struct kw_str s, const char *const *words)
{
	for (; *words; words++)
		if (kw_str_holds(s, *words))
			return true;
	return false;
}

enum kw_timing_event kw_timing_python(struct kw_str line, bool device)
{
	static const char *const clocks[] = {
		"time.time()", "perf_counter()", "perf_counter_ns()", "time.monotonic()", "timer()", "time_ns()", NULL
	};
	static const char *const waits[] = { "synchronize(",	  ".cpu()", ".item()", ".numpy()", ".tolist()",
					     "block_until_ready", NULL };
	static const char *const flushes[] = { ".zero_()", "flush", "empty_cache_l2", ".fill_(", NULL };

	if (holds_any(line, waits))
		return KW_TIMING_WAIT;
	if (holds_any(line, clocks))
		return KW_TIMING_CLOCK;
	if (kw_str_holds(line, ".record("))
		return KW_TIMING_EVENT;
	if (holds_any(line, flushes) && kw_str_holds(line, "(") && !kw_str_starts(line, "def "))
		return KW_TIMING_FLUSH;
	/* Any call may launch once the device is used at all. */
	if (device && (kw_str_holds(line, "(") || (memchr(line.ptr, '@', line.len) && *line.ptr != '@')) && !kw_str_starts(line, "def ") && !kw_str_starts(line, "for ") &&
	    !kw_str_starts(line, "print") && !kw_str_starts(line, "import") && !kw_str_starts(line, "if ") &&
	    !kw_str_starts(line, "with ") && !kw_str_starts(line, "class ") && !kw_str_starts(line, "@") &&
	    !kw_str_holds(line, "Event("))
		return KW_TIMING_LAUNCH;
	return KW_TIMING_NOTHING;
}

void kw_timing_forget(struct kw_timing *w)
{
	w->clock = w->event = w->launched = w->flushed_before = w->flushed_inside = false;
}
