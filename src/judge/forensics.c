/* A wrong answer gets its name by experiment: wait, look back, run again in a fresh process. */
#include "judge/internal.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LATE_NS 20000000   /* how long an unfinished answer is given to finish itself */
#define RERUNS 3
#define FEW 8              /* fewer numbers than this can agree by chance */
#define REPEATS 8          /* of a wrong call in the process that gave the wrong answer */
#define SURE 2             /* more times RERUNS before it is called state, and not a race that went one way by chance */

void kw_fail_verdict(struct work *w, const char *case_label, enum kw_subclass sub, const char *summary,
		     const char *evidence)
{
	if (w->failed)
		return; /* the first failure is the verdict */
	w->failed = true;
	w->v->subclass = sub;
	w->v->cls = kw_subclass_class(sub);
	w->v->case_label = case_label ? kw_arena_strdup(w->a, case_label) : NULL;
	snprintf(w->v->summary, sizeof w->v->summary, "%s%s%s", case_label ? case_label : "", case_label ? ": " : "",
		 summary);
	snprintf(w->v->evidence, sizeof w->v->evidence, "%s", evidence ? evidence : "");
}

/* ---- memory of earlier answers ----------------------------------------------------------------- */

static enum kw_status want_at(struct stage *s, int output, int64_t flat, double *want, struct kw_error *err)
{
	const struct kw_shape *shape = &s->view[s->inputs + output].shape;
	int64_t at[KW_MAX_RANK] = { 0 }, one[KW_MAX_RANK];

	for (int d = 0; d < KW_MAX_RANK; d++)
		one[d] = 1;
	kw_shape_unravel(shape, flat, at);
	return kw_eval_box(s->ev64, output, at, one, want, err);
}

const struct memo *kw_memo_places(struct stage *s, int output)
{
	struct memo *m = &s->memo[output];
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape);
	uint64_t rng = s->w->seed + 77;

	if (m->points > 0 || n <= 0)
		return m;
	m->points = n < KW_MEMO_POINTS ? (int)n : KW_MEMO_POINTS;
	for (int i = 0; i < m->points; i++)
		m->flat[i] = n <= KW_MEMO_POINTS ? i : (int64_t)(kw_next_u64(&rng) % (uint64_t)n);
	return m;
}

void kw_memo_add(struct stage *s, int output, const double *want)
{
	struct memo *m = &s->memo[output];
	int place = m->trials < KW_MEMO_TRIALS ? m->trials
		    : KW_MEMO_FIRST + (m->trials - KW_MEMO_FIRST) % (KW_MEMO_TRIALS - KW_MEMO_FIRST);

	memcpy(m->want[place], want, (size_t)m->points * sizeof *want);
	m->trials++;
}

void kw_memo_keep(struct stage *s, int output, struct kw_error *err)
{
	const struct memo *m = kw_memo_places(s, output);
	double want[KW_MEMO_POINTS];

	for (int i = 0; i < m->points; i++)
		if (want_at(s, output, m->flat[i], &want[i], err) != KW_OK)
			return; /* one memory less; the check itself does not depend on it */
	if (m->points > 0)
		kw_memo_add(s, output, want);
}

static double got_at(struct stage *s, int slot, int tensor, int64_t flat)
{
	enum kw_dtype d = (enum kw_dtype)s->view[tensor].dtype;

	return kw_dtype_load(d, (const char *)kw_session_ptr(s->session, slot, tensor) + (size_t)flat * kw_dtype_bytes(d));
}

static bool same(const struct kw_tolerance *t, double a, double b)
{
	return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= kw_tolerance_at(t, b);
}

static bool stale(struct stage *s, int slot, int output)
{
	const struct memo *m = &s->memo[output];

	for (int k = 0; k < m->trials && k < KW_MEMO_TRIALS; k++) {
		int old = 0, now = 0;
		bool varied = false;

		for (int i = 0; i < m->points; i++) {
			double got = got_at(s, slot, s->inputs + output, m->flat[i]), want;

			if (want_at(s, output, m->flat[i], &want, NULL) != KW_OK)
				return false;
			varied = varied || m->want[k][i] != m->want[k][0];
			old += same(&s->tol[output], got, m->want[k][i]);
			now += same(&s->tol[output], want, m->want[k][i]);
		}
		/* One number, or the same number everywhere, can be met by chance. */
		if (varied && m->points > 0 && old == m->points && now < m->points)
			return true;
	}
	return false;
}

/* Whether an earlier answer of this process, with other inputs, was right and another one. */
static bool answered_otherwise(struct stage *s, int slot, int output)
{
	const struct memo *m = &s->memo[output];

	for (int k = 0; k < m->trials && k < KW_MEMO_TRIALS; k++)
		for (int i = 0; i < m->points; i++)
			if (!same(&s->tol[output], got_at(s, slot, s->inputs + output, m->flat[i]), m->want[k][i]))
				return true;
	return false;
}

/* ---- answers without work ---------------------------------------------------------------------- */

static bool constant(struct stage *s, int slot, int output)
{
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape);
	double first = got_at(s, slot, s->inputs + output, 0), want, want_first;
	int differ = 0;

	if (n < FEW || want_at(s, output, 0, &want_first, NULL) != KW_OK)
		return false;
	for (int64_t i = 1; i < n; i++)
		if (got_at(s, slot, s->inputs + output, i) != first)
			return false;
	for (int64_t i = 1; i < n && i < 64; i++)
		differ += want_at(s, output, i, &want, NULL) == KW_OK && want != want_first;
	return differ > 0;
}

static int copied_input(struct stage *s, int slot, int output)
{
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape);

	for (int in = 0; in < s->inputs; in++) {
		int64_t i = 0;

		if (n < 2 || kw_shape_count(&s->view[in].shape) != n || !kw_view_is_contiguous(&s->view[in]) ||
		    s->w->t->inputs[in].inout) /* left as it was: see untouched */
			continue;
		while (i < n && got_at(s, slot, in, i) == got_at(s, slot, s->inputs + output, i))
			i++;
		if (i == n)
			return in;
	}
	return -1;
}

/* Updated in place, and where it is wrong nobody has touched it: the element furthest off still is the input's, and so are as
 * many elements as are wrong. */
static bool untouched(struct stage *s, int slot, int output, const struct kw_compare_stats *st, char *text, size_t text_bytes)
{
	const struct kw_tensor_decl *d = &s->w->t->outputs[output];
	const struct kw_shape *shape = &s->view[s->inputs + output].shape;
	int64_t n = kw_shape_count(shape), stride[KW_MAX_RANK], worst = 0, count = 0;

	if (!d->inout || st->mismatched == 0)
		return false;
	kw_shape_contiguous(shape, stride);
	for (int i = 0; i < shape->rank; i++)
		worst += st->worst_index[i] * stride[i];
	for (int64_t i = 0; i < n; i++)
		count += got_at(s, slot, d->partner, i) == got_at(s, slot, s->inputs + output, i);
	if (count < st->mismatched || got_at(s, slot, d->partner, worst) != got_at(s, slot, s->inputs + output, worst))
		return false;
	snprintf(text, text_bytes, "%lld elements of %s are what they were before the call", (long long)count,
		 s->w->t->inputs[d->partner].name);
	return true;
}

/* Of the outputs of a slot, all of which is brought to where the evaluators read. */
static enum kw_status hash_here(struct stage *s, int slot, uint64_t *out, struct kw_error *err)
{
	enum kw_status st = kw_stage_pull(s, slot, err);

	return st == KW_OK ? kw_stage_output_hash(s, slot, out, err) : st;
}

/* Whether other inputs get the very same answer, though they should not. Uses another slot: nothing in it is needed any
 * more. */
static enum kw_status ignores_input(struct stage *s, int slot, enum kw_fill fill, int output, bool *yes, struct kw_error *err)
{
	int other = (slot + 1) % s->slots, differ = 0;
	uint64_t here, there = 0;
	struct memo *m = &s->memo[output];
	double want[KW_MEMO_POINTS], now;
	struct kw_play_result p = { .buffer = -1 };
	enum kw_status st = hash_here(s, slot, &here, err);
	bool usable = false, same_answer;

	*yes = false;
	if (st != KW_OK || other == slot || kw_shape_count(&s->view[s->inputs + output].shape) < FEW)
		return st;
	kw_memo_keep(s, output, NULL); /* sets the places */
	for (int i = 0; i < m->points && st == KW_OK; i++)
		st = want_at(s, output, m->flat[i], &want[i], err);
	if (st == KW_OK)
		st = kw_stage_fill(s, other, KW_FILL_DECLARED, err);
	if (st != KW_OK)
		return st;
	kw_stage_poison(s, other);
	kw_stage_spoil(s, other);
	st = s->w->j->dev->ops->run(s->player, &other, 1, kw_stage_timeout_ms(s), &p, err);
	kw_trial_killed(s, &p);
	same_answer = st == KW_OK && p.end == KW_PLAY_DONE;
	kw_trial_release(&p);
	if (same_answer)
		st = hash_here(s, other, &there, err);
	same_answer = same_answer && st == KW_OK && there == here;
	if (!same_answer)
		return st;
	st = kw_stage_reference(s, other, KW_FILL_DECLARED, &usable, err);
	for (int i = 0; i < m->points && st == KW_OK; i++) {
		st = want_at(s, output, m->flat[i], &now, err);
		differ += st == KW_OK && !same(&s->tol[output], want[i], now);
	}
	*yes = st == KW_OK && usable && differ > 0;
	return st == KW_OK ? kw_stage_reference(s, slot, fill, &usable, err) : st;
}

/* ---- the same input again ---------------------------------------------------------------------- */

struct rerun {
	bool ran[RERUNS], right[RERUNS];
	uint64_t hash[RERUNS];
};

static enum kw_status run_again(struct stage *s, int slot, enum kw_fill fill, int output, struct rerun *r,
				struct kw_error *err)
{
	const struct kw_device_ops *ops = s->w->j->dev->ops;
	enum kw_status st = KW_OK;

	for (int i = 0; i < RERUNS && st == KW_OK; i++) {
		struct kw_play_result p = { .buffer = -1 };
		struct kw_compare_stats stats;

		ops->player_stop(s->player);
		s->player = NULL;
		kw_stage_poison(s, slot);
		kw_stage_spoil(s, slot);
		st = kw_stage_player(s, &p, err);
		if (st == KW_OK && p.end == KW_PLAY_DONE) {
			kw_trial_release(&p);
			p = (struct kw_play_result){ .buffer = -1 };
			st = ops->run(s->player, &slot, 1, kw_stage_timeout_ms(s), &p, err);
		}
		kw_trial_killed(s, &p);
		r->ran[i] = st == KW_OK && p.end == KW_PLAY_DONE;
		kw_trial_release(&p);
		if (st != KW_OK || !r->ran[i])
			continue;
		st = hash_here(s, slot, &r->hash[i], err);
		if (st == KW_OK)
			st = kw_stage_compare(s, slot, fill, 1, output, &stats, err);
		r->right[i] = st == KW_OK && kw_compare_right(&stats) && stats.unwritten == 0;
	}
	return st;
}

static bool fresh_differ(const struct rerun *r)
{
	return (r->ran[0] && r->ran[1] && r->hash[0] != r->hash[1]) || (r->ran[1] && r->ran[2] && r->hash[1] != r->hash[2]);
}

/* State goes the same way every time; a race may have gone one way by chance until now. More fresh processes: whether all of
 * them agree with the first ones. right and runs count on. */
static enum kw_status agree(struct stage *s, int slot, enum kw_fill fill, int output, const struct rerun *first, int *right,
			    int *runs, bool *yes, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	*yes = true;
	for (int k = 0; k < SURE && st == KW_OK && *yes; k++) {
		struct rerun more = { 0 };

		st = run_again(s, slot, fill, output, &more, err);
		*runs += RERUNS;
		for (int i = 0; i < RERUNS; i++) {
			*yes = *yes && (!more.ran[i] || more.right[i] == first->right[0]);
			*right += more.right[i];
		}
	}
	return st;
}

/* The same call again where it went wrong. A kept state stays wrong; a race is sometimes right. right: how often it was.
 * moved: the answers differed. */
static enum kw_status repeat(struct stage *s, int slot, enum kw_fill fill, int output, int *right, bool *moved,
			     struct kw_error *err)
{
	uint64_t first = 0, now;
	enum kw_status st = KW_OK;

	*right = 0;
	*moved = false;
	for (int i = 0; i < REPEATS && st == KW_OK; i++) {
		struct kw_play_result p = { .buffer = -1 };
		struct kw_compare_stats stats;
		bool ran;

		kw_stage_poison(s, slot);
		kw_stage_spoil(s, slot);
		st = s->w->j->dev->ops->run(s->player, &slot, 1, kw_stage_timeout_ms(s), &p, err);
		kw_trial_killed(s, &p);
		ran = st == KW_OK && p.end == KW_PLAY_DONE;
		kw_trial_release(&p);
		if (!ran)
			break; /* the process has ended: a fresh one will tell */
		st = hash_here(s, slot, &now, err);
		if (st != KW_OK)
			break;
		first = i == 0 ? now : first;
		*moved = *moved || now != first;
		st = kw_stage_compare(s, slot, fill, 1, output, &stats, err);
		*right += st == KW_OK && kw_compare_right(&stats);
	}
	return st;
}

/* Whether the code has variables that outlive a call, as far as the compiler told. */
static bool has_variables(const struct stage *s)
{
	return s->code->facts && json_integer_value(json_object_get(s->code->facts, "writable_bytes")) > 0;
}

/* NULL: not as state would have it. */
static const char *state_by(const struct stage *s, int right, int right_there)
{
	if (right == RERUNS && right_there == 0)
		return "right in a fresh process, wrong after earlier calls";
	if (right == 0 && right_there == REPEATS)
		return "wrong in a fresh process, right after earlier calls";
	if (right == RERUNS && right_there == REPEATS && has_variables(s))
		return "right whenever it is called alone, wrong among other calls";
	return NULL;
}

/* ---- evidence ---------------------------------------------------------------------------------- */

/* How far off, as one more line: of NaN and Inf there is no error to tell. */
static const char *error_line(const struct kw_compare_stats *st, char *out, size_t n)
{
	int64_t others = st->compared - st->nan_mismatched;
	int used = st->nan_mismatched ? snprintf(out, n, "\nof the other %lld: ", (long long)others) : snprintf(out, n, "\n");

	if (others == 0)
		return "";
	snprintf(out + used, n - (size_t)used, "max abs error %.3g, max rel error %.3g, rms rel error %.3g, norm ratio %.6g", st->max_abs,
		 st->max_rel, st->rms_rel, st->norm_ratio);
	return out;
}

static void describe(struct stage *s, enum kw_fill fill, int output, const struct kw_compare_stats *st, char *out,
		     size_t n)
{
	struct kw_shape at = { .rank = st->worst_rank };
	const char *name = s->w->t->outputs[output].name;
	char index[128], shape[128], tolerance[40] = "", error[240];

	memcpy(at.dim, st->worst_index, sizeof at.dim);
	if (isfinite(st->worst_got) && isfinite(st->worst_want))
		snprintf(tolerance, sizeof tolerance, " (tolerance %.3g)", st->tolerance_at_worst);
	snprintf(out, n,
		 "case: %s\ninputs: %s\noutput: %s %s %s\nworst: %s%s got %.9g, expected %.9g%s\n"
		 "mismatched: %lld of %lld compared; unwritten: %lld; NaN or Inf differ: %lld%s",
		 s->c->label, kw_fill_name(fill), name, kw_dtype_name(s->w->t->outputs[output].dtype),
		 kw_shape_text(&s->view[s->inputs + output].shape, shape, sizeof shape), name,
		 kw_shape_text(&at, index, sizeof index), st->worst_got, st->worst_want, tolerance,
		 (long long)st->mismatched, (long long)st->compared, (long long)st->unwritten,
		 (long long)st->nan_mismatched, error_line(st, error, sizeof error));
}

static enum kw_subclass name_by_numbers(struct stage *s, int output, const struct kw_compare_stats *st, char *text, size_t n)
{
	const char *name = s->w->t->outputs[output].name;
	struct kw_shape at = { .rank = st->worst_rank };
	char index[128];
	enum kw_subclass sub = kw_compare_classify(st, &s->tol[output]);

	memcpy(at.dim, st->worst_index, sizeof at.dim);
	kw_shape_text(&at, index, sizeof index);
	if (sub == KW_S_UNWRITTEN)
		snprintf(text, n, "%lld elements of %s were never written", (long long)(st->unwritten > 0 ? st->unwritten : st->mismatched), name);
	else if (sub == KW_S_PRECISION)
		snprintf(text, n, "%s is computed in a lower precision than the task allows: rms relative error %.2g, worst at %s%s: "
			 "got %.9g, expected %.9g", name, st->rms_rel, name, index, st->worst_got, st->worst_want);
	else if (sub == KW_S_NAN)
		snprintf(text, n, "%lld elements of %s are NaN or Inf where the reference is not, or the reverse; %s%s: got %.9g, "
			 "expected %.9g", (long long)st->nan_mismatched, name, name, index, st->worst_got, st->worst_want);
	else
		snprintf(text, n, "%lld of %lld elements of %s are wrong; worst at %s%s: got %.9g, expected %.9g",
			 (long long)st->mismatched, (long long)st->compared, name, name, index, st->worst_got, st->worst_want);
	return sub;
}

enum kw_status kw_forensics(struct stage *s, int slot, enum kw_fill fill, int output, const struct kw_compare_stats *st,
			    struct kw_error *err)
{
	char text[500], evidence[2000];
	enum kw_subclass sub = untouched(s, slot, output, st, text, sizeof text) ? KW_S_UNWRITTEN :
			       name_by_numbers(s, output, st, text, sizeof text);
	uint64_t before, after = 0;
	struct rerun r = { 0 };
	int input, right = 0, right_there = 0, runs = RERUNS + REPEATS;
	/* Beside a huge number left in an accumulator every input is rounded away: garbage, not an answer made up. */
	bool swallowed = !(st->norm_ratio < 1e5), moved = false, ignored = false, state = false;
	const char *how = NULL;
	bool may_be_constant = sub != KW_S_UNWRITTEN && sub != KW_S_NAN && !swallowed && !answered_otherwise(s, slot, output);
	enum kw_status status = hash_here(s, slot, &before, err);

	describe(s, fill, output, st, evidence, sizeof evidence);
	if (status == KW_OK) {
		kw_player_linger(s->player, LATE_NS);
		status = hash_here(s, slot, &after, err);
	}
	if (status != KW_OK)
		return status;
	if (after != before) {
		sub = KW_S_LATE_WRITE;
		snprintf(text, sizeof text, "the output was not finished when the call returned, and changed afterwards");
	} else if (stale(s, slot, output)) {
		sub = KW_S_STALE_OUTPUT;
		snprintf(text, sizeof text, "%s holds the answer of an earlier call with other inputs",
			 s->w->t->outputs[output].name);
	} else if (may_be_constant && constant(s, slot, output)) {
		sub = KW_S_CONSTANT;
		snprintf(text, sizeof text, "every element of %s is %.9g, whatever the input", s->w->t->outputs[output].name,
			 st->worst_got);
	} else if ((input = copied_input(s, slot, output)) >= 0) {
		sub = KW_S_COPIED_INPUT;
		snprintf(text, sizeof text, "%s is a copy of input %s", s->w->t->outputs[output].name, s->w->t->inputs[input].name);
	} else if (may_be_constant &&
		   (status = ignores_input(s, slot, fill, output, &ignored, err)) == KW_OK && ignored) {
		sub = KW_S_CONSTANT;
		snprintf(text, sizeof text, "%s is the same for other inputs", s->w->t->outputs[output].name);
	} else {
		if (status != KW_OK || (status = repeat(s, slot, fill, output, &right_there, &moved, err)) != KW_OK ||
		    (status = run_again(s, slot, fill, output, &r, err)) != KW_OK)
			return status;
		for (int i = 0; i < RERUNS; i++)
			right += r.right[i];
		how = state_by(s, right, right_there);
		if (how && (status = agree(s, slot, fill, output, &r, &right, &runs, &state, err)) != KW_OK)
			return status;
		if (how && state && kw_torch_keeps_state(s->w)) {
			snprintf(text, sizeof text, "%s: it keeps state between calls, as the problem's own Model does, of which each call is taken for "
				 "the first", how);
		} else if (how && state) {
			sub = KW_S_STATE;
			snprintf(text, sizeof text, "%s: it keeps state between calls", how);
		} else if (right + right_there > 0 || (sub != KW_S_UNWRITTEN && (moved || fresh_differ(&r)))) {
			sub = KW_S_RACE;
			snprintf(text, sizeof text, "the same input gives different answers in different runs (%d of %d right): a race",
				 right + right_there, runs);
		}
	}
	kw_fail_verdict(s->w, s->c->label, sub, text, evidence);
	return KW_OK;
}
