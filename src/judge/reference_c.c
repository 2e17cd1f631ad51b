/* References in C: the values that the evaluators of a stage hand out (internal.h).
 *
 * A process of its own, on the CPU whatever the candidate's device, gets the inputs as doubles (or as floats, for the plain kernel
 * whose error gives the tolerance) and is locked down like a candidate's: whoever judges a task that somebody else wrote runs
 * code of theirs. It computes all outputs when a value is asked for first; they are dropped when the inputs change. */
#include "judge/internal.h"

#include "backend/backend.h"
#include "base/alloc.h"
#include "core/reference.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define REFERENCE_TIMEOUT_MS 120000
#define LOAD_TIMEOUT_MS 10000
#define SAME 1e-9          /* two runs of a deterministic reference differ by no more: threads may add in another order */
#define BLOCK 4096

struct c_reference {
	struct kw_arena arena;
	struct kw_reference text;
	struct kw_device *dev;
	struct build *builds[KW_REFERENCE_FORMS]; /* one for each set of defines */
	size_t build_count[KW_REFERENCE_FORMS];
	pthread_mutex_t lock;             /* stages are opened on a thread of their own */
};

struct run {                              /* one form of it in this stage */
	struct kw_bound_plan plan;
	const struct kw_artefact *code;
	struct kw_view view[KW_MAX_TENSORS];
	struct kw_buffer_spec spec[KW_MAX_TENSORS];
	size_t spec_count;
	struct kw_session *session;
	struct kw_player *player;
	bool valid, checked;              /* checked: two runs agreed */
	double *values[KW_MAX_OUTPUTS];   /* per output */
};
struct c_values {
	struct stage *s;
	pthread_mutex_t lock;
	struct run run[KW_REFERENCE_FORMS];
};

/* ---- of a work ---- */

enum kw_status kw_c_reference_new(struct work *w, struct kw_error *err)
{
	struct c_reference *r;
	enum kw_status st = KW_OK;

	if (!w->t->reference_c)
		return KW_OK;
	r = w->c_reference = kw_calloc(1, sizeof *r);
	if (!r)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_arena_init(&r->arena, 256u << 20);
	pthread_mutex_init(&r->lock, NULL);
	if (strcmp(w->j->dev->ops->name, "cpu") != 0 && !w->j->host)
		st = kw_device_open("cpu", &w->j->host, err);
	r->dev = w->j->host ? w->j->host : w->j->dev;
	return st == KW_OK ? kw_reference_read(w->t, &r->arena, &r->text, err) : st;
}

void kw_c_reference_free(struct work *w)
{
	struct c_reference *r = w->c_reference;

	for (int f = 0; r && f < KW_REFERENCE_FORMS; f++)
		for (size_t i = 0; i < r->build_count[f]; i++)
			if (r->builds[f][i].done)
				kw_build_result_release(&r->builds[f][i].result);
	if (r) {
		kw_arena_release(&r->arena);
		pthread_mutex_destroy(&r->lock);
	}
	kw_free(r);
	w->c_reference = NULL;
}

static bool all_are(const struct kw_task *t, enum kw_dtype d)
{
	bool yes = true;

	for (size_t i = 0; i < t->input_count; i++)
		yes = yes && (t->inputs[i].dtype == d || !kw_dtype_is_float(t->inputs[i].dtype)) && !kw_tensor_any_strides(&t->inputs[i]);
	for (size_t i = 0; i < t->output_count; i++)
		yes = yes && (t->outputs[i].dtype == d || !kw_dtype_is_float(t->outputs[i].dtype));
	for (size_t i = 0; i < t->param_count; i++)
		yes = yes && (t->params[i].dtype == d || !kw_dtype_is_float(t->params[i].dtype));
	return yes;
}

const struct kw_candidate *kw_c_reference_as_baseline(const struct work *w)
{
	return all_are(w->t, KW_F64)   ? &w->c_reference->text.candidate[KW_REFERENCE_F64]
	       : all_are(w->t, KW_F32) ? &w->c_reference->text.candidate[KW_REFERENCE_F32]
				       : NULL;
}

/* ---- building ---- */

static enum kw_status build_failed(const struct work *w, int form, const struct kw_build_result *r, struct kw_error *err)
{
	const struct kw_artefact *f = &r->artefact;
	const char *message = "no message", *more = "";
	char place[200] = "";

	for (size_t i = f->diagnostic_count; i-- > 0;)
		if (f->diagnostics[i].severity == KW_ERROR) {
			message = f->diagnostics[i].message;
			kw_diagnostic_place(&f->diagnostics[i], place, sizeof place);
		}
	if (form == KW_REFERENCE_F32)
		more = " with its doubles read as floats, as the tolerance needs it";
	return kw_fail(err, KW_ERR_INPUT, w->t->reference_c, "the reference of '%s' does not compile%s: %s%s%.300s", w->t->name, more,
		       place, *place ? ": " : "", message);
}

/* Under the lock. One build a set of defines; the cache of the backend knows it by its text. */
static enum kw_status find_build(struct work *w, int form, const struct kw_bound_plan *plan, const struct kw_artefact **out,
				 struct kw_error *err)
{
	struct c_reference *r = w->c_reference;
	const struct kw_backend *c = kw_backend_find("c");
	struct kw_build_opts o = { .compiler = w->o.compiler };
	const char *key = kw_builds_key(kw_backend_find("c"), plan, &r->arena);
	struct build *all, *b;
	enum kw_status st;

	for (size_t i = 0; key && i < r->build_count[form]; i++)
		if (strcmp(r->builds[form][i].key, key) == 0) {
			*out = &r->builds[form][i].result.artefact;
			return KW_OK;
		}
	all = kw_arena_calloc(&r->arena, r->build_count[form] + 1, sizeof *all);
	if (!all || !key)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (r->build_count[form])
		memcpy(all, r->builds[form], r->build_count[form] * sizeof *all);
	b = &all[r->build_count[form]];
	b->key = key;
	if (form == KW_REFERENCE_F32)
		o.extra_flags[0] = "-fsingle-precision-constant";
	st = kw_build(c, &r->text.candidate[form], plan, &o, &b->result, err);
	if (st != KW_OK)
		return st;
	b->done = true;
	r->builds[form] = all;
	r->build_count[form]++;
	*out = &b->result.artefact;
	return b->result.cls == KW_V_OK ? KW_OK : build_failed(w, form, &b->result, err);
}

/* ---- of a stage ---- */

static enum kw_status make_views(struct stage *s, int form, struct run *r, struct kw_error *err)
{
	const struct kw_task *t = &s->w->c_reference->text.task[form];
	const struct kw_plan *p = &s->w->c_reference->text.candidate[form].plan;
	struct kw_case plain = *s->c;
	enum kw_status st;

	plain.layouts = NULL;
	st = kw_layout_views(t, &plain, &s->env, s->bound, r->view, r->spec, err);
	if (st == KW_OK)
		st = kw_plan_bind(p, t, &plain, r->view, NULL, &s->w->j->facts, &s->arena, &r->plan, err);
	if (st == KW_OK && !r->plan.applicable)
		return kw_fail(err, KW_ERR_INPUT, s->w->t->reference_c, "the reference does not apply to the case %s: %s", s->c->label,
			       r->plan.why_not ? r->plan.why_not : "excluded by its plan lines");
	r->spec_count = (size_t)s->tensors;
	for (size_t i = 0; i < p->workspace_count && st == KW_OK; i++) {
		if (r->spec_count == KW_MAX_TENSORS)
			return kw_fail(err, KW_ERR_LIMIT, s->w->t->reference_c, "the reference has too many workspaces");
		r->spec[r->spec_count++] = (struct kw_buffer_spec){
			.name = p->workspaces[i].name, .align_bytes = 64, .zero = p->workspaces[i].zero,
			.bytes = (size_t)kw_shape_count(&r->plan.workspaces[i]) * kw_dtype_bytes(p->workspaces[i].dtype) };
	}
	return st;
}

static enum kw_status open_run(struct stage *s, int form, struct run *r, struct kw_error *err)
{
	struct kw_device *dev = s->w->c_reference->dev;
	struct kw_session_opts o = { .buffers = r->spec, .tensor_count = (size_t)s->tensors, .slots = 1, .placement = KW_PLACE_END };
	struct kw_player_opts po = { .threads = s->w->o.threads };
	struct kw_play_result p = { .buffer = -1 };
	enum kw_status st = make_views(s, form, r, err);

	if (st == KW_OK) {
		pthread_mutex_lock(&s->w->c_reference->lock);
		st = find_build(s->w, form, &r->plan, &r->code, err);
		pthread_mutex_unlock(&s->w->c_reference->lock);
	}
	o.buffer_count = r->spec_count;
	if (st == KW_OK)
		st = dev->ops->session_new(dev, &o, &r->session, err);
	if (st == KW_OK)
		st = dev->ops->player_start(r->session, &po, &r->player, err);
	if (st == KW_OK)
		st = dev->ops->load(r->player, r->code, &r->plan, LOAD_TIMEOUT_MS, &p, err);
	if (st == KW_OK && p.end != KW_PLAY_DONE)
		st = kw_fail(err, KW_ERR_INPUT, s->w->t->reference_c, "the reference cannot be loaded: %s", p.detail);
	kw_trial_release(&p);
	for (int i = 0; i < s->outputs && st == KW_OK; i++) {
		int64_t n = kw_shape_count(kw_bound_output_shape(s->bound, i));

		r->values[i] = kw_alloc(((size_t)n + 1) * sizeof(double));
		if (!r->values[i])
			st = kw_fail(err, KW_ERR_NOMEM, "", "no memory for what the reference expects");
	}
	return st;
}

/* n elements of one dtype as another. */
static void convert(enum kw_dtype from, const char *x, enum kw_dtype to, char *out, int64_t n)
{
	double block[BLOCK];

	if (from == to) {
		memcpy(out, x, (size_t)n * kw_dtype_bytes(to));
		return;
	}
	for (int64_t i = 0; i < n; i += BLOCK) {
		size_t m = (size_t)(n - i < BLOCK ? n - i : BLOCK);

		kw_dtype_to_f64(from, x + (size_t)i * kw_dtype_bytes(from), block, m);
		kw_dtype_from_f64(to, block, out + (size_t)i * kw_dtype_bytes(to), m);
	}
}

/* A view of any layout as a contiguous array. */
static void gather(const struct kw_view *v, enum kw_dtype to, char *out)
{
	int64_t n = kw_shape_count(&v->shape), at[KW_MAX_RANK];
	enum kw_dtype from = (enum kw_dtype)v->dtype;
	size_t bytes = kw_dtype_bytes(from);

	if (kw_view_is_contiguous(v)) {
		convert(from, v->base, to, out, n);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		int64_t offset = 0;

		kw_shape_unravel(&v->shape, i, at);
		for (int d = 0; d < v->shape.rank; d++)
			offset += at[d] * v->stride[d];
		convert(from, (const char *)v->base + (size_t)offset * bytes, to, out + (size_t)i * kw_dtype_bytes(to), 1);
	}
}

static enum kw_status ended(const struct stage *s, const struct kw_play_result *p, struct kw_error *err)
{
	const char *who = s->w->t->reference_c;

	if (p->end == KW_PLAY_TIMEOUT)
		return kw_fail(err, KW_ERR_INPUT, who, "the reference did not return within %d s on the case %s", REFERENCE_TIMEOUT_MS / 1000,
			       s->c->label);
	if (p->blocked_syscall)
		return kw_fail(err, KW_ERR_INPUT, who, "the reference asked the system for what it may not have: %s", p->detail);
	if (p->end == KW_PLAY_SIGNAL)
		return kw_fail(err, KW_ERR_INPUT, who, "the reference was ended by signal %d (%s) on the case %s%s%s", p->signal,
			       strsignal(p->signal), s->c->label, p->buffer >= 0 ? ", at the buffer of " : "",
			       p->buffer >= 0 && p->buffer < s->inputs ? s->w->t->inputs[p->buffer].name :
			       p->buffer >= s->inputs && p->buffer < s->tensors ? s->w->t->outputs[p->buffer - s->inputs].name : "");
	return kw_fail(err, KW_ERR_INPUT, who, "the reference did not return on the case %s: %s", s->c->label,
		       p->detail[0] ? p->detail : "it ended its process");
}

/* All outputs of one call, into values or, with same, compared with them. */
static enum kw_status play(struct stage *s, struct run *r, bool *same, struct kw_error *err)
{
	struct kw_device *dev = s->w->c_reference->dev;
	struct kw_play_result p = { .buffer = -1 };
	uint64_t seed = s->w->seed ^ 0x7265666572656e63u;
	int slot = 0;
	enum kw_status st;

	for (int i = s->inputs; i < s->tensors; i++)
		kw_poison(kw_session_room(r->session, 0, i), r->spec[i].bytes, (enum kw_dtype)r->view[i].dtype, seed);
	st = dev->ops->run(r->player, &slot, 1, REFERENCE_TIMEOUT_MS, &p, err);
	if (st == KW_OK && p.end != KW_PLAY_DONE)
		st = ended(s, &p, err);
	kw_trial_release(&p);
	for (int i = 0; i < s->outputs && st == KW_OK; i++) {
		enum kw_dtype d = (enum kw_dtype)r->view[s->inputs + i].dtype;
		char *got = kw_session_ptr(r->session, 0, s->inputs + i);
		int64_t n = kw_shape_count(&r->view[s->inputs + i].shape);
		int64_t left = kw_dtype_is_float(d) ? kw_count_poison(got, 0, n, d, seed) : 0;

		if (left > 0)
			return kw_fail(err, KW_ERR_INPUT, s->w->t->reference_c, "the reference leaves %lld of %lld elements of '%s' unwritten "
				       "on the case %s", (long long)left, (long long)n, s->w->t->outputs[i].name, s->c->label);
		for (int64_t k = 0; same && k < n; k++) {
			double v = kw_dtype_load(d, got + (size_t)k * kw_dtype_bytes(d)), w = r->values[i][k];

			*same = *same && (v == w || (isnan(v) && isnan(w)) || fabs(v - w) <= SAME * fabs(w));
		}
		if (!same)
			kw_dtype_to_f64(d, got, r->values[i], (size_t)n);
		memset(got, 0, r->spec[s->inputs + i].bytes); /* values are not left lying about */
	}
	return st;
}

/* Under the lock: this form's values for these inputs. */
static enum kw_status ensure(struct c_values *v, int form, const struct kw_view *inputs, struct kw_error *err)
{
	struct stage *s = v->s;
	struct run *r = &v->run[form];
	bool same = true;
	enum kw_status st = KW_OK;

	if (r->valid)
		return KW_OK;
	if (!r->player)
		st = open_run(s, form, r, err);
	for (int i = 0; i < s->inputs && st == KW_OK; i++)
		gather(&inputs[i], (enum kw_dtype)r->view[i].dtype, kw_session_room(r->session, 0, i));
	if (st == KW_OK)
		st = play(s, r, NULL, err);
	if (st == KW_OK && !r->checked && form == KW_REFERENCE_F64)
		st = play(s, r, &same, err);
	if (st == KW_OK && !same)
		st = kw_fail(err, KW_ERR_INPUT, s->w->t->reference_c, "the reference gives different answers for the same input (case %s)",
			     s->c->label);
	r->checked = true;
	r->valid = st == KW_OK;
	return st;
}

/* What the f64 kernel gives; what a plain one gives (in f32, but wide outputs exactly, as KW_EVAL_F32 does); or that with all
 * outputs in f32, of which the tolerance of wide outputs takes 2^-29. */
static enum kw_status values(void *arg, enum kw_eval_mode mode, int output, const struct kw_view *inputs, const double **out,
			     struct kw_error *err)
{
	struct c_values *v = arg;
	bool exact = mode == KW_EVAL_F64 || (mode == KW_EVAL_F32 && kw_output_is_wide(&v->s->w->t->outputs[output]));
	int form = exact ? KW_REFERENCE_F64 : KW_REFERENCE_F32;
	enum kw_status st;

	pthread_mutex_lock(&v->lock);
	st = ensure(v, form, inputs, err);
	pthread_mutex_unlock(&v->lock);
	*out = v->run[form].values[output];
	return st;
}

static void forget(void *arg)
{
	struct c_values *v = arg;

	pthread_mutex_lock(&v->lock);
	for (int f = 0; f < KW_REFERENCE_FORMS; f++)
		v->run[f].valid = false;
	pthread_mutex_unlock(&v->lock);
}

enum kw_status kw_c_values_open(struct stage *s, struct kw_external *out, struct kw_error *err)
{
	struct c_values *v = kw_calloc(1, sizeof *v);

	if (!v)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	v->s = s;
	pthread_mutex_init(&v->lock, NULL);
	s->c_values = v;
	*out = (struct kw_external){ .values = values, .forget = forget, .arg = v };
	return KW_OK;
}

void kw_c_values_close(struct stage *s)
{
	struct c_values *v = s->c_values;

	for (int f = 0; v && f < KW_REFERENCE_FORMS; f++) {
		struct run *r = &v->run[f];

		if (r->player)
			s->w->c_reference->dev->ops->player_stop(r->player);
		if (r->session)
			s->w->c_reference->dev->ops->session_free(r->session);
		for (int i = 0; i < s->outputs; i++)
			kw_free(r->values[i]);
	}
	if (v)
		pthread_mutex_destroy(&v->lock);
	kw_free(v);
	s->c_values = NULL;
}
