/* Clocks around launches, in host code of CUDA and in Python: is the device waited for, is a flush inside the window. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "profile/input.h"

enum event { NOTHING, CLOCK, EVENT, LAUNCH, WAIT, FLUSH };

struct window {
	struct kw_launches *out;
	struct kw_launch *k;
	bool clock, event, launched, flushed_before, flushed_inside;
	int line;
};

static void found(struct window *w, int metric, int line, struct kw_str text)
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
static void step(struct window *w, enum event e, int line, struct kw_str text)
{
	switch (e) {
	case CLOCK:
		if (w->clock && w->launched)
			found(w, KW_M_TIMED_LAUNCHES, line, text);
		w->clock = !w->clock || !w->launched;
		w->flushed_inside = w->flushed_before;
		w->launched = false;
		break;
	case EVENT:
		w->event = !w->event;
		w->flushed_inside = false;
		break;
	case LAUNCH:
		if ((w->clock || w->event) && w->flushed_inside)
			found(w, KW_M_FLUSH_IN_WINDOW, w->line, text);
		w->flushed_inside = w->flushed_before = false;
		w->launched = true;
		break;
	case WAIT:
		w->launched = w->flushed_before = w->flushed_inside = false;
		break;
	case FLUSH:
		w->flushed_before = !w->event;
		w->flushed_inside = w->clock || w->event;
		w->line = line;
		break;
	case NOTHING:
		break;
	}
}

static enum event host_event(const struct kw_tokens *t, size_t i)
{
	static const struct {
		const char *word;
		enum event event;
	} words[] = { { "now", CLOCK },
		      { "clock", CLOCK },
		      { "gettimeofday", CLOCK },
		      { "omp_get_wtime", CLOCK },
		      { "clock_gettime", CLOCK },
		      { "cudaEventRecord", EVENT },
		      { "cudaDeviceSynchronize", WAIT },
		      { "cudaStreamSynchronize", WAIT },
		      { "cudaEventSynchronize", WAIT },
		      { "cudaThreadSynchronize", WAIT },
		      { "cudaMemcpy", WAIT },
		      { "hipDeviceSynchronize", WAIT },
		      { "hipStreamSynchronize", WAIT },
		      { "hipEventSynchronize", WAIT },
		      { "hipEventRecord", EVENT },
		      { "hipMemcpy", WAIT },
		      { "hipMemset", FLUSH },
		      { "hipMemsetAsync", FLUSH },
		      { "clFinish", WAIT },
		      { "cudaMemset", FLUSH },
		      { "cudaMemsetAsync", FLUSH },
		      { "flush_l2", FLUSH },
		      { "flush_cache", FLUSH } };

	if (kw_token_is(t, i, "<<<") || kw_token_is(t, i, "hipLaunchKernelGGL"))
		return LAUNCH;
	if (t->list[i].kind != KW_TOKEN_WORD || !kw_token_is(t, i + 1, "("))
		return NOTHING;
	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if (kw_token_is(t, i, words[k].word))
			return words[k].event;
	return NOTHING;
}

void kw_read_host(const struct kw_tokens *t, struct kw_launches *out)
{
	struct window w = { .out = out };

	for (size_t i = 0; i + 1 < t->count; i++)
		step(&w, host_event(t, i), t->list[i].line, kw_token_line(t, i));
}

/* ---- Python ---- */

static bool holds(struct kw_str s, const char *word)
{
	return memmem(s.ptr, s.len, word, strlen(word)) != NULL;
}

static bool holds_any(struct kw_str s, const char *const *words)
{
	for (; *words; words++)
		if (holds(s, *words))
			return true;
	return false;
}

static enum event python_event(struct kw_str line, bool device)
{
	static const char *const clocks[] = {
		"time.time()", "perf_counter()", "perf_counter_ns()", "time.monotonic()", "timer()", "time_ns()", NULL
	};
	static const char *const waits[] = { "synchronize(",	  ".cpu()", ".item()", ".numpy()", ".tolist()",
					     "block_until_ready", NULL };
	static const char *const flushes[] = { ".zero_()", "flush", "empty_cache_l2", ".fill_(", NULL };

	if (holds_any(line, waits))
		return WAIT;
	if (holds_any(line, clocks))
		return CLOCK;
	if (holds(line, ".record("))
		return EVENT;
	if (holds_any(line, flushes) && holds(line, "(") && !kw_str_starts(line, "def "))
		return FLUSH;
	/* Any call may launch once the device is used at all. */
	if (device && (holds(line, "(") || (memchr(line.ptr, '@', line.len) && *line.ptr != '@')) && !kw_str_starts(line, "def ") && !kw_str_starts(line, "for ") &&
	    !kw_str_starts(line, "print") && !kw_str_starts(line, "import") && !kw_str_starts(line, "if ") &&
	    !kw_str_starts(line, "with ") && !kw_str_starts(line, "class ") && !kw_str_starts(line, "@") &&
	    !holds(line, "Event("))
		return LAUNCH;
	return NOTHING;
}

enum { MAX_RANGES = 16 };
struct ranges {
	struct kw_str name[MAX_RANGES];
	size_t count;
};

/* tl.arange(0, 200): a block that is no power of two. */
static void arange(struct kw_launch *kernel, struct kw_str line, int number)
{
	const char *at = memmem(line.ptr, line.len, "tl.arange(", 10), *comma, *end = line.ptr + line.len;
	int64_t n = 0;

	comma = at ? memchr(at, ',', (size_t)(end - at)) : NULL;
	for (const char *p = comma ? comma + 1 : end; p < end && *p != ')'; p++) {
		if (*p >= '0' && *p <= '9' && n < 1 << 30)
			n = n * 10 + (*p - '0');
		else if (*p != ' ')
			return;
	}
	if (kernel && n > 0 && (n & (n - 1)) != 0) {
		int64_t power = 1;

		while (power < n)
			power *= 2;
		kw_launch_set(kernel, KW_M_CODE_BLOCK_LENGTH, (double)n);
		kw_launch_set(kernel, KW_M_CODE_BLOCK_POWER, (double)power);
		kw_launch_place(kernel, KW_M_CODE_BLOCK_LENGTH, number, line);
	}
}

/* `r = tl.arange(0, N)`, also with something added: r runs with the lanes. */
static void lane_name(struct ranges *r, struct kw_str line)
{
	const char *equals = memchr(line.ptr, '=', line.len);
	struct kw_str name;

	if (!equals || !holds(line, "tl.arange(") || r->count == MAX_RANGES)
		return;
	name = kw_str_trim((struct kw_str){ line.ptr, (size_t)(equals - line.ptr) });
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '_')
			return;
	if (name.len && !holds((struct kw_str){ equals, (size_t)(line.ptr + line.len - equals) }, "["))
		r->name[r->count++] = name;
}

/* tl.load(x + r * cols + c): neighbouring lanes are a row apart. Blocks of two dimensions have one that runs along memory. */
static bool is_strided(const struct ranges *r, struct kw_str line)
{
	if ((!holds(line, "tl.load(") && !holds(line, "tl.store(")) || holds(line, "["))
		return false;
	for (size_t n = 0; n < r->count; n++)
		for (size_t i = 0; i + r->name[n].len < line.len; i++) {
			const char *p = line.ptr + i, *end = line.ptr + line.len, *next = p + r->name[n].len;

			if (memcmp(p, r->name[n].ptr, r->name[n].len) != 0 || (i && (isalnum((unsigned char)p[-1]) || p[-1] == '_')))
				continue;
			while (next < end && *next == ' ')
				next++;
			if (next + 1 < end && *next == '*' && next[1] != '*')
				return true;
		}
	return false;
}

void kw_read_python(const char *text, size_t len, struct kw_launches *out)
{
	struct kw_str rest = { text, len }, line, all = { text, len };
	bool device = holds(all, "cuda") || holds(all, "triton");
	struct window w = { .out = out };
	struct kw_launch *kernel = NULL;
	struct ranges lanes = { .count = 0 };
	int number = 0;

	out->form = "Python source";
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		const char *hash = memchr(line.ptr, '#', line.len);

		number++;
		if (hash)
			line.len = (size_t)(hash - line.ptr);
		line = kw_str_trim(line);
		if (line.len == 0)
			continue;
		arange(kernel, line, number);
		lane_name(&lanes, line);
		if (kernel && is_strided(&lanes, line)) {
			kw_launch_add_count(kernel, KW_M_CODE_STRIDED, 1);
			kw_launch_place(kernel, KW_M_CODE_STRIDED, number, line);
		}
		if (kw_str_starts(line, "@triton.jit")) {
			lanes.count = 0;
			kernel = kw_launches_add(out, KW_STR("a Triton kernel"), number);
			if (kernel)
				kernel->value[KW_M_GPU] = 1;
		} else if (kernel && kw_str_starts(line, "def ")) {
			size_t n = 0;

			while (4 + n < line.len && line.ptr[4 + n] != '(')
				n++;
			kernel->kernel = kw_launches_intern(out, (struct kw_str){ line.ptr + 4, n });
		} else if (kernel && holds(line, "tl.atomic_add")) {
			kw_launch_add_count(kernel, KW_M_CODE_ATOMIC_GLOBAL, 1);
			kw_launch_place(kernel, KW_M_CODE_ATOMIC_GLOBAL, number, line);
		} else if (kernel && holds(line, "tl.dot")) {
			kw_launch_add_count(kernel, KW_M_CODE_MATRIX, 1);
		} else if (kernel && (holds(line, "tl.float64"))) {
			kw_launch_add_count(kernel, KW_M_CODE_DOUBLES, 1);
		}
		if (kw_str_starts(line, "def "))
			w.clock = w.event = w.launched = w.flushed_before = w.flushed_inside = false;
		step(&w, python_event(line, device), number, line);
	}
}
