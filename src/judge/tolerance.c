/* The tolerance of a trial, from what a plain kernel does on its data (compare.h). */
#include "judge/internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>

#define REFERENCE_SAMPLE 16384  /* elements a box */
#define FEW_BOXES 4             /* of an output, all of a small one */
#define MANY_BOXES 64           /* when an answer would be refused: each may have statistics of its own; and of single elements */
#define MANY_FLOPS 1e8          /* that many boxes may take */
#define ENOUGH 64               /* elements whose largest error and RMS are no chance */
#define OTHERWISE 256           /* elements that are evaluated with other rounding errors, some of them again */
#define ROUNDS_MAX 16
#define FORMULA_ROUNDS 4        /* with other rounding errors, at least, where a formula loses most digits at one element */
#define MORE_SETS 8             /* of data, beside the trial's own */
#define FEW_SETS 4              /* at least, where the output has few elements, however large the inputs */
#define MORE_WORK 4e6           /* elements of inputs, or 16 flops, in all sets */

bool kw_output_is_wide(const struct kw_tensor_decl *d)
{
	return d->dtype == KW_F64 || (d->dtype == KW_I64 && d->compare != KW_COMPARE_INDICES);
}

/* What a kernel may accumulate in: the narrowest type that is allowed. TF32 keeps as many bits as f16. */
static enum kw_dtype accumulator(const struct kw_task *t, enum kw_dtype out)
{
	enum kw_dtype acc = out == KW_F64 ? KW_F64 : KW_F32;
	unsigned allowed = t->allow_precision | (t->allow_tf32 ? 1u << KW_F16 : 0);

	for (int d = 0; d < KW_DTYPE_COUNT; d++)
		if (allowed >> d & 1 &&
		    kw_dtype_info((enum kw_dtype)d)->significand_bits < kw_dtype_info(acc)->significand_bits)
			acc = (enum kw_dtype)d;
	return acc;
}

/* Points the evaluators at inputs. */
static enum kw_status look_at(struct stage *s, const struct kw_view *views, struct kw_error *err)
{
	struct kw_eval *all[] = { s->ev64, s->ev32, s->coarse };
	enum kw_status st = KW_OK;

	for (size_t i = 0; i < sizeof all / sizeof all[0] && st == KW_OK; i++)
		if (all[i])
			st = kw_eval_reset(all[i], views, err);
	return st == KW_OK ? kw_eval_prepare(s->ev64, !s->sampled, err) : st;
}

/* An output cut into boxes. */
struct grid {
	const struct kw_shape *shape;
	int64_t count[KW_MAX_RANK], steps[KW_MAX_RANK], boxes;
};

static void cut(const struct stage *s, int output, struct grid *g)
{
	g->shape = &s->view[s->inputs + output].shape;
	g->boxes = 1;
	kw_eval_chunk(s->ev64, output, REFERENCE_SAMPLE, g->count);
	for (int d = 0; d < g->shape->rank; d++) {
		if (s->sampled || g->count[d] < 1)
			g->count[d] = 1;
		g->steps[d] = (g->shape->dim[d] + g->count[d] - 1) / g->count[d];
		g->boxes *= g->steps[d];
	}
}

static void box_at(const struct grid *g, int64_t i, int64_t *start, int64_t *count)
{
	for (int d = g->shape->rank - 1; d >= 0; d--) {
		start[d] = i % g->steps[d] * g->count[d];
		i /= g->steps[d];
		count[d] = start[d] + g->count[d] > g->shape->dim[d] ? g->shape->dim[d] - start[d] : g->count[d];
	}
}

/* What a plain kernel gives where the reference gives want: an f32 evaluation. What the expression computes in f64 is exact
 * there; a plain kernel in f64, or a reference of large whole numbers, loses 2^-29 of what the coarse evaluation loses (24
 * bits kept instead of 53). */
static enum kw_status plain_values(struct stage *s, int output, const int64_t *start, const int64_t *count, int64_t n,
				   const double *want, double *got, double *spare, struct kw_error *err)
{
	const struct kw_tensor_decl *d = &s->w->t->outputs[output];
	enum kw_status st = kw_eval_box(s->ev32, output, start, count, got, err);

	if (st == KW_OK && kw_output_is_wide(d))
		st = kw_eval_box(s->coarse, output, start, count, spare, err);
	if (st != KW_OK || !kw_output_is_wide(d))
		return st;
	for (int64_t i = 0; i < n; i++) {
		double lost = fabs(spare[i] - want[i]) * 0x1p-29;

		if (d->dtype == KW_I64)
			got[i] = want[i];
		if (isfinite(lost))
			got[i] += got[i] < want[i] ? -lost : lost;
	}
	return st;
}

struct plain {
	double worst, squares;   /* largest |plain - want|; sum of want's squares */
	int64_t n, nan, ill;     /* finite elements; NaN in the reference; finite only in f64 */
};

static enum kw_status plain_box(struct stage *s, int output, const int64_t *start, const int64_t *count, struct plain *p,
				struct kw_error *err)
{
	int64_t n = 1;
	double *want, *got;
	enum kw_status st;

	for (int d = 0; d < s->view[s->inputs + output].shape.rank; d++)
		n *= count[d];
	want = kw_alloc((size_t)n * 3 * sizeof *want);
	if (!want)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	got = want + n;
	if ((st = kw_eval_box(s->ev64, output, start, count, want, err)) == KW_OK &&
	    (st = plain_values(s, output, start, count, n, want, got, got + n, err)) == KW_OK) {
		for (int64_t i = 0; i < n; i++) {
			if (isnan(want[i]))
				p->nan++;
			else if (isfinite(want[i]) && !isfinite(got[i]))
				p->ill++;
			if (!isfinite(want[i]) || !isfinite(got[i]))
				continue;
			p->worst = fmax(p->worst, fabs(got[i] - want[i]));
			p->squares += want[i] * want[i];
			p->n++;
		}
	}
	kw_free(want);
	return st;
}

static enum kw_status plain_error(struct stage *s, int output, int64_t boxes, struct plain *p, struct kw_error *err)
{
	int64_t start[KW_MAX_RANK], count[KW_MAX_RANK];
	uint64_t rng = s->w->seed ^ (0xa076u + s->w->counter);
	struct grid g;
	enum kw_status st = KW_OK;

	cut(s, output, &g);
	for (int64_t b = 0; b < boxes && b < g.boxes && st == KW_OK; b++) {
		box_at(&g, g.boxes <= boxes ? b : (int64_t)(kw_next_u64(&rng) % (uint64_t)g.boxes), start, count);
		st = plain_box(s, output, start, count, p, err);
	}
	return st;
}

static bool degenerate(enum kw_fill fill)
{
	return fill == KW_FILL_CONSTANT || fill == KW_FILL_ZEROS;
}

/* The cap is for the task's own data, where a kernel must be of use: k x A <= 1% of RMS(want), so that neither zeros nor
 * noise pass. Special values are there to break what is wrong; where they take even a plain kernel further off (a softmax
 * of near ties between products of large numbers, pure rounding that a norm divides by sqrt(eps)), an honest one is no
 * better, and zeros are still refused by themselves (compare.h). Not where the expression has steps: their height is no
 * rounding error. Nothing to cap by where zero is all that is expected. */
static void set_tolerance(struct stage *s, int output, enum kw_fill fill, const struct plain *p)
{
	const struct kw_tensor_decl *d = &s->w->t->outputs[output];
	struct kw_tolerance *t = &s->tol[output];
	double rms = p->n ? sqrt(p->squares / (double)p->n) : 0;

	kw_tolerance_derive(t, d->dtype, accumulator(s->w->t, d->dtype), kw_bound_reduction(s->bound, output), p->worst,
			    rms > 0 && (fill == KW_FILL_DECLARED || s->steps) ? rms : HUGE_VAL);
	if (fill == KW_FILL_CONSTANT) /* equal terms are all rounded the same way: R of them by R / 2 ulp at most */
		t->sqrt_r = fmax(t->sqrt_r, t->sqrt_r * t->sqrt_r / 4);
	t->scale = rms;
	t->rel = s->w->t->tol_rel;
	t->abs = s->w->t->tol_abs;
	if (fill == KW_FILL_DECLARED) {
		s->declared_abs[output] = t->abs_part;
		s->declared_share[output] = rms > 0 ? t->abs_part / rms : 0;
	} else if (degenerate(fill)) { /* differences that cancel here need not cancel in another order */
		t->abs_part = fmax(t->abs_part, s->declared_abs[output]);
	} else { /* sums of whole numbers are exact, but not those of another order of the same operations */
		t->abs_part = fmax(t->abs_part, s->declared_share[output] * rms);
	}
	if (!t->exact && d->dtype != KW_F64 && t->abs_part < 0x1p-126)
		t->abs_part = 0x1p-126; /* f32 arithmetic may flush below its smallest normal number */
}

static bool tells(const struct stage *s, int output, enum kw_fill fill, const struct plain *p)
{
	if (fill == KW_FILL_DECLARED || kw_shape_count(&s->view[s->inputs + output].shape) == 0)
		return true;
	return p->n > 0 && !p->ill && (!p->nan || fill == KW_FILL_NEG_INF_ROWS);
}

bool kw_stage_set_tolerance(struct stage *s, int output, enum kw_fill fill, double worst, double squares, int64_t n, int64_t nan,
			    int64_t ill)
{
	struct plain p = { .worst = worst, .squares = squares, .n = n, .nan = nan, .ill = ill };

	set_tolerance(s, output, fill, &p);
	return tells(s, output, fill, &p);
}

/* Takes the evaluators of another formula in the place of the plain ones, or puts them back. */
static void swap_formula(struct stage *s, int number)
{
	struct other_formula *f = &s->formula[number];
	struct kw_eval *ev32 = s->ev32, *coarse = s->coarse;

	s->ev32 = f->ev32;
	s->coarse = f->coarse;
	f->ev32 = ev32;
	f->coarse = coarse;
}

/* Adds the errors of another formula on a sample of these inputs; nothing where it has no finite value. */
static enum kw_status formula_error(struct stage *s, int number, const struct kw_view *views, int output, int64_t boxes,
				    struct plain *p, struct kw_error *err)
{
	enum kw_status st;

	swap_formula(s, number);
	st = kw_eval_reset(s->ev32, views, err);
	if (st == KW_OK && s->coarse)
		st = kw_eval_reset(s->coarse, views, err);
	if (st == KW_OK)
		st = plain_error(s, output, boxes, p, err);
	swap_formula(s, number);
	return st;
}

/* k x A of other formulas. What special values are given because of the declared ones stays as the plain formula has it: an
 * excuse for one kind of data is none for another. */
static double formula_part(struct stage *s, int output, enum kw_fill fill, const struct plain *p)
{
	struct kw_tolerance kept = s->tol[output];
	double abs = s->declared_abs[output], share = s->declared_share[output], part;

	set_tolerance(s, output, fill, p);
	part = s->tol[output].abs_part;
	s->tol[output] = kept;
	s->declared_abs[output] = abs;
	s->declared_share[output] = share;
	return part;
}

/* Those that have been needed before, on these inputs. */
static enum kw_status known_formulas(struct stage *s, const struct kw_view *views, int output, enum kw_fill fill,
				     struct kw_error *err)
{
	struct plain p = { 0 };
	enum kw_status st = KW_OK;

	for (int i = 0; i < s->formulas && st == KW_OK; i++)
		if (s->formula[i].ev32)
			st = formula_error(s, i, views, output, s->sampled ? MANY_BOXES : FEW_BOXES, &p, err);
	if (st == KW_OK && p.n)
		s->tol[output].abs_part = fmax(s->tol[output].abs_part, formula_part(s, output, fill, &p));
	return st;
}

enum kw_status kw_stage_reference(struct stage *s, int slot, enum kw_fill fill, bool *usable, struct kw_error *err)
{
	struct kw_view views[KW_MAX_TENSORS];
	int64_t begin = kw_now_ns();
	enum kw_status st;

	kw_stage_views(s, slot, views);
	*usable = true;
	if ((st = look_at(s, views, err)) != KW_OK)
		return st;
	for (int o = 0; o < s->outputs && st == KW_OK; o++) {
		struct plain p = { 0 };

		if ((st = plain_error(s, o, s->sampled ? MANY_BOXES : FEW_BOXES, &p, err)) != KW_OK)
			break;
		set_tolerance(s, o, fill, &p);
		*usable = *usable && tells(s, o, fill, &p);
		st = known_formulas(s, views, o, fill, err);
	}
	s->w->v->compare_ns += kw_now_ns() - begin;
	return st;
}

/* ---- more data where the trial's own says too little -------------------------------------------- */

static int64_t many_boxes(const struct stage *s, int output)
{
	struct grid g;
	double n;

	cut(s, output, &g);
	n = s->sampled ? MANY_BOXES : floor(MANY_FLOPS * (double)g.boxes / (s->cost.flops + 1));
	return n < FEW_BOXES ? FEW_BOXES : n > MANY_BOXES ? MANY_BOXES : (int64_t)n;
}

/* How many sets of data give ENOUGH elements, and some more: all elements of one may depend on one number. */
static int sets_wanted(const struct stage *s, int64_t elements)
{
	double work = 1 + s->cost.flops / 16, sets = fmax(MORE_SETS, ceil((double)ENOUGH / (double)elements));

	for (int i = 0; i < s->inputs; i++)
		work += (double)kw_shape_count(&s->view[i].shape);
	sets = fmin(sets, floor(MORE_WORK / work));
	return (int)(elements < ENOUGH ? fmax(sets, FEW_SETS) : sets);
}

static void disturb(struct stage *s, uint64_t seed)
{
	kw_eval_disturb(s->ev32, seed);
	if (s->coarse)
		kw_eval_disturb(s->coarse, seed);
}

/* The trial's own data, rounded elsewhere: where a norm or a softmax makes much of a rounding error, a plain evaluation may
 * be lucky on all of these very numbers. */
static enum kw_status round_otherwise(struct stage *s, int output, int64_t elements, int least, struct plain *p,
				      struct kw_error *err)
{
	int rounds = s->steps ? 0 : (int)(elements >= OTHERWISE / least ? least : OTHERWISE / elements);
	enum kw_status st = KW_OK;

	for (int i = 0; i < (rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX) && st == KW_OK; i++) {
		disturb(s, kw_next_u64(&s->w->counter));
		st = plain_error(s, output, many_boxes(s, output), p, err);
	}
	disturb(s, 0);
	return st;
}

/* Other data of the same kind, in memory of its own: the slots are in use. */
static enum kw_status sample_more(struct stage *s, int output, enum kw_fill fill, int64_t elements, struct plain *p,
				  struct kw_error *err)
{
	struct kw_view views[KW_MAX_TENSORS];
	int sets = sets_wanted(s, elements);
	enum kw_status st = KW_OK;

	for (int i = 0; i < s->inputs; i++) {
		views[i] = s->view[i];
		views[i].base = kw_alloc(s->spec[i].bytes + 64);
		if (!views[i].base)
			st = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	for (int i = 0; i < sets && st == KW_OK; i++)
		if ((st = kw_stage_fill_views(s, views, fill, err)) == KW_OK && (st = look_at(s, views, err)) == KW_OK)
			st = plain_error(s, output, many_boxes(s, output), p, err);
	for (int i = 0; i < s->inputs; i++)
		kw_free(views[i].base);
	return st;
}

enum kw_status kw_stage_tell_more(struct stage *s, int slot, enum kw_fill fill, int output, bool *more, struct kw_error *err)
{
	enum kw_fill kind = degenerate(fill) ? KW_FILL_DECLARED : fill; /* constants tell nothing of what is usual */
	struct kw_view views[KW_MAX_TENSORS];
	struct kw_tolerance before = s->tol[output], *t = &s->tol[output];
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape), begin = kw_now_ns(), filled = s->w->v->generate_ns;
	struct plain own = { 0 }, others = { 0 };
	enum kw_status st;

	*more = (!before.exact || kw_output_is_wide(&s->w->t->outputs[output])) && n > 0;
	if (!*more)
		return KW_OK;
	if ((st = plain_error(s, output, many_boxes(s, output), &own, err)) != KW_OK ||
	    (st = round_otherwise(s, output, n, 1, &own, err)) != KW_OK)
		return st;
	kw_stage_views(s, slot, views);
	if ((st = sample_more(s, output, kind, n, &others, err)) != KW_OK || (st = look_at(s, views, err)) != KW_OK)
		return st;
	if (others.n) {
		others.worst = kind == fill ? fmax(own.worst, others.worst) : others.worst;
		set_tolerance(s, output, kind, &others);
	}
	if (!others.n || kind != fill)
		set_tolerance(s, output, fill, &own);
	t->scale = others.n ? sqrt(others.squares / (double)others.n) : before.scale;
	t->abs_part = fmax(t->abs_part, before.abs_part);
	s->w->v->compare_ns += kw_now_ns() - begin - (s->w->v->generate_ns - filled);
	return KW_OK;
}

/* ---- other formulas ------------------------------------------------------------------------------ */

/* One of them on the trial's data, rounded elsewhere too, and on more data of that kind. The disturbance is two roundings
 * (kw_eval_disturb), of which a kernel has one. Equal terms are all rounded the same way, by how much depends on the constant: others tell
 * that. Leaves the evaluators pointed elsewhere. */
static enum kw_status formula_errors(struct stage *s, int number, const struct kw_view *views, int output, enum kw_fill fill,
				     int64_t elements, struct plain *own, struct plain *others, struct kw_error *err)
{
	enum kw_fill kind = degenerate(fill) ? KW_FILL_DECLARED : fill;
	struct plain noisy = { 0 }, constants = { 0 };
	enum kw_status st = formula_error(s, number, views, output, many_boxes(s, output), own, err);

	swap_formula(s, number);
	if (st == KW_OK)
		st = round_otherwise(s, output, elements, FORMULA_ROUNDS, &noisy, err);
	own->worst = fmax(own->worst, noisy.worst / 2);
	if (st == KW_OK && fill == KW_FILL_CONSTANT)
		st = sample_more(s, output, fill, elements, &constants, err);
	own->worst = fmax(own->worst, constants.worst);
	if (st == KW_OK)
		st = sample_more(s, output, kind, elements, others, err);
	swap_formula(s, number);
	return st == KW_OK ? look_at(s, views, err) : st;
}

enum kw_status kw_stage_rephrase(struct stage *s, int slot, enum kw_fill fill, int output, int count, bool *more,
				 struct kw_error *err)
{
	enum kw_fill kind = degenerate(fill) ? KW_FILL_DECLARED : fill;
	struct kw_tolerance *t = &s->tol[output];
	struct kw_view views[KW_MAX_TENSORS];
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape), begin = kw_now_ns(), filled = s->w->v->generate_ns;
	struct plain own = { 0 }, others = { 0 };
	enum kw_status st = KW_OK;
	double part;

	*more = false;
	kw_stage_views(s, slot, views);
	for (int i = 0; i < count && st == KW_OK && n > 0 && !t->exact && t->rel < 0 && t->abs < 0; i++)
		if ((st = kw_stage_formula(s, i, err)) == KW_OK && s->formula[i].ev32)
			st = formula_errors(s, i, views, output, fill, n, &own, &others, err);
	if (st != KW_OK || !own.n)
		return st;
	part = formula_part(s, output, fill, &own);
	if (others.n && kind == fill) {
		others.worst = fmax(own.worst, others.worst);
		part = fmax(part, formula_part(s, output, fill, &others));
	} else if (others.n) {
		s->formula_abs[output] = fmax(s->formula_abs[output], formula_part(s, output, kind, &others));
	}
	if (fill == KW_FILL_DECLARED)
		s->formula_abs[output] = part;
	part = degenerate(fill) ? fmax(part, s->formula_abs[output]) : part;
	*more = part > t->abs_part;
	t->abs_part = fmax(t->abs_part, part);
	s->w->v->compare_ns += kw_now_ns() - begin - (s->w->v->generate_ns - filled);
	return KW_OK;
}

bool kw_stage_may_be(struct stage *s, int output, const int64_t *index, double value)
{
	int64_t one[KW_MAX_RANK];
	double want, plain, spare;
	bool found = false;

	for (int d = 0; d < KW_MAX_RANK; d++)
		one[d] = 1;
	if (kw_eval_box(s->ev64, output, index, one, &want, NULL) != KW_OK)
		return false;
	for (int i = 0; i < ROUNDS_MAX && !found; i++) {
		disturb(s, i ? kw_next_u64(&s->w->counter) : 0);
		found = plain_values(s, output, index, one, 1, &want, &plain, &spare, NULL) == KW_OK && plain == value;
	}
	disturb(s, 0);
	return found;
}

enum kw_status kw_stage_plain_at(struct stage *s, int output, const int64_t *index, double *error)
{
	int64_t one[KW_MAX_RANK];
	double spare, want, plain;
	enum kw_status st;

	for (int d = 0; d < KW_MAX_RANK; d++)
		one[d] = 1;
	*error = 0;
	st = kw_eval_box(s->ev64, output, index, one, &want, NULL);
	for (int i = 0; i < (s->steps ? 1 : ROUNDS_MAX) && st == KW_OK; i++) {
		disturb(s, i ? kw_next_u64(&s->w->counter) : 0);
		st = plain_values(s, output, index, one, 1, &want, &plain, &spare, NULL);
		if (st == KW_OK && isfinite(plain - want))
			*error = fmax(*error, fabs(plain - want));
	}
	disturb(s, 0);
	return st;
}

/* 4 times what a plain kernel errs at this element; more where the task allows to accumulate in less. */
double kw_stage_own_part(struct stage *s, int output, int64_t flat, const int64_t *index)
{
	const struct kw_tensor_decl *d = &s->w->t->outputs[output];
	enum kw_dtype full = d->dtype == KW_F64 ? KW_F64 : KW_F32;
	double error = 0;

	if (s->torch_values)
		error = kw_torch_own_error(s, output, flat) * (kw_output_is_wide(d) ? 0x1p-29 : 1);
	else if (kw_stage_plain_at(s, output, index, &error) != KW_OK)
		return 0;
	return PLAIN_TIMES * error * fmax(1, s->tol[output].acc_ulp_rel * ldexp(1, kw_dtype_info(full)->significand_bits - 1));
}
