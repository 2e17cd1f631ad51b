#include "judge/matrix.h"

#include "base/clock.h"
#include "device/ceiling_store.h"
#include "judge/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE "src/judge/matrix.cu"
enum { THREADS = 256, CHAINS = 8, WARPS = THREADS / 32, WARPGROUPS = 2, TIMES = 7 };
#define LAUNCH_NS 3e6                  /* that a launch should take: long beside what starting it costs */

static const char by_mma[] = "mma.sync, random operands", by_wgmma[] = "wgmma, random operands";
static const struct {
	enum kw_rate rate;
	const char *name;              /* in matrix.cu */
	int k;                         /* elements of 32 bytes */
	int sm;                        /* from which on mma.sync has it */
} rates[] = {
	{ KW_RATE_TF32_MATRIX, "tf32", 8, 80 }, { KW_RATE_F16_MATRIX, "f16", 16, 80 }, { KW_RATE_BF16_MATRIX, "bf16", 16, 80 },
	{ KW_RATE_F8_MATRIX, "f8", 32, 89 },    { KW_RATE_I8_MATRIX, "i8", 32, 80 },
};
enum { RATES = sizeof rates / sizeof rates[0] };

enum kw_rate kw_matrix_rate_at(size_t i)
{
	return i < RATES ? rates[i].rate : KW_RATE_COUNT;
}

static const struct kw_tensor_decl *first_float(const struct kw_task *t)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (kw_dtype_is_float(t->inputs[i].dtype))
			return &t->inputs[i];
	return NULL;
}

enum kw_rate kw_matrix_rate_of(const struct kw_task *t, const struct kw_expr *e)
{
	enum kw_family f = kw_expr_family(e);
	const struct kw_tensor_decl *d = first_float(t);

	if (f != KW_FAMILY_MATMUL && f != KW_FAMILY_ATTENTION && f != KW_FAMILY_CONV)
		return KW_RATE_COUNT;
	if (!d)
		return t->input_count && t->inputs[0].dtype == KW_I8 ? KW_RATE_I8_MATRIX : KW_RATE_COUNT;
	switch (d->dtype) {
	case KW_F16:
		return KW_RATE_F16_MATRIX;
	case KW_BF16:
		return KW_RATE_BF16_MATRIX;
	case KW_F8E4M3:
	case KW_F8E5M2:
		return KW_RATE_F8_MATRIX;
	case KW_F32:
		if (t->allow_precision & 1u << KW_BF16)
			return KW_RATE_BF16_MATRIX;
		if (t->allow_precision & 1u << KW_F16)
			return KW_RATE_F16_MATRIX;
		return t->allow_tf32 ? KW_RATE_TF32_MATRIX : KW_RATE_COUNT;
	default:
		return KW_RATE_COUNT;
	}
}

const char *kw_matrix_kernel(enum kw_rate r, const char *arch, double *flops, int *blocks, const char **method)
{
	static char name[32];
	bool wgmma = strcmp(arch, "sm_90a") == 0;
	int sm = 0;

	/* sm_100 to sm_119 have another instruction for their large units, tcgen05. */
	if (sscanf(arch, "sm_%d", &sm) != 1 || (sm >= 100 && sm < 120))
		return NULL;
	for (size_t i = 0; i < RATES; i++) {
		if (rates[i].rate != r || (!wgmma && sm < rates[i].sm))
			continue;
		snprintf(name, sizeof name, "kwr_%s_%s", wgmma ? "wgmma" : "mma", rates[i].name);
		*flops = wgmma ? 2.0 * 64 * 256 * rates[i].k * CHAINS * WARPGROUPS : 2.0 * 16 * 8 * rates[i].k * CHAINS * WARPS;
		*blocks = wgmma ? 1 : 4;
		*method = wgmma ? by_wgmma : by_mma;
		return name;
	}
	return NULL;
}

/* ---- measuring ---- */

struct run {
	struct kw_device *d;
	struct kw_program *program;
	const char *kernel;
	int64_t grid[3], block[3];
	uint64_t never;                /* on the device */
};

/* `launches` of so many rounds, and the wait for them. */
static enum kw_status time_launches(const struct run *r, unsigned rounds, int launches, double *ns, struct kw_error *err)
{
	uint64_t never = r->never;
	void *args[] = { &never, &rounds };
	uint32_t back;
	int64_t begin = kw_now_ns();
	enum kw_status st = KW_OK;

	for (int i = 0; i < launches && st == KW_OK; i++)
		st = r->d->ops->compute->launch(r->program, r->kernel, r->grid, r->block, args, err);
	if (st == KW_OK)
		st = r->d->ops->compute->read(r->d, &back, r->never, sizeof back, err);
	*ns = (double)(kw_now_ns() - begin);
	return st;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Rounds a second of the whole device: the slope between two and four launches, the median of some. */
static enum kw_status rounds_per_s(const struct run *r, double *out, struct kw_error *err)
{
	unsigned rounds = 64;
	double ns = 0, more = 0, times[TIMES];
	enum kw_status st = time_launches(r, rounds, 1, &ns, err); /* loads the code */

	while (st == KW_OK && (st = time_launches(r, rounds, 1, &ns, err)) == KW_OK && ns < LAUNCH_NS && rounds < 1u << 24)
		rounds *= 2;
	for (int i = 0; i < TIMES && st == KW_OK; i++) {
		st = time_launches(r, rounds, 2, &ns, err);
		if (st == KW_OK)
			st = time_launches(r, rounds, 4, &more, err);
		times[i] = (more - ns) / 2;
	}
	if (st != KW_OK)
		return st;
	qsort(times, TIMES, sizeof times[0], by_value);
	*out = times[TIMES / 2] > 0 ? rounds / times[TIMES / 2] * 1e9 : 0;
	return KW_OK;
}

static enum kw_status measure_rate(struct kw_device *d, enum kw_rate rate, struct kw_ceiling *out, struct kw_error *err)
{
	struct run r = { .d = d, .grid = { 1, 1, 1 }, .block = { THREADS, 1, 1 } };
	double flops, per_s = 0;
	int blocks;
	enum kw_status st;

	r.kernel = kw_matrix_kernel(rate, d->hardware.arch, &flops, &blocks, &out->method);
	if (!r.kernel)
		return KW_NO;
	r.grid[0] = (int64_t)blocks * d->hardware.units;
	st = kw_gpu_program(d, SOURCE, &r.program, err);
	if (st == KW_OK)
		st = d->ops->compute->alloc(d, 64, &r.never, err);
	if (st == KW_OK)
		st = rounds_per_s(&r, &per_s, err);
	d->ops->compute->release(d, r.never);
	if (r.program)
		d->ops->compute->unload(r.program);
	out->per_s = per_s * flops * (double)r.grid[0];
	if (st == KW_ERR_ENV && err)
		kw_error_reset(err); /* no compiler: not known, and no fault of the candidate */
	return st == KW_ERR_ENV || (st == KW_OK && !(per_s > 0)) ? KW_NO : st;
}

enum kw_status kw_matrix_ceiling(struct kw_device *d, enum kw_rate rate, enum kw_measure measure, struct kw_ceiling *out,
				 struct kw_error *err)
{
	static const char *const methods[] = { by_mma, by_wgmma, NULL };
	static struct kw_ceiling known[KW_RATE_COUNT];
	static const struct kw_device *of;
	enum kw_status st;

	if (of != d) {
		memset(known, 0, sizeof known);
		of = d;
	}
	*out = (struct kw_ceiling){ .kind = KW_CEILING_MATRIX };
	if (!d->ops->compute || rate >= KW_RATE_COUNT)
		return KW_NO;
	if (measure != KW_MEASURE_AGAIN && (known[rate].per_s > 0 ||
					    kw_ceiling_kept(&d->hardware, kw_rate_name(rate), 0, methods, &known[rate]))) {
		*out = known[rate];
		out->kind = KW_CEILING_MATRIX;
		return KW_OK;
	}
	if (!measure)
		return KW_NO;
	st = measure_rate(d, rate, out, err);
	if (st != KW_OK)
		return st;
	known[rate] = *out;
	kw_ceiling_keep(&d->hardware, kw_rate_name(rate), out, kw_device_state_json(d));
	return KW_OK;
}
