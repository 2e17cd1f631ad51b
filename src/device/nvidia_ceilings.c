/* Measured ceilings of an NVIDIA device, and what launches and events cost. */
#include "device/nvidia.h"

#include "base/clock.h"
#include "base/log.h"
#include "device/ceiling_store.h"
#include "device/nvidia_ptx.h"

#include <math.h>
#include <stdlib.h>

#define CEILING_TIMES 9
#define CEILING_TIMES_MANY 25          /* of batches of short calls, which scatter */
#define MANY_CALLS 64
#define FMA_ROUNDS 1024
#define FMA_LAUNCHES 6                 /* of half a millisecond */
#define CEILING_MAX_BYTES ((int64_t)4 << 30) /* beyond it nothing changes */

/* A graph of launches on slots of a session, in an order drawn anew for each batch: in the memory that candidates get, as their
 * batches go through it. What lies in one piece needs fewer address translations: 10% less time was seen at 1 MiB; slots in
 * their order took 1% more at 16 MiB. */
struct series {
	struct nvidia *n;
	enum kw_ceiling_kind kind;
	const struct gpu_session *session;
	cuda_ptr sink;
	size_t call_bytes;             /* read + written */
	int slots, count;              /* count: launches of a batch; half a batch has half of them */
	int order[NVIDIA_MOST_SLOTS];
};

static cuda_ptr buffer_at(const struct series *s, int slot, int buffer)
{
	const struct gpu_buffer *b = kw_gpu_buffer(s->session, slot, buffer);

	return b->map + b->offset;
}

static enum kw_status launch_one(const struct series *s, int i, cuda_stream stream, struct kw_error *err)
{
	struct nvidia *n = s->n;
	cuda_ptr sink = s->sink, x = s->session ? buffer_at(s, s->order[i], 0) : 0;
	cuda_ptr y = s->session && s->kind == KW_CEILING_COPY ? buffer_at(s, s->order[i], 1) : 0;
	uint64_t all = s->call_bytes / 16, half = all / 2;
	unsigned rounds = FMA_ROUNDS, blocks = (unsigned)n->base.hardware.units * 8;
	void *read[] = { &x, &all, &sink }, *write[] = { &x, &all }, *copy[] = { &y, &x, &half }, *fma[] = { &sink, &rounds };

	switch (s->kind) {
	case KW_CEILING_READ:
		return kw_nvidia_sweep(n, n->read, read, all, stream, err);
	case KW_CEILING_WRITE:
		return kw_nvidia_sweep(n, n->write, write, all, stream, err);
	case KW_CEILING_COPY:
		return kw_nvidia_sweep(n, n->copy, copy, half, stream, err);
	case KW_CEILING_MATRIX:
		break;
	case KW_CEILING_FLOPS_F32:
	case KW_CEILING_FLOPS_F64:
		return kw_cuda_status(n->cu, n->cu->LaunchKernel(s->kind == KW_CEILING_FLOPS_F32 ? n->fma32 : n->fma64, blocks, 1, 1,
								 KW_PTX_THREADS, 1, 1, 0, stream, fma, NULL),
				      "cuLaunchKernel", err);
	}
	return kw_fail(err, KW_ERR_BUG, "", "an unknown kind of ceiling");
}

static enum kw_status make_graph(const struct series *s, int count, cuda_stream stream, cuda_graph_exec *out,
				 struct kw_error *err)
{
	const struct kw_cuda *cu = s->n->cu;
	cuda_graph graph = NULL;
	enum kw_status st = kw_cuda_status(cu, cu->StreamBeginCapture(stream, 1), "cuStreamBeginCapture", err);

	*out = NULL;
	if (st != KW_OK)
		return st;
	for (int i = 0; i < count && st == KW_OK; i++)
		st = launch_one(s, i, stream, err);
	if (cu->StreamEndCapture(stream, &graph) != CUDA_SUCCESS && st == KW_OK)
		st = kw_fail(err, KW_ERR_ENV, "", "cuStreamEndCapture failed");
	if (st == KW_OK)
		st = kw_cuda_status(cu, cu->GraphInstantiate(out, graph, 0), "cuGraphInstantiate", err);
	if (graph)
		cu->GraphDestroy(graph);
	return st;
}

static enum kw_status time_graph(const struct nvidia *n, cuda_graph_exec g, cuda_stream stream, const cuda_event *e,
				 double *seconds, struct kw_error *err)
{
	const struct kw_cuda *cu = n->cu;
	float ms = 0;
	enum kw_status st;

	cu->EventRecord(e[0], stream);
	st = kw_cuda_status(cu, cu->GraphLaunch(g, stream), "cuGraphLaunch", err);
	cu->EventRecord(e[1], stream);
	if (st == KW_OK)
		st = kw_cuda_status(cu, cu->StreamSynchronize(stream), "cuStreamSynchronize", err);
	if (st == KW_OK)
		st = kw_cuda_status(cu, cu->EventElapsed(&ms, e[0], e[1]), "cuEventElapsedTime", err);
	*seconds = ms / 1e3;
	return st;
}

/* As kw_nvidia_flush. */
static enum kw_status flush(const struct nvidia *n, cuda_stream stream, struct kw_error *err)
{
	cuda_ptr x = n->scratch, sink = n->scratch;
	uint64_t vectors = n->scratch_bytes / 16;
	void *args[] = { &x, &vectors, &sink };
	enum kw_status st = kw_nvidia_sweep(n, n->read, args, vectors, stream, err);

	return st == KW_OK ? kw_cuda_status(n->cu, n->cu->StreamSynchronize(stream), "cuStreamSynchronize", err) : st;
}

static enum kw_status time_batch(const struct series *s, int count, cuda_stream stream, const cuda_event *e, double *seconds,
				 struct kw_error *err)
{
	cuda_graph_exec graph = NULL;
	enum kw_status st = make_graph(s, count, stream, &graph, err);

	if (st == KW_OK)
		st = kw_cuda_status(s->n->cu, s->n->cu->GraphUpload(graph, stream), "cuGraphUpload", err);
	if (st == KW_OK && s->session)
		st = flush(s->n, stream, err);
	if (st == KW_OK)
		st = time_graph(s->n, graph, stream, e, seconds, err);
	if (graph)
		s->n->cu->GraphExecDestroy(graph);
	return st;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void shuffle(struct series *s, uint64_t *state)
{
	for (int i = 0; i < s->slots; i++)
		s->order[i] = i;
	for (int i = s->slots - 1; i > 0; i--) {
		int j, t = s->order[i];

		*state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth, TAOCP volume 2, 3.3.4: an order, no secret */
		j = (int)((*state >> 33) % (uint64_t)(i + 1));
		s->order[i] = s->order[j];
		s->order[j] = t;
	}
}

/* As the judge times a candidate: whole batches less half ones, in turns as to which goes first, in fresh orders, from flushed
 * caches; the median. */
static enum kw_status slope(struct series *s, double *seconds, struct kw_error *err)
{
	const struct kw_cuda *cu = s->n->cu;
	cuda_stream stream = NULL;
	cuda_event e[2] = { NULL, NULL };
	double times[CEILING_TIMES_MANY];
	uint64_t state = kw_random_u64();
	int kept = 0, half = s->count / 2, turns = s->count > MANY_CALLS ? CEILING_TIMES_MANY : CEILING_TIMES;
	enum kw_status st = kw_cuda_status(cu, cu->StreamCreate(&stream, 1), "cuStreamCreate", err);

	*seconds = 0;
	for (int i = 0; i < 2 && st == KW_OK; i++)
		st = kw_cuda_status(cu, cu->EventCreate(&e[i], 0), "cuEventCreate", err);
	for (int i = 0; i < turns && st == KW_OK; i++) {
		double whole = 0, part = 0, t;

		shuffle(s, &state);
		if (i % 2)
			st = time_batch(s, half, stream, e, &part, err);
		if (st == KW_OK)
			st = time_batch(s, s->count, stream, e, &whole, err);
		if (st == KW_OK && i % 2 == 0)
			st = time_batch(s, half, stream, e, &part, err);
		t = (whole - part) / (s->count - half);
		if (i > 0 && t > 0) /* the first one loads the code */
			times[kept++] = t;
	}
	qsort(times, (size_t)kept, sizeof(times[0]), by_value);
	if (kept)
		*seconds = kept % 2 ? times[kept / 2] : (times[kept / 2 - 1] + times[kept / 2]) / 2;
	return st;
}

static bool is_flops(enum kw_ceiling_kind k)
{
	return k == KW_CEILING_FLOPS_F32 || k == KW_CEILING_FLOPS_F64;
}

static const char by_slope[] = "cold, slope of batches, a copy by 16 bytes a thread", by_chains[] = "multiply-add chains";

static enum kw_status measure_one(struct nvidia *n, enum kw_ceiling_kind kind, int64_t call, struct kw_ceiling *out,
				  struct kw_error *err)
{
	struct kw_device *d = &n->base;
	double seconds = 0;
	size_t half = (size_t)call / 2;
	struct kw_buffer_spec parts[2] = { { .name = "x", .bytes = kind == KW_CEILING_COPY ? half : (size_t)call, .align_bytes = 64 },
					   { .name = "y", .bytes = half, .align_bytes = 64 } };
	struct kw_session_opts o = { .buffers = parts, .buffer_count = kind == KW_CEILING_COPY ? 2 : 1, .slots = NVIDIA_MOST_SLOTS,
				     .placement = KW_PLACE_END };
	struct series s = { .n = n, .kind = kind, .call_bytes = (size_t)call };
	struct kw_session *session = NULL;
	enum kw_status st = kw_nvidia_enter(n, err);

	if (st != KW_OK)
		return st;
	/* As many as a candidate's batch has: so many pages are in use. */
	if (call > 0 && d->batch_bytes < (double)call * o.slots)
		o.slots = d->batch_bytes > 2 * (double)call ? (int)(d->batch_bytes / (double)call) + 1 : 2;
	o.tensor_count = o.buffer_count;
	if (call > 0)
		st = kw_nvidia_session_new(d, &o, &session, err);
	for (; st == KW_ERR_LIMIT && o.slots > 2; st = kw_nvidia_session_new(d, &o, &session, err)) {
		if (err)
			kw_error_reset(err);
		o.slots /= 2; /* memory is short: fewer of them are better than none */
	}
	if (st == KW_ERR_LIMIT)
		return KW_NO;
	s.session = session ? kw_gpu_session_of(session) : NULL;
	s.slots = session ? o.slots : 0;
	s.count = session ? o.slots : FMA_LAUNCHES;
	if (st == KW_OK)
		st = kw_cuda_status(n->cu, n->cu->MemAlloc(&s.sink, 4096), "cuMemAlloc", err);
	if (st == KW_OK)
		st = slope(&s, &seconds, err);
	if (s.sink)
		n->cu->MemFree(s.sink);
	kw_nvidia_session_free(session);
	if (st != KW_OK)
		return st;
	if (seconds <= 0)
		return KW_NO;
	*out = (struct kw_ceiling){ .kind = kind, .bytes = call, .method = is_flops(kind) ? by_chains : by_slope };
	out->per_s = is_flops(kind) ? 2.0 * KW_PTX_FMAS * FMA_ROUNDS * KW_PTX_THREADS * 8.0 * d->hardware.units / seconds :
				      (double)call / seconds;
	return KW_OK;
}

/* So many slots of so many bytes: as in measure_one. */
static bool fits_in_cache(const struct kw_device *d, enum kw_ceiling_kind kind, int64_t call)
{
	double slots = d->batch_bytes < (double)call * NVIDIA_MOST_SLOTS ? fmax(2, d->batch_bytes / (double)call + 1) : NVIDIA_MOST_SLOTS;

	return !is_flops(kind) && slots * (double)call < 2 * (double)d->hardware.l2_bytes;
}

/* Sizes within one hundredth of each other: what differs between them is less than what a measurement repeats to. */
static bool serves(const struct kw_ceiling *known, enum kw_ceiling_kind kind, int64_t call)
{
	return known->kind == kind && llabs(known->bytes - call) <= call / 100;
}

/* Known in this process, or from the file that an earlier one left, or measured now. */
enum kw_status kw_nvidia_ceiling(struct kw_device *d, enum kw_ceiling_kind kind, int64_t bytes, enum kw_measure measure,
				 struct kw_ceiling *out, struct kw_error *err)
{
	enum { KEPT = 64 };
	static const char *const names[] = { "read", "write", "copy", "flops_f32", "flops_f64" };
	static const char *const methods[] = { by_slope, by_chains, NULL };
	static struct kw_ceiling kept[KEPT];
	static int count;
	int64_t call = is_flops(kind) ? 0 : bytes < CEILING_MAX_BYTES ? (bytes + 31) / 32 * 32 : CEILING_MAX_BYTES, start;
	enum kw_status st;
	int at = 0;

	if ((size_t)kind >= sizeof(names) / sizeof(names[0]))
		return KW_NO;
	while (at < count && !serves(&kept[at], kind, call))
		at++;
	if (at < count && measure != KW_MEASURE_AGAIN) {
		*out = kept[at];
		return KW_OK;
	}
	*out = (struct kw_ceiling){ .kind = kind, .bytes = call };
	if (measure == KW_MEASURE_AGAIN || !kw_ceiling_kept(&d->hardware, names[kind], call, methods, out)) {
		if (!measure)
			return KW_NO;
		start = kw_now_ns();
		st = measure_one(kw_nvidia_of(d), kind, call, out, err);
		if (st != KW_OK)
			return st;
		kw_log(KW_LOG_DEBUG, "nvidia: the ceiling %s at %lld bytes was measured in %.0f ms", names[kind], (long long)call,
		       (double)(kw_now_ns() - start) * 1e-6);
		if (measure == KW_MEASURE_AGAIN) /* what a judgement measures beside other work is good for it only */
			kw_ceiling_keep(&d->hardware, names[kind], out, kw_device_state_json(d));
	}
	out->in_cache = fits_in_cache(d, kind, call);
	if (at < KEPT)
		kept[at] = *out;
	count += at == count && at < KEPT;
	return KW_OK;
}

/* ---- overheads ---- */

enum { LAUNCHES = 2000, EVENT_TIMES = 201 };

/* Nothing to write: its threads find that and end. */
static enum kw_status launch_empty(const struct nvidia *n, cuda_stream stream, struct kw_error *err)
{
	cuda_ptr none = n->scratch;
	uint64_t vectors = 0;
	void *args[] = { &none, &vectors };

	return kw_cuda_status(n->cu, n->cu->LaunchKernel(n->write, 1, 1, 1, KW_PTX_THREADS, 1, 1, 0, stream, args, NULL),
			      "cuLaunchKernel", err);
}

static enum kw_status time_events(const struct nvidia *n, cuda_stream stream, const cuda_event *e, double *ns, struct kw_error *err)
{
	double times[EVENT_TIMES];
	enum kw_status st = KW_OK;

	for (int i = 0; i < EVENT_TIMES && st == KW_OK; i++) {
		float ms = 0;

		n->cu->EventRecord(e[0], stream);
		st = launch_empty(n, stream, err);
		n->cu->EventRecord(e[1], stream);
		if (st == KW_OK)
			st = kw_cuda_status(n->cu, n->cu->StreamSynchronize(stream), "cuStreamSynchronize", err);
		if (st == KW_OK)
			st = kw_cuda_status(n->cu, n->cu->EventElapsed(&ms, e[0], e[1]), "cuEventElapsedTime", err);
		times[i] = (double)ms * 1e6;
	}
	qsort(times, EVENT_TIMES, sizeof(times[0]), by_value);
	*ns = times[EVENT_TIMES / 2];
	return st;
}

enum kw_status kw_nvidia_overheads(struct kw_device *d, struct kw_overheads *out, struct kw_error *err)
{
	struct nvidia *n = kw_nvidia_of(d);
	cuda_stream stream = NULL;
	cuda_event e[2] = { NULL, NULL };
	int64_t begin = 0;
	enum kw_status st = kw_nvidia_enter(n, err);

	*out = (struct kw_overheads){ .event_ns = 0 };
	if (st == KW_OK)
		st = kw_cuda_status(n->cu, n->cu->StreamCreate(&stream, 1), "cuStreamCreate", err);
	for (int i = 0; i < 2 && st == KW_OK; i++)
		st = kw_cuda_status(n->cu, n->cu->EventCreate(&e[i], 0), "cuEventCreate", err);
	for (int turn = 0; turn < 2 && st == KW_OK; turn++) { /* the first one warms up */
		begin = kw_now_ns();
		for (int i = 0; i < LAUNCHES && st == KW_OK; i++)
			st = launch_empty(n, stream, err);
		if (st == KW_OK)
			st = kw_cuda_status(n->cu, n->cu->StreamSynchronize(stream), "cuStreamSynchronize", err);
		out->launch_ns = (double)(kw_now_ns() - begin) / LAUNCHES;
	}
	return st == KW_OK ? time_events(n, stream, e, &out->event_ns, err) : st;
}
