/* parts.c - how fast the judge's own inner loops are, one core each: lines "name<TAB>value<TAB>unit" for bench/run.
 * Each is the best of several rounds, in CPU time of the thread, so that other programs disturb it less. */
#include "base/alloc.h"
#include "base/hash.h"
#include "device/cpu.h"
#include "device/device.h"
#include "judge/compare.h"
#include "judge/inputs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 7, COUNT = 1 << 22 /* elements */ };

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct work {
	float *got;
	double *want;
	struct kw_tensor_decl decl;
	struct kw_view view;
};

static void generate(struct work *w)
{
	kw_fill_input(&w->decl, &w->view, KW_FILL_DECLARED, 1, 1, NULL, 1, NULL);
}

static void compare(struct work *w)
{
	struct kw_shape shape = { 1, { COUNT } };
	struct kw_compare_stats s;
	struct kw_tolerance t;

	kw_tolerance_derive(&t, KW_F32, KW_F32, 4096, 1e-7, 1);
	kw_compare_init(&s);
	for (int64_t at = 0; at < COUNT; at += 1 << 16) /* the expected values of a chunk are hot when they are compared */
		kw_compare_chunk(&s, &t, w->got + at, w->want, 1 << 16, &shape, at, 1);
}

static void poison(struct work *w)
{
	kw_poison(w->got, COUNT * sizeof(float), KW_F32, 1);
}

static double best_s(void (*fn)(struct work *), struct work *w)
{
	double best = 1e30;

	for (int round = 0; round < ROUNDS; round++) {
		double start = cpu_s(), took;

		fn(w);
		took = cpu_s() - start;
		best = took < best ? took : best;
	}
	return best;
}

static void report(const char *name, double bytes, double s)
{
	printf("%s\t%.2f\tGB/s per core\n", name, bytes / s * 1e-9);
}

static void ceilings(void)
{
	static const struct {
		enum kw_ceiling_kind kind;
		const char *name;
	} kinds[] = { { KW_CEILING_READ, "read" }, { KW_CEILING_WRITE, "write" }, { KW_CEILING_COPY, "copy" },
		      { KW_CEILING_FLOPS_F32, "f32 multiply-add" }, { KW_CEILING_FLOPS_F64, "f64 multiply-add" } };
	struct kw_hardware h = { 0 };
	struct kw_ceiling c;

	kw_cpu_probe(&h);
	printf("cpu\t%s\t%d cores, last-level cache %lld MiB\n", h.name, kw_host_cores(),
	       (long long)(h.last_level_cache_bytes >> 20));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool flops = kinds[i].kind >= KW_CEILING_FLOPS_F32;

		if (kw_cpu_ceiling(&h, kinds[i].kind, flops ? 0 : 4 * h.last_level_cache_bytes, true, &c, NULL) == KW_OK)
			printf("ceiling: %s\t%.1f\t%s (%s)\n", kinds[i].name, c.per_s * 1e-9, flops ? "GFLOP/s" : "GB/s",
			       c.method);
	}
}

int main(void)
{
	static const struct {
		const char *name;
		enum kw_dtype dtype;
		enum kw_dist dist;
	} kinds[] = { { "normals, f32", KW_F32, KW_DIST_NORMAL },   { "normals, f16", KW_F16, KW_DIST_NORMAL },
		      { "normals, f64", KW_F64, KW_DIST_NORMAL },   { "uniforms, f32", KW_F32, KW_DIST_UNIFORM },
		      { "integers, i32", KW_I32, KW_DIST_INTEGERS } };
	struct work w = { .got = kw_alloc(COUNT * sizeof(double)), .want = kw_alloc((1 << 16) * sizeof(double)) };

	if (!w.got || !w.want)
		return 3;
	ceilings();
	memset(w.got, 0, COUNT * sizeof(double));
	w.view = (struct kw_view){ .base = w.got, .shape = { 1, { COUNT } }, .stride = { 1 } };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		w.decl = (struct kw_tensor_decl){ .name = "x", .dtype = kinds[i].dtype, .dist = kinds[i].dist };
		w.view.dtype = kinds[i].dtype;
		report(kinds[i].name, (double)COUNT * (double)kw_dtype_bytes(kinds[i].dtype), best_s(generate, &w));
	}
	report("poison, f32", COUNT * 4.0, best_s(poison, &w));
	memset(w.got, 0, COUNT * sizeof(float));
	memset(w.want, 0, (1 << 16) * sizeof(double));
	report("compare, f32 with f64", COUNT * 4.0, best_s(compare, &w));
	kw_free(w.got);
	kw_free(w.want);
	return 0;
}
