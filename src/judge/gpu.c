#include "judge/gpu.h"

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

#include <math.h>
#include <string.h>

#define SOURCE "src/judge/gpu.cu"
enum { THREADS = 256, BLOCKS_PER_UNIT = 8, BLOCKS_MAX = 4096 };

/* As in gpu.cu. */
struct bound {
	double floor, constant, per_power, per_value, low_power, high_power;
};
struct part {
	double got2, want2, diff2, cross, max_abs, max_rel, worst_ratio, worst_got, worst_want, worst_tolerance;
	int64_t worst_flat, mismatched, unwritten, nan_mismatched, not_close;
};

struct kw_gpu {
	struct kw_device *dev;
	const struct kw_compute_ops *ops;
	struct kw_program *program;
	uint64_t parts;                   /* on the device: BLOCKS_MAX results */
	struct part host[BLOCKS_MAX];
	int blocks;
};

/* ---- life ---- */

enum kw_status kw_gpu_program(struct kw_device *dev, const char *source, struct kw_program **out, struct kw_error *err)
{
	struct kw_candidate c = { .name = kw_path_base(source), .backend = "cuda", .origin = "the judge" };
	struct kw_bound_plan none = { .applicable = true };
	struct kw_build_opts o = { .arch = dev->hardware.arch, .trusted = true };
	struct kw_build_result r = { 0 };
	struct kw_arena a;
	char *text = NULL;
	enum kw_status st;

	kw_arena_init(&a, 4u << 20);
	st = kw_data_read(source, &a, &text, &c.source_len, err);
	c.source = text;
	if (st == KW_OK)
		st = kw_build(kw_backend_find("cuda"), &c, &none, &o, &r, err);
	if (st == KW_OK && r.cls != KW_V_OK)
		st = kw_fail(err, KW_ERR_BUG, source, "does not compile: %.300s",
			     r.artefact.diagnostic_count ? r.artefact.diagnostics[0].message : "no message");
	if (st == KW_OK)
		st = dev->ops->compute->load(dev, &r.artefact, out, err);
	kw_build_result_release(&r);
	kw_arena_release(&a);
	return st;
}

enum kw_status kw_gpu_open(struct kw_device *dev, struct kw_gpu **out, struct kw_error *err)
{
	struct kw_gpu *g;
	enum kw_status st;

	*out = NULL;
	if (!dev->ops->compute)
		return KW_OK;
	g = kw_calloc(1, sizeof *g);
	if (!g)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	g->dev = dev;
	g->ops = dev->ops->compute;
	g->blocks = dev->hardware.units * BLOCKS_PER_UNIT;
	if (g->blocks < 1 || g->blocks > BLOCKS_MAX)
		g->blocks = BLOCKS_MAX;
	st = kw_gpu_program(dev, SOURCE, &g->program, err);
	if (st == KW_OK)
		st = g->ops->alloc(dev, BLOCKS_MAX * sizeof(struct part), &g->parts, err);
	if (st == KW_OK) {
		*out = g;
		return KW_OK;
	}
	kw_gpu_close(g);
	if (st != KW_ERR_ENV)
		return st;
	kw_log(KW_LOG_INFO, "inputs and comparison stay on the host: %s", err ? err->text : "");
	if (err)
		kw_error_reset(err);
	return KW_OK;
}

void kw_gpu_close(struct kw_gpu *g)
{
	if (!g)
		return;
	g->ops->unload(g->program);
	g->ops->release(g->dev, g->parts);
	kw_free(g);
}

/* ---- launches ---- */

static enum kw_status launch(struct kw_gpu *g, const char *kernel, int64_t work, void **args, struct kw_error *err)
{
	int64_t blocks = (work + THREADS - 1) / THREADS;
	int64_t grid[3] = { blocks < 1 ? 1 : blocks > g->blocks ? g->blocks : blocks, 1, 1 }, block[3] = { THREADS, 1, 1 };

	return g->ops->launch(g->program, kernel, grid, block, args, err);
}

/* Numbers of gpu.cu; -1: a type that it does not know. */
static int type_of(enum kw_dtype d)
{
	static const enum kw_dtype known[] = { KW_F64, KW_F32, KW_F16, KW_BF16, KW_I64, KW_I32, KW_I16, KW_I8, KW_U8, KW_BOOL };

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i] == d)
			return (int)i;
	return -1;
}

enum kw_status kw_gpu_fill(struct stage *s, int slot, int i, enum kw_fill fill, uint64_t seed, bool *done, struct kw_error *err)
{
	struct kw_gpu *g = s->w->j->gpu;
	const struct kw_tensor_decl *d = &s->w->t->inputs[i];
	struct kw_simple_fill f;
	uint64_t y;
	int64_t n = kw_shape_count(&s->view[i].shape);
	int type = type_of((enum kw_dtype)s->view[i].dtype), dist;
	unsigned tensor = (unsigned)i;
	enum kw_status st;

	*done = false;
	if (!g || type < 0 || !kw_fill_is_simple(d, &s->view[i], fill, &s->env, &f))
		return KW_OK;
	*done = true;
	if (n == 0)
		return KW_OK;
	y = g->ops->address(s->session, slot, i);
	dist = f.dist == KW_DIST_NORMAL ? 0 : f.dist == KW_DIST_UNIFORM ? 1 : 2;
	st = launch(g, "kwj_fill", (n + 3) / 4,
		    (void *[]){ &y, &n, &type, &dist, &seed, &tensor, &f.lo, &f.hi, &f.max, &f.int_lo, &f.int_span }, err);
	g->ops->changed(s->session, slot, i);
	return st;
}

enum kw_status kw_gpu_wait(struct stage *s, struct kw_error *err)
{
	struct kw_gpu *g = s->w->j->gpu;

	return g ? g->ops->read(g->dev, g->host, g->parts, sizeof(struct part), err) : KW_OK;
}

enum kw_status kw_gpu_poison(struct stage *s, int slot, int i, uint64_t seed, struct kw_error *err)
{
	struct kw_gpu *g = s->w->j->gpu;
	uint64_t y = g->ops->address(s->session, slot, i), word = kw_poison_word((enum kw_dtype)s->view[i].dtype, seed);
	int64_t words = (int64_t)(s->spec[i].bytes / 8);
	int tail = (int)(s->spec[i].bytes % 8);
	enum kw_status st = KW_OK;

	if (s->spec[i].bytes)
		st = launch(g, "kwj_poison", words, (void *[]){ &y, &words, &tail, &word }, err);
	g->ops->changed(s->session, slot, i);
	return st;
}

/* ---- results ---- */

static enum kw_status read_parts(struct kw_gpu *g, size_t bytes, int64_t work, int *count, struct kw_error *err)
{
	int64_t blocks = (work + THREADS - 1) / THREADS;

	*count = (int)(blocks < 1 ? 1 : blocks > g->blocks ? g->blocks : blocks);
	return g->ops->read(g->dev, g->host, g->parts, (size_t)*count * bytes, err);
}

static void add_part(struct kw_compare_stats *st, const struct part *p, const struct kw_shape *shape)
{
	if (p->worst_ratio > st->worst_ratio) {
		st->worst_ratio = p->worst_ratio;
		st->worst_got = p->worst_got;
		st->worst_want = p->worst_want;
		st->tolerance_at_worst = p->worst_tolerance;
		st->worst_rank = shape->rank;
		kw_shape_unravel(shape, p->worst_flat, st->worst_index);
	}
	st->max_abs = fmax(st->max_abs, p->max_abs);
	st->max_rel = fmax(st->max_rel, p->max_rel);
	st->mismatched += p->mismatched;
	st->unwritten += p->unwritten;
	st->nan_mismatched += p->nan_mismatched;
	st->not_close += p->not_close;
	st->sum_got2 += p->got2;
	st->sum_want2 += p->want2;
	st->sum_diff2 += p->diff2;
	st->sum_diff_want += p->cross;
}

enum kw_status kw_gpu_compare(struct stage *s, int slot, int output, uint64_t want, int64_t first, int64_t n, bool any_nan,
			      struct kw_compare_stats *st, struct kw_error *err)
{
	struct kw_gpu *g = s->w->j->gpu;
	int i = s->inputs + output, type = type_of((enum kw_dtype)s->view[i].dtype), nan = any_nan, count;
	struct kw_bound_numbers b;
	double close = kw_stage_close_rule(s, output);
	struct bound bound;
	uint64_t got = g->ops->address(s->session, slot, i), poison = kw_poison_word((enum kw_dtype)s->view[i].dtype, s->poison_seed);
	enum kw_status status;

	kw_tolerance_numbers(&s->tol[output], &b);
	bound = (struct bound){ b.floor, b.constant, b.per_power, b.per_value, b.low_power, b.high_power };
	status = launch(g, "kwj_compare", n, (void *[]){ &got, &type, &want, &first, &n, &bound, &poison, &nan, &close, &g->parts },
			err);
	if (status == KW_OK)
		status = read_parts(g, sizeof(struct part), n, &count, err);
	if (status != KW_OK)
		return status;
	st->out_tiny = kw_tolerance_tiny(&s->tol[output]);
	for (int k = 0; k < count; k++)
		add_part(st, &g->host[k], &s->view[i].shape);
	st->compared += n;
	return KW_OK;
}

enum kw_status kw_gpu_plain(struct stage *s, uint64_t want, uint64_t plain, int64_t n, struct kw_gpu_plain *out,
			    struct kw_error *err)
{
	struct kw_gpu *g = s->w->j->gpu;
	const struct kw_gpu_plain *p = (const struct kw_gpu_plain *)(const void *)g->host;
	int count;
	enum kw_status st = launch(g, "kwj_plain", n, (void *[]){ &want, &plain, &n, &g->parts }, err);

	if (st == KW_OK)
		st = read_parts(g, sizeof *p, n, &count, err);
	for (int k = 0; st == KW_OK && k < count; k++) {
		out->worst = fmax(out->worst, p[k].worst);
		out->squares += p[k].squares;
		out->n += p[k].n;
		out->nan += p[k].nan;
		out->ill += p[k].ill;
	}
	return st;
}

enum kw_status kw_gpu_unwritten(struct stage *s, int slot, int output, int64_t *found, struct kw_error *err)
{
	struct kw_gpu *g = s->w->j->gpu;
	int i = s->inputs + output, type = type_of((enum kw_dtype)s->view[i].dtype), count;
	int64_t n = kw_shape_count(&s->view[i].shape);
	uint64_t x = g->ops->address(s->session, slot, i), poison = kw_poison_word((enum kw_dtype)s->view[i].dtype, s->poison_seed);
	enum kw_status st = KW_OK;

	*found = 0;
	if (n > 0)
		st = launch(g, "kwj_count", n, (void *[]){ &x, &type, &n, &poison, &g->parts }, err);
	if (n > 0 && st == KW_OK)
		st = read_parts(g, sizeof(struct part), n, &count, err);
	for (int k = 0; n > 0 && st == KW_OK && k < count; k++)
		*found += g->host[k].unwritten;
	return st;
}

enum kw_status kw_gpu_hash(struct stage *s, int slot, int tensor, uint64_t seed, uint64_t *out, struct kw_error *err)
{
	struct kw_gpu *g = s->w->j->gpu;
	int64_t bytes = (int64_t)s->spec[tensor].bytes, words = (bytes + 7) / 8;
	uint64_t x = g->ops->address(s->session, slot, tensor);
	int count = 0;
	enum kw_status st = KW_OK;

	*out = 0;
	if (bytes > 0)
		st = launch(g, "kwj_hash", words, (void *[]){ &x, &bytes, &seed, &g->parts }, err);
	if (bytes > 0 && st == KW_OK)
		st = read_parts(g, sizeof(struct part), words, &count, err);
	for (int k = 0; st == KW_OK && k < count; k++)
		*out += (uint64_t)g->host[k].unwritten;
	return st;
}

bool kw_gpu_knows(enum kw_dtype d)
{
	return type_of(d) >= 0;
}
