/* Whether an expression says what the PyTorch beside it says (internal.h): both in f64, on data of the smallest case. */
#include "judge/internal.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MEMORY_SHARE_HERE 0.25     /* of what is available: inputs here and there, widened, and outputs three times */
#define MOST_FLOPS 2e10            /* a few seconds of the evaluator */
#define MOST_LAYERED_FLOPS 5e8     /* where each element needs nearly all that there is: it is far slower then */
#define MOST_BYTES 1e9             /* values of both, widened: a second; 6 GB of inputs took twenty, of every problem */
#define EVALUATOR_BYTES ((size_t)6 << 30)
#define BOX 16384
#define BOXES 64
#define FAR_F64 1e-7               /* of an element and of the outputs' RMS; two orders of the same sums differ by 1e-12 */
#define FAR_F32 2e-2

static double bytes_of(const struct stage *s)
{
	double sum = 0;

	for (int i = 0; i < s->tensors; i++)
		sum += (double)kw_shape_count(&s->view[i].shape) * 8 * (i < s->inputs ? 2 : 3);
	return sum;
}

/* The case with the least data that has outputs at all. */
static enum kw_status smallest(struct work *probe, struct stage *s, bool *found, struct kw_error *err)
{
	const struct kw_case *best = NULL;
	double least = HUGE_VAL;
	enum kw_status st = KW_OK;

	for (size_t i = 0; i < probe->t->case_count && st == KW_OK; i++) {
		st = kw_stage_bind(s, probe, &probe->t->cases[i], err);
		if (st == KW_OK && s->cost.bytes_written > 0 && bytes_of(s) < least) {
			least = bytes_of(s);
			best = &probe->t->cases[i];
		}
		kw_stage_close(s);
	}
	*found = best != NULL;
	return st == KW_OK && best ? kw_stage_bind(s, probe, best, err) : st;
}

static enum kw_status fill(struct stage *s, struct kw_view *views, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	for (int i = 0; i < s->inputs && st == KW_OK; i++) {
		char *room = kw_alloc(s->spec[i].bytes + 64);

		views[i] = s->view[i];
		views[i].base = room;
		st = room ? kw_fill_input(&s->w->t->inputs[i], &views[i], KW_FILL_DECLARED, s->w->seed, (uint32_t)i, &s->env,
					  s->w->j->threads, err) :
			    kw_fail(err, KW_ERR_NOMEM, "", "no memory for inputs");
	}
	return st;
}

static double rms_of(const double *x, int64_t n)
{
	double sum = 0;
	int64_t finite = 0;

	for (int64_t i = 0; i < n; i++)
		if (isfinite(x[i])) {
			sum += x[i] * x[i];
			finite++;
		}
	return finite ? sqrt(sum / (double)finite) : 0;
}

/* One box against PyTorch's values of the whole output; false at the first element that is off. */
static bool same_box(const struct stage *s, int output, const int64_t *start, const int64_t *count, const double *got,
		     const double *want, double far, double rms, char *says, size_t bytes)
{
	const struct kw_shape *shape = &s->view[s->inputs + output].shape;
	int64_t n = 1, stride[KW_MAX_RANK];

	kw_shape_contiguous(shape, stride);
	for (int d = 0; d < shape->rank; d++)
		n *= count[d];
	for (int64_t i = 0; i < n; i++) {
		int64_t rest = i, flat = 0;
		double g = got[i], w;

		for (int d = shape->rank - 1; d >= 0; d--) {
			flat += (start[d] + rest % count[d]) * stride[d];
			rest /= count[d];
		}
		w = want[flat];
		if (g == w || (isnan(g) && isnan(w)) || fabs(g - w) <= far * (fabs(w) + rms))
			continue;
		snprintf(says, bytes, "element %lld of '%s' is %.9g by the expression and %.9g by PyTorch", (long long)flat,
			 s->w->t->outputs[output].name, g, w);
		return false;
	}
	return true;
}

static enum kw_status compare_output(struct stage *s, int output, const double *want, double far, bool *same, char *says, size_t bytes,
				     struct kw_error *err)
{
	const struct kw_shape *shape = &s->view[s->inputs + output].shape;
	double rms = rms_of(want, kw_shape_count(shape)), *got = NULL;
	int64_t count[KW_MAX_RANK], start[KW_MAX_RANK] = { 0 }, n = 1, boxes = 0;
	enum kw_status st = KW_OK;

	kw_eval_chunk(s->ev64, output, BOX, count);
	for (int d = 0; d < shape->rank; d++)
		n *= count[d] > 0 ? count[d] : 1;
	got = kw_alloc((size_t)n * sizeof *got);
	if (!got)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	/* In order, the first ones: what is wrong in an expression is wrong nearly everywhere. */
	while (st == KW_OK && *same && boxes++ < BOXES && kw_shape_count(shape) > 0) {
		int64_t part[KW_MAX_RANK];
		int d;

		for (d = 0; d < shape->rank; d++)
			part[d] = start[d] + count[d] > shape->dim[d] ? shape->dim[d] - start[d] : count[d];
		st = kw_eval_box(s->ev64, output, start, part, got, err);
		*same = st == KW_OK && same_box(s, output, start, part, got, want, far, rms, says, bytes);
		for (d = shape->rank - 1; d >= 0; d--) {
			start[d] += count[d];
			if (start[d] < shape->dim[d])
				break;
			start[d] = 0;
		}
		if (d < 0)
			break;
	}
	kw_free(got);
	return st;
}

static enum kw_status evaluate_both(struct stage *s, struct kw_view *views, enum kw_torch_agreement *out, char *says, size_t bytes,
				    struct kw_error *err)
{
	double *params = kw_arena_calloc(&s->arena, s->w->t->param_count + 1, sizeof *params);
	struct kw_external torch;
	bool same = true;
	enum kw_status st = params ? kw_torch_values_open(s, &torch, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	for (size_t i = 0; params && i < s->w->t->param_count; i++)
		params[i] = s->w->t->params[i].value;
	if (st == KW_OK)
		st = kw_eval_new(s->bound, views, params, KW_EVAL_F64, s->w->j->threads, EVALUATOR_BYTES, &s->ev64, err);
	if (st == KW_OK)
		st = kw_eval_prepare(s->ev64, true, err);
	for (int o = 0; o < s->outputs && st == KW_OK && same; o++) {
		const double *want;

		st = torch.values(torch.arg, KW_EVAL_F64, o, views, &want, err);
		if (st == KW_OK)
			st = compare_output(s, o, want, kw_torch_is_exact(s->w) ? FAR_F64 : FAR_F32, &same, says, bytes, err);
	}
	if (st == KW_OK)
		*out = same ? KW_TORCH_AGREES : KW_TORCH_DIFFERS;
	return st;
}

enum kw_status kw_torch_compare(struct work *w, enum kw_torch_agreement *out, char *says, size_t bytes, struct kw_error *err)
{
	struct work probe = *w;
	struct stage *s = kw_calloc(1, sizeof *s);
	struct kw_view views[KW_MAX_TENSORS] = { 0 };
	bool found = false;
	enum kw_status st;

	if (!s)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	probe.c = NULL;
	probe.seed = w->o.seed ? w->o.seed : 1; /* of a check of the task, not of the candidate */
	st = smallest(&probe, s, &found, err);
	if (st == KW_OK && !found)
		snprintf(says, bytes, "no case has outputs");
	else if (st == KW_OK && bytes_of(s) > MEMORY_SHARE_HERE * (double)kw_memory_available())
		snprintf(says, bytes, "the smallest case is too large for this machine's memory");
	else if (st == KW_OK && bytes_of(s) > MOST_BYTES)
		snprintf(says, bytes, "the smallest case is too large to be computed twice for that");
	else if (st == KW_OK && s->external)
		snprintf(says, bytes, "PyTorch computes what it gives");
	else if (st == KW_OK && (s->cost.flops > MOST_FLOPS ||
				 (s->cost.flops > MOST_LAYERED_FLOPS && isinf(kw_expr_sample_flops(s->bound)))))
		snprintf(says, bytes, "the smallest case takes too long here");
	else if (st == KW_OK) {
		st = fill(s, views, err);
		if (st == KW_OK)
			st = evaluate_both(s, views, out, says, bytes, err);
		for (int i = 0; i < s->inputs; i++)
			kw_free(views[i].base);
	}
	if (found)
		kw_stage_close(s);
	kw_free(s);
	return st;
}
