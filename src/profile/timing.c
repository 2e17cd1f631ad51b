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

enum { MAX_RANGES = 64, MAX_BLOCKS = 64 };
struct ranges {
	struct kw_str name[MAX_RANGES];
	size_t count;
};
/* Parameters that give a range its length, by kernel: a launch gives them a value. */
struct blocks {
	struct {
		struct kw_launch *kernel;
		struct kw_str name;
	} list[MAX_BLOCKS];
	size_t count;
};

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void block_length(struct kw_launch *kernel, int64_t n, struct kw_str line, int number)
{
	int64_t power = 1;

	if (!kernel || n <= 0 || (n & (n - 1)) == 0)
		return;
	while (power < n)
		power *= 2;
	kw_launch_set(kernel, KW_M_CODE_BLOCK_LENGTH, (double)n);
	kw_launch_set(kernel, KW_M_CODE_BLOCK_POWER, (double)power);
	kw_launch_place(kernel, KW_M_CODE_BLOCK_LENGTH, number, line);
}

/* tl.arange(0, 200): a block that is no power of two. tl.arange(0, BLOCK): as long as a launch says. */
static void arange(struct kw_launch *kernel, struct blocks *blocks, struct kw_str line, int number)
{
	const char *at = memmem(line.ptr, line.len, "tl.arange(", 10), *comma, *end = line.ptr + line.len;
	struct kw_str length;
	int64_t n = 0;

	comma = at ? memchr(at, ',', (size_t)(end - at)) : NULL;
	at = comma ? memchr(comma, ')', (size_t)(end - comma)) : NULL;
	if (!kernel || !at)
		return;
	length = kw_str_trim((struct kw_str){ comma + 1, (size_t)(at - comma - 1) });
	for (size_t i = 0; i < length.len; i++) {
		if (!in_name(length.ptr[i]))
			return;
		n = n < 1 << 30 ? n * 10 + (length.ptr[i] - '0') : n;
	}
	if (length.len && !isdigit((unsigned char)*length.ptr)) {
		if (blocks->count < MAX_BLOCKS) {
			blocks->list[blocks->count].kernel = kernel;
			blocks->list[blocks->count++].name = length;
		}
		return;
	}
	block_length(kernel, n, line, number);
}

/* `BLOCK=1000` in the launch of a kernel whose ranges are that long. */
static void launched_with(const struct blocks *blocks, const struct kw_launch *called, struct kw_str line, int number)
{
	for (size_t b = 0; b < blocks->count; b++) {
		struct kw_str name = blocks->list[b].name;

		for (size_t i = 1; blocks->list[b].kernel == called && i + name.len + 1 < line.len; i++) {
			size_t at = i + name.len;
			int64_t n = 0;

			if (memcmp(line.ptr + i, name.ptr, name.len) != 0 || in_name(line.ptr[i - 1]))
				continue;
			while (at < line.len && line.ptr[at] == ' ')
				at++;
			if (at >= line.len || line.ptr[at] != '=')
				continue;
			for (at++; at < line.len && line.ptr[at] == ' ';)
				at++;
			while (at < line.len && isdigit((unsigned char)line.ptr[at]))
				n = n < 1 << 30 ? n * 10 + (line.ptr[at++] - '0') : (at++, n);
			if (at >= line.len || line.ptr[at] == ',' || line.ptr[at] == ')')
				block_length(blocks->list[b].kernel, n, line, number);
		}
	}
}

/* The kernel that `name[grid](...)` launches. */
static struct kw_launch *called_in(const struct kw_launches *l, struct kw_str line)
{
	for (size_t i = 0; i < l->count; i++) {
		size_t n = strlen(l->list[i]->kernel);
		const char *at = n ? memmem(line.ptr, line.len, l->list[i]->kernel, n) : NULL;

		if (at && at + n < line.ptr + line.len && at[n] == '[' && (at == line.ptr || !in_name(at[-1])))
			return l->list[i];
	}
	return NULL;
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

static bool holds_name(const struct ranges *r, struct kw_str s)
{
	for (size_t n = 0; n < r->count; n++)
		for (size_t i = 0; i + r->name[n].len <= s.len; i++)
			if (memcmp(s.ptr + i, r->name[n].ptr, r->name[n].len) == 0 && (i == 0 || !in_name(s.ptr[i - 1])) &&
			    (i + r->name[n].len == s.len || !in_name(s.ptr[i + r->name[n].len])))
				return true;
	return false;
}

/* `idx = tl.load(...)` and what is made of it is data; `i = pid * B + tl.arange(0, B)` and what is made of it an element for each lane. */
static void assigned(struct ranges *ranged, struct ranges *loaded, struct kw_str line)
{
	const char *equals = memchr(line.ptr, '=', line.len);
	struct kw_str name, value;
	struct ranges *to;

	if (!equals || equals == line.ptr)
		return;
	name = kw_str_trim((struct kw_str){ line.ptr, (size_t)(equals - line.ptr) });
	value = (struct kw_str){ equals, (size_t)(line.ptr + line.len - equals) };
	for (size_t i = 0; i < name.len; i++)
		if (!in_name(name.ptr[i]))
			return;
	to = holds(value, "tl.load(") || holds_name(loaded, value) ? loaded : holds(value, "tl.arange(") || holds_name(ranged, value) ? ranged : NULL;
	if (to && name.len && to->count < MAX_RANGES)
		to->name[to->count++] = name;
}

/* Whose address an atomic has: a lane's own, the program's (one atomic for all its lanes), or one that data gives. */
static void atomic_address(struct kw_launch *kernel, const struct ranges *ranged, const struct ranges *loaded, struct kw_str line)
{
	const char *at = memmem(line.ptr, line.len, "tl.atomic_add(", 14), *end = line.ptr + line.len, *p;
	struct kw_str address;
	int open = 0;

	if (!at)
		return;
	for (p = at + 14; p < end && !(open == 0 && *p == ','); p++)
		open += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
	address = (struct kw_str){ at + 14, (size_t)(p - at - 14) };
	if (p == end || holds(address, "tl.load(") || holds_name(loaded, address))
		return;
	kw_launch_add_count(kernel, holds(address, "tl.arange(") || holds_name(ranged, address) ? KW_M_CODE_ATOMIC_OWN : KW_M_CODE_ATOMIC_GUARDED, 1);
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
	struct kw_launch *kernel = NULL, *called = NULL, *now;
	struct ranges lanes = { .count = 0 }, ranged = { .count = 0 }, loaded = { .count = 0 };
	struct blocks blocks = { .count = 0 };
	size_t kernel_indent = 0;
	bool named = false;
	int number = 0;

	out->form = "Python source";
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		const char *hash = memchr(line.ptr, '#', line.len);
		size_t indent;

		number++;
		if (hash)
			line.len = (size_t)(hash - line.ptr);
		indent = 0;
		while (indent < line.len && (line.ptr[indent] == ' ' || line.ptr[indent] == '\t'))
			indent++;
		line = kw_str_trim(line);
		if (line.len == 0)
			continue;
		/* Another function ends a kernel. */
		if (kernel && named && indent <= kernel_indent && (kw_str_starts(line, "def ") || kw_str_starts(line, "class ")))
			kernel = NULL;
		arange(kernel, &blocks, line, number);
		now = kernel ? NULL : called_in(out, line);
		called = now ? now : called;
		if (called && !kernel)
			launched_with(&blocks, called, line, number);
		if (line.ptr[line.len - 1] == ')')
			called = NULL;
		lane_name(&lanes, line);
		if (kernel)
			assigned(&ranged, &loaded, line);
		if (kernel && is_strided(&lanes, line)) {
			kw_launch_add_count(kernel, KW_M_CODE_STRIDED, 1);
			kw_launch_place(kernel, KW_M_CODE_STRIDED, number, line);
		}
		if (kw_str_starts(line, "@triton.jit")) {
			lanes.count = ranged.count = loaded.count = 0;
			kernel = kw_launches_add(out, KW_STR("a Triton kernel"), number);
			named = false;
			kernel_indent = indent;
			if (kernel) {
				kernel->value[KW_M_GPU] = 1;
				kernel->value[KW_M_CODE_MATRIX] = 0;
			}
		} else if (kernel && !named && kw_str_starts(line, "def ")) {
			size_t n = 0;

			named = true;
			while (4 + n < line.len && line.ptr[4 + n] != '(')
				n++;
			kernel->kernel = kw_launches_intern(out, (struct kw_str){ line.ptr + 4, n });
		} else if (kernel && holds(line, "tl.atomic_add")) {
			kw_launch_add_count(kernel, KW_M_CODE_ATOMIC_GLOBAL, 1);
			kw_launch_place(kernel, KW_M_CODE_ATOMIC_GLOBAL, number, line);
			atomic_address(kernel, &ranged, &loaded, line);
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
