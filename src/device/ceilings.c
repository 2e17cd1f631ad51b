/* Measured ceilings of the CPU (design 7): the same kind and size of work as a case's, by the method of its timed calls:
 * a batch of calls, each on buffers of its own that were dropped from the caches before, in pages as the judge's buffers
 * have them. Each kind of work is done in several ways; the fastest pass of the fastest way is the ceiling. */
#include "device/cpu.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "device/ceiling_loops.h"
#include "device/ceiling_store.h"
#include "device/device.h"
#include "device/flush.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	MAX_THREADS = 64,
	MIN_PASSES = 4,
	MAX_PASSES = 400,
	GRAIN = 4096,                     /* a thread's part is a multiple of it */
	MAX_CALLS = 512,                  /* of one pass */
	HUGE_PAGE = 2 << 20,
	MAX_ENTRIES = 128,
};
static const int64_t way_budget_ns = 100000000;   /* for the passes of one way, once there are a few */
static const int64_t pass_bytes = 64 << 20;       /* that the calls of a pass go through, as in a timed batch */
static const int64_t max_footprint = (int64_t)1 << 29;

/* Ways of doing one kind of work; the best one is the ceiling. */
enum way {
	WAY_READ, WAY_READ_STREAMS, WAY_READ_AHEAD,
	WAY_WRITE, WAY_WRITE_STREAM,
	WAY_COPY, WAY_COPY_STREAM, WAY_COPY_STREAMS,
	WAY_F32, WAY_F64,
	WAY_COUNT
};
static const struct {
	enum kw_ceiling_kind kind;
	const char *method;
} ways[WAY_COUNT] = {
	[WAY_READ] = { KW_CEILING_READ, "flushed, plain loads" },
	[WAY_READ_STREAMS] = { KW_CEILING_READ, "flushed, four streams a thread" },
	[WAY_READ_AHEAD] = { KW_CEILING_READ, "flushed, two streams a thread with prefetch" },
	[WAY_WRITE] = { KW_CEILING_WRITE, "flushed, plain stores" },
	[WAY_WRITE_STREAM] = { KW_CEILING_WRITE, "flushed, streaming stores" },
	[WAY_COPY] = { KW_CEILING_COPY, "flushed, plain copy" },
	[WAY_COPY_STREAM] = { KW_CEILING_COPY, "flushed, streaming stores" },
	[WAY_COPY_STREAMS] = { KW_CEILING_COPY, "flushed, streaming stores, four streams a thread" },
	[WAY_F32] = { KW_CEILING_FLOPS_F32, "multiply-add chains" },
	[WAY_F64] = { KW_CEILING_FLOPS_F64, "multiply-add chains" },
};
static const char *const kind_names[] = { "read", "write", "copy", "flops_f32", "flops_f64" };

static bool is_flops(enum kw_ceiling_kind k)
{
	return k == KW_CEILING_FLOPS_F32 || k == KW_CEILING_FLOPS_F64;
}

/* ---- a team of threads that takes part in every call, as an OpenMP loop's does ---- */

struct team {
	enum way way;
	int threads;
	char *memory;                     /* `calls` buffers of call_bytes */
	int64_t call_bytes;               /* of one buffer: what is read, written, or both halves of a copy */
	int64_t calls, rounds;            /* rounds: of arithmetic per thread */
	_Atomic int64_t started, done;    /* calls begun; parts finished */
	_Atomic bool stop;
	bool disturbed;                   /* other programs took the cores meanwhile */
	_Atomic uint64_t sink;
};
struct member {
	struct team *team;
	int index;
};

static void compute(const struct team *t)
{
	if (t->way == WAY_F32)
		kw_loop_fma_f32(t->rounds);
	else
		kw_loop_fma_f64(t->rounds);
}

static void work(struct team *t, int64_t call, int index)
{
	bool both = ways[t->way].kind == KW_CEILING_COPY;
	int64_t span = both ? t->call_bytes / 2 : t->call_bytes, grains = span / GRAIN;
	int64_t from = grains * index / t->threads * GRAIN, to = grains * (index + 1) / t->threads * GRAIN;
	size_t n = (size_t)(to - from);
	char *a, *b;

	if (!t->memory) {
		compute(t);
		return;
	}
	a = t->memory + call % t->calls * t->call_bytes;
	b = a + (both ? span : 0);
	switch (t->way) {
	case WAY_READ: t->sink += kw_loop_read(a + from, n); break;
	case WAY_READ_STREAMS: t->sink += kw_loop_read_streams(a + from, n); break;
	case WAY_READ_AHEAD: t->sink += kw_loop_read_ahead(a + from, n); break;
	case WAY_WRITE: kw_loop_write(a + from, n); break;
	case WAY_WRITE_STREAM: kw_loop_write_stream(a + from, n); break;
	case WAY_COPY: kw_loop_copy(b + from, a + from, n); break;
	case WAY_COPY_STREAM: kw_loop_copy_stream(b + from, a + from, n); break;
	case WAY_COPY_STREAMS: kw_loop_copy_streams(b + from, a + from, n); break;
	default: break;
	}
}

/* Spins for a while, then lets others run: the cores may not be ours alone. */
static void wait_a_little(int *spins)
{
	if (++*spins > 2000) {
		sched_yield();
		return;
	}
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static void *serve(void *arg)
{
	struct member *m = arg;
	struct team *t = m->team;

	for (int64_t call = 0;; call++) {
		int spins = 0;

		while (atomic_load_explicit(&t->started, memory_order_acquire) <= call && !atomic_load(&t->stop))
			wait_a_little(&spins);
		if (atomic_load(&t->stop))
			return NULL;
		work(t, call, m->index);
		atomic_fetch_add_explicit(&t->done, 1, memory_order_release);
	}
}

/* One call: begin, do the own part, wait for the others'. */
static void one_call(struct team *t, int64_t call)
{
	int spins = 0;

	atomic_store_explicit(&t->started, call + 1, memory_order_release);
	work(t, call, 0);
	while (atomic_load_explicit(&t->done, memory_order_acquire) < (call + 1) * (t->threads - 1))
		wait_a_little(&spins);
}

static int64_t process_cpu_ns(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

/* All calls once, from memory. Their time: without that of the flush. */
static int64_t one_pass(struct team *t, int64_t *call)
{
	int64_t start;

	if (t->memory)
		kw_flush_range(t->memory, (size_t)(t->calls * t->call_bytes));
	start = kw_now_ns();
	for (int64_t k = 0; k < t->calls; k++)
		one_call(t, (*call)++);
	return kw_now_ns() - start;
}

/* Calls per second in the fastest pass. */
static double fastest_pass(struct team *t)
{
	pthread_t ids[MAX_THREADS];
	struct member members[MAX_THREADS];
	int64_t call = 0, begin = kw_now_ns(), cpu = process_cpu_ns();
	int started = 1;
	double best = 0;

	t->started = t->done = 0;
	t->stop = false;
	for (; started < t->threads; started++) {
		members[started] = (struct member){ t, started };
		if (pthread_create(&ids[started], NULL, serve, &members[started]) != 0)
			break;
	}
	t->threads = started;
	one_pass(t, &call); /* warms up */
	for (int pass = 0; pass < MAX_PASSES; pass++) {
		best = fmax(best, (double)t->calls / ((double)one_pass(t, &call) * 1e-9));
		if (pass + 1 >= MIN_PASSES && kw_now_ns() - begin > way_budget_ns)
			break;
	}
	/* The team spins where it waits, so alone it uses all of its cores. */
	t->disturbed = (double)(process_cpu_ns() - cpu) < 0.9 * started * (double)(kw_now_ns() - begin);
	t->stop = true;
	for (int k = 1; k < started; k++)
		pthread_join(ids[k], NULL);
	return best;
}

/* ---- measuring ---- */

struct measured {
	double per_s;
	const char *method;
	bool disturbed;
};

static void measure_way(enum way way, char *memory, int64_t call_bytes, int64_t calls, struct measured *best)
{
	int usable = kw_host_cores();
	int counts[2] = { usable > MAX_THREADS ? MAX_THREADS : usable, 1 };

	/* A small call may be faster on one core than shared out. */
	for (int i = 0; i < (call_bytes < 4 << 20 && counts[0] > 1 ? 2 : 1); i++) {
		struct team t = { .way = way, .threads = counts[i], .memory = memory, .call_bytes = call_bytes,
				  .calls = calls };
		double rate = fastest_pass(&t) * (double)call_bytes;

		if (rate > best->per_s)
			*best = (struct measured){ rate, ways[way].method, t.disturbed };
	}
}

/* Aligned to huge pages, and in them where the judge's buffers are: from two of them on (slots.c). NULL: not to be had. */
static char *map_ring(size_t footprint, int64_t call_bytes, void **mapped, size_t *mapped_bytes)
{
	char *at;

	*mapped_bytes = footprint + HUGE_PAGE;
	*mapped = mmap(NULL, *mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (*mapped == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)*mapped + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
	madvise(at, footprint, call_bytes / 2 >= 2 * HUGE_PAGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	kw_loop_write(at, footprint); /* what was never written is one page of zeros */
	return at;
}

static enum kw_status measure_memory(enum kw_ceiling_kind kind, int64_t bytes, struct measured *best,
				     struct kw_error *err)
{
	int64_t most = kw_memory_available() / 4, calls;
	size_t mapped_bytes;
	void *mapped;
	char *memory;

	most = most < max_footprint ? most : max_footprint;
	bytes = bytes < most ? bytes : most;
	bytes = (bytes + 2 * GRAIN - 1) / (2 * GRAIN) * (2 * GRAIN);
	calls = (pass_bytes + bytes - 1) / bytes;
	calls = calls < MAX_CALLS ? calls : MAX_CALLS;
	memory = map_ring((size_t)(calls * bytes), bytes, &mapped, &mapped_bytes);
	if (!memory)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to measure a ceiling (%lld MiB)",
			       (long long)(calls * bytes >> 20));
	for (int w = 0; w < WAY_COUNT; w++)
		if (ways[w].kind == kind)
			measure_way((enum way)w, memory, bytes, calls, best);
	munmap(mapped, mapped_bytes);
	return KW_OK;
}

static void measure_flops(enum kw_ceiling_kind kind, struct measured *best)
{
	int usable = kw_host_cores();
	struct team t = { .way = kind == KW_CEILING_FLOPS_F32 ? WAY_F32 : WAY_F64, .calls = 1, .rounds = 1 << 17 };
	double flops;

	t.threads = usable > MAX_THREADS ? MAX_THREADS : usable;
	flops = t.way == WAY_F32 ? kw_loop_fma_f32(1) : kw_loop_fma_f64(1);
	flops *= (double)t.rounds * fastest_pass(&t);
	*best = (struct measured){ flops * t.threads, ways[t.way].method, t.disturbed };
}

/* ---- what is known: in this process, and in a small file ---- */

struct entry {
	enum kw_ceiling_kind kind;
	int64_t bytes, when_ms;
	double per_s;
	const char *method;
	bool disturbed;                   /* good for this process, not to be kept */
};
static struct entry entries[MAX_ENTRIES];
static size_t entry_count;
static bool loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Sizes are measured in steps of a half octave; beyond four times the cache they are all alike. */
static int64_t size_class(const struct kw_hardware *h, enum kw_ceiling_kind kind, int64_t bytes)
{
	int64_t cache = h->last_level_cache_bytes ? h->last_level_cache_bytes : 32 << 20;

	if (is_flops(kind))
		return 0;
	if (bytes >= 4 * cache)
		return 4 * cache;
	if (bytes <= 2 * GRAIN)
		return 2 * GRAIN;
	return (int64_t)exp2(round(2 * log2((double)bytes)) / 2);
}

static void machine_text(const struct kw_hardware *h, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s, %d cores, %s", h->name, kw_host_cores(), h->arch);
}

static const char *static_method(const char *text)
{
	for (int w = 0; w < WAY_COUNT; w++)
		if (strcmp(ways[w].method, text) == 0)
			return ways[w].method;
	return NULL;
}

static void load_entries(const struct kw_hardware *h)
{
	char machine[256];
	json_t *list;
	const json_t *one;
	size_t i;

	machine_text(h, machine, sizeof(machine));
	list = kw_ceilings_read(machine);
	json_array_foreach(list, i, one) {
		struct entry e = { .bytes = kw_json_get_i64(one, "bytes", 0), .when_ms = kw_json_get_i64(one, "when_ms", 0),
				   .per_s = kw_json_get_f64(one, "per_s", 0),
				   .method = static_method(kw_json_get_str(one, "method", "")) };
		const char *kind = kw_json_get_str(one, "kind", "");
		size_t k = 0;

		while (k < sizeof(kind_names) / sizeof(kind_names[0]) && strcmp(kind, kind_names[k]) != 0)
			k++;
		/* By another method than ours: not to be compared with. */
		if (k == sizeof(kind_names) / sizeof(kind_names[0]) || !(e.per_s > 0) || !e.method ||
		    entry_count == MAX_ENTRIES || kw_wall_ms() - e.when_ms > kw_ceiling_keep_ms)
			continue;
		e.kind = (enum kw_ceiling_kind)k;
		entries[entry_count++] = e;
	}
	json_decref(list);
	loaded = true;
}

static void save_entries(const struct kw_hardware *h)
{
	char machine[256], when[32];
	json_t *list = json_array();

	machine_text(h, machine, sizeof(machine));
	for (size_t i = 0; i < entry_count; i++)
		if (!entries[i].disturbed)
			json_array_append_new(list, json_pack("{s:s,s:I,s:f,s:s,s:I,s:s}", "kind", kind_names[entries[i].kind],
						      "bytes", (json_int_t)entries[i].bytes, "per_s", entries[i].per_s,
						      "method", entries[i].method, "when_ms",
						      (json_int_t)entries[i].when_ms, "when",
						      kw_wall_text(entries[i].when_ms, when, sizeof(when))));
	kw_ceilings_write(machine, list);
}

static struct entry *find_entry(enum kw_ceiling_kind kind, int64_t bytes)
{
	for (size_t i = 0; i < entry_count; i++)
		if (entries[i].kind == kind && entries[i].bytes == bytes)
			return &entries[i];
	return NULL;
}

/* old: what is known, or NULL. */
static enum kw_status measure_entry(const struct kw_hardware *h, enum kw_ceiling_kind kind, int64_t bytes,
				    struct entry *old, struct entry **out, struct kw_error *err)
{
	struct entry new;
	struct measured best = { 0 };
	enum kw_status s = KW_OK;

	if (is_flops(kind))
		measure_flops(kind, &best);
	else
		s = measure_memory(kind, bytes, &best, err);
	if (s != KW_OK)
		return s;
	new = (struct entry){ kind, bytes, kw_wall_ms(), best.per_s, best.method, best.disturbed };
	*out = old;
	if (old && new.disturbed && new.per_s < old->per_s)
		return KW_OK;
	if (!old && entry_count == MAX_ENTRIES) /* the oldest goes */
		memmove(entries, entries + 1, --entry_count * sizeof(entries[0]));
	if (!old)
		*out = &entries[entry_count++];
	**out = new;
	if (best.disturbed)
		kw_log(KW_LOG_DEBUG, "other programs took the cores while a ceiling was measured; it is not kept");
	else
		save_entries(h);
	return KW_OK;
}

enum kw_status kw_cpu_ceiling(const struct kw_hardware *h, enum kw_ceiling_kind kind, int64_t bytes,
			      enum kw_measure measure, struct kw_ceiling *out, struct kw_error *err)
{
	int64_t class_bytes = size_class(h, kind, bytes);
	struct entry *e;
	enum kw_status s = KW_OK;

	pthread_mutex_lock(&lock);
	if (!loaded)
		load_entries(h);
	e = find_entry(kind, class_bytes);
	if (measure == KW_MEASURE_AGAIN || (!e && measure))
		s = measure_entry(h, kind, class_bytes, e, &e, err);
	else if (!e)
		s = kw_fail(err, KW_NO, "", "this ceiling has not been measured yet");
	if (s == KW_OK)
		*out = (struct kw_ceiling){ .kind = kind, .bytes = is_flops(kind) ? 0 : bytes, .per_s = e->per_s,
					    .in_cache = !is_flops(kind) && bytes < 2 * h->last_level_cache_bytes,
					    .method = e->method };
	pthread_mutex_unlock(&lock);
	return s;
}
