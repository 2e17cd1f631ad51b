/* `kwright __opencl`, asked to measure: kernels of our own on one device, timed by its events. And who asks it. */
#include "device/opencl.h"
#include "device/opencl_api.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "device/ceiling_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64, ITEMS_A_UNIT = 2048, PLACES_MAX = 64, TIMES = 21, LAUNCHES = 500, ROUNDS = 4096, FMAS = 64, MEASURE_MS = 120000 };
#define MEMORY_SHARE 0.25
#define MOST_BYTES 2e9

static const char source[] =
	"kernel void k_read(global const uint4 *x, ulong n, global uint *never) {\n"
	"  uint4 a = 0;\n"
	"  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) a ^= x[i];\n"
	"  if ((a.x ^ a.y ^ a.z ^ a.w) == 0x9e3779b9u) *never = a.x;\n"
	"}\n"
	"kernel void k_write(global uint4 *x, ulong n, global uint *never) {\n"
	"  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) x[i] = (uint4)((uint)i);\n"
	"}\n"
	"kernel void k_copy(global uint4 *x, ulong n, global uint *never) {\n"
	"  for (ulong i = get_global_id(0); i < n / 2; i += get_global_size(0)) x[n / 2 + i] = x[i];\n"
	"}\n"
	"#define ROUND a = fma(a, c, c); b = fma(b, c, c); d = fma(d, c, c); e = fma(e, c, c);\n"
	"kernel void k_f32(global float *x, ulong n, global uint *never) {\n"
	"  float4 a = get_global_id(0), b = a + 1, d = a + 2, e = a + 3, c = 0.999f;\n"
	"  for (ulong i = 0; i < n; i++) { ROUND ROUND ROUND ROUND }\n" /* 4 x 4 vectors of 4: 64 multiply-adds */
	"  if (dot(a + b, d + e) == 1.2345e33f) *never = 1;\n"
	"}\n";

/* ---- the child ---- */

struct bench {
	const struct kw_cl *cl;
	void *device, *context, *queue, *program, *kernel, *never;
	void *places[PLACES_MAX];
	int place_count;
	size_t global, local;
	uint64_t n;
	const char *failed;
};

static bool step(struct bench *b, bool good, const char *what)
{
	if (!good && !b->failed)
		b->failed = what;
	return !b->failed;
}

static bool prepare(struct bench *b, const char *kernel)
{
	const char *text = source;
	size_t length = strlen(source);
	int32_t status = 0;
	uint64_t units = 1;

	b->context = b->cl->CreateContext(NULL, 1, &b->device, NULL, NULL, &status);
	if (step(b, b->context != NULL, "clCreateContext"))
		b->queue = b->cl->CreateCommandQueue(b->context, b->device, KW_CL_QUEUE_PROFILING, &status);
	if (step(b, b->queue != NULL, "a queue with profiling"))
		b->program = b->cl->CreateProgramWithSource(b->context, 1, &text, &length, &status);
	if (step(b, b->program != NULL, "clCreateProgramWithSource"))
		step(b, b->cl->BuildProgram(b->program, 1, &b->device, "-cl-mad-enable", NULL, NULL) == KW_CL_SUCCESS, "clBuildProgram");
	if (!b->failed)
		b->kernel = b->cl->CreateKernel(b->program, kernel, &status);
	if (step(b, b->kernel != NULL, "clCreateKernel"))
		b->never = b->cl->CreateBuffer(b->context, KW_CL_MEM_READ_WRITE, 64, NULL, &status);
	step(b, b->never != NULL, "clCreateBuffer");
	b->cl->GetDeviceInfo(b->device, KW_CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	b->global = (size_t)(uint32_t)units * ITEMS_A_UNIT;
	b->local = GROUP;
	return !b->failed;
}

/* Memory at several places, one after the other, so that none is in a cache when its turn comes again. */
static bool take_places(struct bench *b, size_t bytes, int64_t cache, int64_t memory)
{
	double most = MEMORY_SHARE * (double)memory < MOST_BYTES ? MEMORY_SHARE * (double)memory : MOST_BYTES;
	double wanted = 3 * (double)cache / (double)bytes + 2;
	uint8_t zero = 0;

	if (wanted * (double)bytes > most)
		wanted = most / (double)bytes;
	while (b->place_count < PLACES_MAX && (b->place_count < wanted || b->place_count < 1)) {
		int32_t status = 0;
		void *m = b->cl->CreateBuffer(b->context, KW_CL_MEM_READ_WRITE, bytes, NULL, &status);

		if (!m || b->cl->EnqueueFillBuffer(b->queue, m, &zero, 1, 0, bytes, 0, NULL, NULL) != KW_CL_SUCCESS)
			break;
		b->places[b->place_count++] = m;
	}
	return step(b, b->place_count > 0 && b->cl->Finish(b->queue) == KW_CL_SUCCESS, "memory");
}

static bool launch(struct bench *b, int i, void **event)
{
	const struct kw_cl *cl = b->cl;
	void *place = b->place_count ? b->places[i % b->place_count] : b->never;

	return step(b, cl->SetKernelArg(b->kernel, 0, sizeof(place), &place) == KW_CL_SUCCESS &&
			       cl->SetKernelArg(b->kernel, 1, sizeof(b->n), &b->n) == KW_CL_SUCCESS &&
			       cl->SetKernelArg(b->kernel, 2, sizeof(b->never), &b->never) == KW_CL_SUCCESS &&
			       cl->EnqueueNDRangeKernel(b->queue, b->kernel, 1, NULL, &b->global, &b->local, 0, NULL, event) ==
				       KW_CL_SUCCESS, "a launch");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* From the start of a launch to its end, by the device's events: the lower quartile. */
static double event_ns(struct bench *b)
{
	double times[TIMES];

	for (int i = -3; i < TIMES && !b->failed; i++) { /* the first few warm up */
		uint64_t from = 0, to = 0;
		void *event = NULL;

		if (!launch(b, i + 3, &event) || !step(b, b->cl->Finish(b->queue) == KW_CL_SUCCESS, "clFinish"))
			break;
		step(b, b->cl->GetEventProfilingInfo(event, KW_CL_PROFILING_START, sizeof(from), &from, NULL) == KW_CL_SUCCESS &&
				b->cl->GetEventProfilingInfo(event, KW_CL_PROFILING_END, sizeof(to), &to, NULL) == KW_CL_SUCCESS, "event times");
		b->cl->ReleaseEvent(event);
		if (i >= 0)
			times[i] = (double)(to - from);
	}
	if (b->failed)
		return 0;
	qsort(times, TIMES, sizeof(times[0]), by_value);
	return times[TIMES / 4];
}

static double launch_ns(struct bench *b)
{
	int64_t begin = 0;

	for (int turn = 0; turn < 2 && !b->failed; turn++) {
		begin = kw_now_ns();
		for (int i = 0; i < LAUNCHES && !b->failed; i++)
			launch(b, i, NULL);
		step(b, b->cl->Finish(b->queue) == KW_CL_SUCCESS, "clFinish");
	}
	return (double)(kw_now_ns() - begin) / LAUNCHES;
}

json_t *kw_cl_measure(const struct kw_cl *cl, const json_t *q)
{
	struct bench b = { .cl = cl };
	const char *what = kw_json_get_str(q, "measure", "");
	size_t bytes = (size_t)kw_json_get_i64(q, "bytes", 0);
	char kernel[40];
	double ns, launch = 0;
	bool empty = strcmp(what, "empty") == 0, flops = strcmp(what, "f32") == 0;

	snprintf(kernel, sizeof(kernel), "k_%.30s", empty ? "write" : what);
	b.device = kw_cl_device(cl, (uint32_t)kw_json_get_i64(q, "platform", 0), (uint32_t)kw_json_get_i64(q, "device", 0));
	if (step(&b, b.device != NULL, "the device") && prepare(&b, kernel) && !empty && !flops)
		take_places(&b, bytes, kw_json_get_i64(q, "cache", 0), kw_json_get_i64(q, "memory", 0));
	b.n = empty ? 0 : flops ? ROUNDS : bytes / 16;
	if (empty)
		b.global = GROUP;
	ns = b.failed ? 0 : event_ns(&b);
	if (empty && !b.failed)
		launch = launch_ns(&b);
	if (b.failed)
		return json_pack("{s:s}", "error", b.failed);
	return json_pack("{s:f,s:f,s:f}", "ns", ns, "launch_ns", launch, "work",
			 flops ? 2.0 * FMAS * ROUNDS * (double)b.global : (double)bytes);
}

/* ---- who asks ---- */

static enum kw_status ask(const struct kw_cl_info *i, const char *what, int64_t bytes, double *ns, double *launch, double *work,
			  struct kw_error *err)
{
	json_t *question = json_pack("{s:s,s:i,s:i,s:I,s:I,s:I}", "measure", what, "platform", (int)i->platform, "device", (int)i->device,
				     "bytes", (json_int_t)bytes, "cache", (json_int_t)i->cache_bytes, "memory", (json_int_t)i->memory_bytes);
	struct kw_cl_answer a = { .head = NULL };
	char dir[PATH_MAX];
	enum kw_status s = kw_temp_folder("kw-opencl", dir, err);

	if (s == KW_OK) {
		s = kw_cl_ask(question, dir, MEASURE_MS, NULL, NULL, &a, err);
		kw_rmtree(dir, NULL);
	}
	json_decref(question);
	if (s == KW_OK && (!a.head || json_object_get(a.head, "error")))
		s = kw_fail(err, KW_ERR_ENV, "", "the OpenCL runtime does not let itself be measured: %.200s",
			    a.head ? kw_json_get_str(a.head, "error", "") : a.timed_out ? "no answer in time" : "it crashed");
	if (s == KW_OK) {
		*ns = kw_json_get_f64(a.head, "ns", 0);
		*launch = kw_json_get_f64(a.head, "launch_ns", 0);
		*work = kw_json_get_f64(a.head, "work", 0);
	}
	kw_cl_answer_release(&a);
	return s;
}

enum kw_status kw_cl_ceiling(const struct kw_cl_info *i, const struct kw_hardware *h, enum kw_ceiling_kind kind, int64_t bytes,
			     enum kw_measure measure, struct kw_ceiling *out, struct kw_error *err)
{
	static const char *const names[] = { "read", "write", "copy", "f32" };
	static const char by_events[] = "event times, rotating buffers";
	static const char *const methods[] = { by_events, NULL };
	bool flops = kind == KW_CEILING_FLOPS_F32;
	double ns = 0, launch = 0, work = 0;
	enum kw_status s;

	if ((size_t)kind >= sizeof(names) / sizeof(names[0]))
		return KW_NO;
	bytes = flops ? 0 : (bytes + 31) / 32 * 32;
	/* One buffer must be had in one piece. */
	if ((double)bytes > MEMORY_SHARE * (double)i->memory_bytes)
		bytes = (int64_t)(MEMORY_SHARE * (double)i->memory_bytes) / 32 * 32;
	*out = (struct kw_ceiling){ .kind = kind, .bytes = bytes, .method = by_events,
				    .in_cache = !flops && bytes < 2 * i->cache_bytes };
	if (measure != KW_MEASURE_AGAIN && kw_ceiling_kept(h, names[kind], bytes, methods, out))
		return KW_OK;
	if (!measure)
		return KW_NO;
	s = ask(i, names[kind], bytes, &ns, &launch, &work, err);
	if (s != KW_OK)
		return s;
	if (!(ns > 0))
		return KW_NO;
	out->per_s = work / ns * 1e9;
	kw_ceiling_keep(h, names[kind], out, NULL);
	return KW_OK;
}

enum kw_status kw_cl_overheads(const struct kw_cl_info *i, struct kw_overheads *out, struct kw_error *err)
{
	double work;

	*out = (struct kw_overheads){ .event_ns = 0 };
	return ask(i, "empty", 0, &out->event_ns, &out->launch_ns, &work, err);
}
