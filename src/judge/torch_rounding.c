/* What rounding does to a reference in PyTorch: whether it decides an output, and how far it moves each element (internal.h). */
#include "judge/torch_values.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <math.h>

#define UNSTEADY 0.005     /* of an output's size: no kernel can be held against what moves so far */
#define OWN_ROUNDS 8       /* disturbed evaluations in f32, at most, beside the plain values */
#define OWN_LEAST 4        /* of nine errors the largest, times this and PLAIN_TIMES: of 10^9 normal errors one is larger (docs/judge.md) */

static int64_t elements(const struct torch_values *v, int output)
{
	return kw_shape_count(&v->s->view[v->s->inputs + output].shape);
}

/* How far an output moved, as a share of its own size; both as root of the mean square. */
static double moved_by(const struct torch_values *v, int output, const double *got)
{
	const double *want = v->values[EXACT][output];
	double size = 0, off = 0;

	for (int64_t k = 0; k < elements(v, output); k++)
		if (isfinite(got[k]) && isfinite(want[k])) {
			size += want[k] * want[k];
			off += (got[k] - want[k]) * (got[k] - want[k]);
		}
	return size > 0 ? sqrt(off / size) : 0;
}

/* What pools many values hides that its inputs move, but not what rounding does between its layers: so f32 is asked too. */
enum kw_status kw_torch_steady(struct stage *s, const struct kw_view *inputs, int output, struct kw_error *err)
{
	static const char *const how[][2] = { { "moves", "when inputs move in the last place of an f32" },
					      { "is off", "where PyTorch computes it in f32" } };
	struct torch_values *v = s->torch_values;
	char place[KW_TASK_PLACE_MAX];
	double moved = 0;
	int way = 0;
	enum kw_status st;

	if (!v || v->steady[output])
		return KW_OK;
	kw_torch_lock(v, true);
	st = kw_torch_have(v, EXACT, inputs, err);
	for (way = 0; st == KW_OK && way < 2 && moved <= UNSTEADY && kw_torch_is_exact(s->w); way++) {
		const double *got = NULL;

		st = kw_torch_again(v, inputs, way == 1, way == 1 ? NULL : "moved", s->w->seed, output, &got, err);
		if (st == KW_OK)
			moved = moved_by(v, output, got);
		kw_torch_clear(v);
	}
	kw_torch_lock(v, false);
	v->steady[output] = st == KW_OK && moved <= UNSTEADY;
	if (st != KW_OK || moved <= UNSTEADY)
		return st;
	return kw_fail(err, KW_ERR_INPUT, kw_task_torch_place(s->w->t, place), "'%s' of the reference %s by %.0f%% of its size %s (case %s): "
		       "rounding decides it, and nothing can be compared with that", s->w->t->outputs[output].name, how[way - 1][0], 100 * moved,
		       how[way - 1][1], s->c->label);
}

/* ---- of single elements ---- */

static void keep_own(struct torch_values *v, int output, const double *got, double times)
{
	const double *want = v->values[EXACT][output];

	for (int64_t k = 0; k < elements(v, output); k++) {
		double error = fabs(got[k] - want[k]) * times;

		if (isfinite(error) && error > v->own[k])
			v->own[k] = error;
	}
}

/* The plain values are those of one accumulator already. */
static enum kw_status first_errors(struct torch_values *v, int output, struct kw_error *err)
{
	kw_free(v->own);
	v->own = kw_calloc((size_t)elements(v, output) + 1, sizeof *v->own);
	if (!v->own)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the errors of plain evaluations");
	v->own_output = output;
	keep_own(v, output, v->values[PLAIN][output], fmax(1, OWN_LEAST / sqrt(fmax(v->longest, 1))));
	return KW_OK;
}

enum kw_status kw_torch_own_errors(struct stage *s, const struct kw_view *inputs, int output, int round, bool *more, struct kw_error *err)
{
	struct torch_values *v = s->torch_values;
	uint64_t seed = s->w->seed ^ (uint64_t)round;
	const double *got = NULL;
	enum kw_status st;

	*more = round <= OWN_ROUNDS;
	if (!*more)
		return KW_OK;
	kw_torch_lock(v, true);
	st = kw_torch_have(v, PLAIN, inputs, err);
	if (st == KW_OK && round == 0) {
		st = first_errors(v, output, err);
	} else if (st == KW_OK) {
		st = kw_torch_again(v, inputs, true, "disturbed", kw_next_u64(&seed), output, &got, err);
		if (st == KW_OK)
			keep_own(v, output, got, fmax(OWN_LEAST, sqrt(v->longest)));
		kw_torch_clear(v);
	}
	kw_torch_lock(v, false);
	return st;
}

double kw_torch_own_error(const struct stage *s, int output, int64_t flat)
{
	const struct torch_values *v = s->torch_values;

	return v->own && v->own_output == output ? v->own[flat] : 0;
}
