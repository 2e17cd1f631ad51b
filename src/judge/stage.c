#include "judge/gpu.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define REFERENCE_MAX_BYTES ((size_t)6 << 30) /* for materialised nodes of one evaluator */
#define SAMPLED_FLOPS 6e8                     /* above this the f64 reference is evaluated at samples */
#define DEAR_FLOPS 5e8                        /* of samples: then PyTorch computes them, where it can */
#define DEAR_NETWORK_FLOPS 2e7                /* the same of a network, whose inner layers are computed again for those behind them */
enum { NETWORK_NODES = 100 };

/* ---- binding -------------------------------------------------------------------------------- */

enum kw_status kw_stage_bind(struct stage *s, struct work *w, const struct kw_case *c, struct kw_error *err)
{
	double dear;
	enum kw_status st;

	memset(s, 0, sizeof *s);
	s->w = w;
	s->c = c;
	kw_arena_init(&s->arena, 256u << 20);
	s->inputs = (int)w->t->input_count;
	s->outputs = (int)w->t->output_count;
	s->tensors = s->inputs + s->outputs;
	if (s->tensors > KW_MAX_TENSORS / 2 || s->outputs > KW_MAX_OUTPUTS)
		return kw_fail(err, KW_ERR_LIMIT, w->t->file, "more than %d %s", s->outputs > KW_MAX_OUTPUTS ? KW_MAX_OUTPUTS :
			       KW_MAX_TENSORS / 2, s->outputs > KW_MAX_OUTPUTS ? "outputs" : "tensors");
	if ((st = kw_case_env(w->t, c, &s->arena, &s->env, err)) != KW_OK ||
	    (st = kw_expr_bind(w->e, c, &s->arena, &s->bound, err)) != KW_OK ||
	    (st = kw_layout_views(w->t, c, &s->env, s->bound, s->view, s->spec, err)) != KW_OK)
		return st;
	kw_expr_cost(s->bound, &s->cost);
	s->sampled = s->cost.flops > SAMPLED_FLOPS && s->cost.flops > 64 * (s->cost.bytes_read + s->cost.bytes_written);
	dear = w->e->node_count > NETWORK_NODES ? DEAR_NETWORK_FLOPS : DEAR_FLOPS;
	s->external = kw_expr_is_external(w->e) || (w->torch && s->cost.flops > dear && kw_expr_sample_flops(s->bound) > dear);
	s->sampled = s->sampled && !s->external;
	s->steps = !s->external && kw_expr_has_steps(w->e);
	s->spec_count = (size_t)s->tensors;
	s->plan.applicable = w->module != NULL; /* tensors bring their strides along */
	if (w->c && !w->module && (st = kw_plan_bind(&w->c->plan, w->t, c, s->view, &(struct kw_tune_point){ w->c->tune_values,
				       w->c->plan.tune_count }, &w->j->facts, &s->arena, &s->plan, err)) != KW_OK)
		return st;
	return KW_OK;
}

/* Workspaces follow the tensors. Baselines share the session, so each buffer is as large as the largest user. */
static enum kw_status add_workspaces(struct stage *s, const struct kw_plan *p, const struct kw_bound_plan *bound, bool zero,
				     struct kw_error *err)
{
	for (size_t i = 0; i < p->workspace_count; i++) {
		struct kw_buffer_spec *b = &s->spec[(size_t)s->tensors + i];
		int64_t n = kw_shape_count(&bound->workspaces[i]);
		size_t bytes;

		if ((size_t)s->tensors + i >= KW_MAX_TENSORS)
			return kw_fail(err, KW_ERR_LIMIT, "", "too many workspaces");
		if (n < 0 || n > INT64_MAX / 16)
			return kw_fail(err, KW_ERR_LIMIT, p->workspaces[i].name, "the workspace is too large");
		bytes = (size_t)n * kw_dtype_bytes(p->workspaces[i].dtype);
		if ((size_t)s->tensors + i >= s->spec_count) {
			*b = (struct kw_buffer_spec){ .name = p->workspaces[i].name, .align_bytes = KW_WORKSPACE_ALIGN };
			s->spec_count = (size_t)s->tensors + i + 1;
		}
		if (bytes > b->bytes)
			b->bytes = bytes;
		b->zero = b->zero || (zero && p->workspaces[i].zero);
	}
	return KW_OK;
}

enum kw_status kw_stage_workspaces(struct stage *s, struct kw_error *err)
{
	struct baseline_set *set = s->w->baselines;
	enum kw_status st = KW_OK;

	if (s->w->c)
		st = add_workspaces(s, &s->w->c->plan, &s->plan, true, err);
	for (int i = 0; set && i < set->count && st == KW_OK; i++)
		if (s->base[i].plan.applicable)
			st = add_workspaces(s, &set->item[i].candidate.plan, &s->base[i].plan, false, err);
	return st;
}

/* ---- session and evaluators ------------------------------------------------------------------ */

void kw_stage_views(const struct stage *s, int slot, struct kw_view *out)
{
	for (int i = 0; i < s->tensors; i++) {
		out[i] = s->view[i];
		out[i].base = kw_session_ptr(s->session, slot, i);
	}
}

/* Every call of a timed batch has a slot of its own, and the judge drops those slots from the caches before the batch: the
 * calls are cold however few there are. So K only makes a batch of short calls long enough to be timed; one long call is. */
static int slots_of(const struct stage *s)
{
	double need = s->footprint_bytes > 1 ? s->footprint_bytes : 1, k = ceil(s->w->j->dev->batch_bytes / need);
	double have = floor((double)kw_device_memory_available(s->w->j->dev) * KW_MEMORY_SHARE / need);

	if (!s->c->perf)
		return 2;
	if (k > have)
		k = have;
	return k < 2 ? 2 : k > s->w->j->dev->most_slots ? s->w->j->dev->most_slots : (int)k;
}

double kw_stage_bytes(const struct stage *s)
{
	return s->footprint_bytes * slots_of(s);
}

static enum kw_status open_one(struct stage *s, const struct kw_bound *b, enum kw_eval_mode mode, struct kw_eval **out,
			       struct kw_error *err)
{
	double *params = kw_arena_calloc(&s->arena, s->w->t->param_count + 1, sizeof *params);
	struct kw_view views[KW_MAX_TENSORS];

	if (!params)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; i < s->w->t->param_count; i++)
		params[i] = s->w->t->params[i].value;
	memcpy(views, s->view, sizeof views); /* where they lie is told with their contents */
	return kw_eval_new(b, views, params, mode, s->w->j->threads, REFERENCE_MAX_BYTES, out, err);
}

static enum kw_status open_plain(struct stage *s, const struct kw_bound *b, struct kw_eval **ev32, struct kw_eval **coarse,
				 struct kw_error *err)
{
	enum kw_status st = open_one(s, b, KW_EVAL_F32, ev32, err);

	for (int i = 0; i < s->outputs && st == KW_OK && !*coarse; i++)
		if (kw_output_is_wide(&s->w->t->outputs[i]))
			st = open_one(s, b, KW_EVAL_COARSE, coarse, err);
	return st;
}

static void note_start(struct stage *s, struct kw_player *p)
{
	char text[200];

	if (!p || !p->killed)
		return;
	snprintf(text, sizeof text, "%s: a player was begun anew: a process was ended from outside by signal %d while it started", s->c->label,
		 p->killed);
	p->killed = 0;
	kw_note(s->w, text);
}

void kw_stage_note_starts(struct stage *s)
{
	note_start(s, s->player);
	for (int i = 0; i < KW_BASELINES; i++)
		note_start(s, s->base[i].player);
}

struct starting {
	struct stage *s;
	enum kw_status status;
	struct kw_error err;
};

static void *start_baselines(void *arg)
{
	struct starting *b = arg;

	b->status = kw_baselines_start(b->s, &b->err);
	return NULL;
}

/* The candidate's and the baselines', at once where one takes long to start. */
static enum kw_status start_players(struct stage *s, struct kw_error *err)
{
	struct kw_player_opts o = kw_stage_player_opts(s, false);
	struct starting b = { .s = s };
	pthread_t thread;
	bool apart = s->w->j->dev->players_are_dear && pthread_create(&thread, NULL, start_baselines, &b) == 0;
	enum kw_status st = s->w->j->dev->ops->player_start(s->session, &o, &s->player, err);

	if (apart)
		pthread_join(thread, NULL);
	else if (st == KW_OK)
		start_baselines(&b);
	if (st == KW_OK && b.status != KW_OK && err)
		*err = b.err;
	return st == KW_OK ? b.status : st;
}

/* All three get their values from the process of a reference in C or PyTorch. A network's expression may be there too, for what it
 * costs; what its layers give is computed faster by PyTorch. */
static enum kw_status open_external(struct stage *s, struct kw_error *err)
{
	struct kw_external from;
	enum kw_status st = s->w->torch ? kw_torch_values_open(s, &from, err) : kw_c_values_open(s, &from, err);

	s->w->values_by_torch = s->w->values_by_torch || (s->w->torch && !kw_expr_is_external(s->w->e));
	if (st == KW_OK)
		st = kw_eval_new_external(s->bound, s->view, KW_EVAL_F64, &from, &s->ev64, err);
	if (st == KW_OK)
		st = kw_eval_new_external(s->bound, s->view, KW_EVAL_COARSE, &from, &s->coarse, err);
	return st == KW_OK ? kw_eval_new_external(s->bound, s->view, KW_EVAL_F32, &from, &s->ev32, err) : st;
}

static enum kw_status open_evaluators(struct stage *s, struct kw_error *err)
{
	enum kw_status st;

	if (s->external)
		return open_external(s, err);
	st = open_one(s, s->bound, KW_EVAL_F64, &s->ev64, err);
	return st == KW_OK ? open_plain(s, s->bound, &s->ev32, &s->coarse, err) : st;
}

enum kw_status kw_stage_formula(struct stage *s, int number, struct kw_error *err)
{
	struct other_formula *f = &s->formula[number];
	struct kw_bound *bound;
	struct kw_expr *e;
	struct kw_buf says;
	enum kw_status st;

	if (f->tried)
		return KW_OK;
	f->tried = true;
	if (s->external) /* it is what it is */
		return KW_OK;
	kw_buf_init(&says, 1 << 12);
	st = kw_expr_rephrase(s->w->e, number + 1, &s->arena, &e, &says, err);
	f->says = st == KW_OK ? kw_arena_strndup(&s->arena, says.ptr ? says.ptr : "", says.len) : "";
	kw_buf_release(&says);
	if (!f->says)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (st == KW_OK)
		st = kw_expr_bind(e, s->c, &s->arena, &bound, err);
	if (st == KW_OK)
		st = open_plain(s, bound, &f->ev32, &f->coarse, err);
	return st == KW_NO ? KW_OK : st;
}

enum kw_status kw_stage_open(struct stage *s, bool player, struct kw_error *err)
{
	const struct kw_device_ops *ops = s->w->j->dev->ops;
	struct kw_session_opts o = { .buffers = s->spec, .tensor_count = (size_t)s->tensors, .slots = slots_of(s),
				     .placement = s->c->perf ? KW_PLACE_END : KW_PLACE_ALTERNATE };
	enum kw_status st = KW_OK;

	if (s->ev32)
		return KW_OK;
	if (!s->w->j->gpu_tried && (st = kw_gpu_open(s->w->j->dev, &s->w->j->gpu, err)) != KW_OK)
		return st;
	s->w->j->gpu_tried = true;
	if ((st = kw_stage_workspaces(s, err)) != KW_OK || (st = kw_stage_module(s, err)) != KW_OK)
		return st;
	o.buffer_count = s->spec_count;
	s->slots = o.slots;
	st = ops->session_new(s->w->j->dev, &o, &s->session, err);
	if (st == KW_OK && player)
		st = start_players(s, err);
	return st == KW_OK ? open_evaluators(s, err) : st;
}

void kw_stage_close(struct stage *s)
{
	kw_eval_free(s->ev64);
	kw_eval_free(s->ev32);
	kw_eval_free(s->coarse);
	for (int i = 0; i < KW_EXPR_FORMS; i++) {
		kw_eval_free(s->formula[i].ev32);
		kw_eval_free(s->formula[i].coarse);
		s->formula[i] = (struct other_formula){ 0 };
	}
	kw_c_values_close(s);
	kw_torch_values_close(s);
	if (s->player)
		s->w->j->dev->ops->player_stop(s->player);
	kw_baselines_close(s);
	kw_references_close(s);
	if (s->session)
		s->w->j->dev->ops->session_free(s->session);
	s->ev64 = s->ev32 = s->coarse = NULL;
	s->player = NULL;
	s->session = NULL;
	kw_arena_release(&s->arena);
}

/* ---- contents -------------------------------------------------------------------------------- */

/* A seed that was not there before. */
static uint64_t new_seed(struct work *w)
{
	return w->seed + 0x9e3779b97f4a7c15u * ++w->counter;
}

static enum kw_status fill_one(struct stage *s, int input, struct kw_view *view, enum kw_fill fill, uint64_t seed,
			       struct kw_error *err)
{
	return kw_fill_input(&s->w->t->inputs[input], view, fill, seed, (uint32_t)input, &s->env, s->w->j->threads, err);
}

static enum kw_fill fill_for(const struct stage *s, int input, enum kw_fill fill)
{
	return kw_fill_fits(fill, &s->w->t->inputs[input]) ? fill : KW_FILL_DECLARED;
}

enum kw_status kw_stage_fill_views(struct stage *s, struct kw_view *views, enum kw_fill fill, struct kw_error *err)
{
	int64_t start = kw_now_ns();
	uint64_t seed = new_seed(s->w);
	enum kw_status st = KW_OK;

	for (int i = 0; i < s->inputs && st == KW_OK; i++)
		st = fill_one(s, i, &views[i], fill_for(s, i, fill), seed, err);
	s->w->v->generate_ns += kw_now_ns() - start;
	return st;
}

/* What a module holds stays the same as long as its process lives, as it would in a model. */
enum kw_status kw_stage_weights(struct stage *s, int slot, bool anew, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	if (anew)
		s->weight_seed = new_seed(s->w);
	if (s->weights_in[slot] == s->weight_seed)
		return KW_OK;
	for (int i = 0; i < s->inputs && st == KW_OK; i++) {
		struct kw_view view = s->view[i];
		bool done;

		if (!s->w->weight[i])
			continue;
		if ((st = kw_gpu_fill(s, slot, i, KW_FILL_DECLARED, s->weight_seed, &done, err)) != KW_OK || done)
			continue;
		view.base = kw_session_room(s->session, slot, i);
		st = fill_one(s, i, &view, KW_FILL_DECLARED, s->weight_seed, err);
		if (st == KW_OK)
			st = kw_session_push(s->session, slot, i, err);
	}
	s->weights_in[slot] = s->weight_seed;
	return st == KW_OK ? kw_gpu_wait(s, err) : st; /* loading reads them */
}

/* Where they are asked for, the first slot has the inputs that the author of the problem calls it with. */
static enum kw_status fill_original(struct stage *s, int slot, enum kw_fill fill, uint64_t seed, struct kw_error *err)
{
	struct kw_view views[KW_MAX_TENSORS];
	enum kw_status st;

	memset(s->original, 0, sizeof s->original);
	if (!s->w->o.original || slot != 0 || fill != KW_FILL_DECLARED)
		return KW_OK;
	for (int i = 0; i < s->inputs; i++) {
		views[i] = s->view[i];
		views[i].base = kw_session_room(s->session, slot, i);
	}
	st = kw_torch_original(s, views, seed, s->original, err);
	for (int i = 0; i < s->inputs && st == KW_OK; i++) {
		s->original[i] = s->original[i] && !s->w->weight[i];
		s->w->originals += s->original[i];
		if (s->original[i])
			st = kw_session_push(s->session, slot, i, err);
	}
	return st;
}

enum kw_status kw_stage_fill(struct stage *s, int slot, enum kw_fill fill, struct kw_error *err)
{
	int64_t start = kw_now_ns();
	uint64_t seed = new_seed(s->w);
	enum kw_status st = fill_original(s, slot, fill, seed, err);

	for (int i = 0; i < s->inputs && st == KW_OK; i++) {
		struct kw_view view = s->view[i];
		enum kw_fill f = fill_for(s, i, fill);
		bool done;

		if (s->w->weight[i] || s->original[i])
			continue;
		if ((st = kw_gpu_fill(s, slot, i, f, seed, &done, err)) != KW_OK || done)
			continue;
		view.base = kw_session_room(s->session, slot, i);
		st = fill_one(s, i, &view, f, seed, err);
		if (st == KW_OK)
			st = kw_session_push(s->session, slot, i, err);
	}
	if (st == KW_OK)
		st = kw_stage_weights(s, slot, false, err);
	s->w->v->generate_ns += kw_now_ns() - start;
	return st;
}

/* Before a call the buffer of what is updated in place holds the input. */
struct refill_job {
	char *to;
	const char *from;
	size_t bytes;
};
#define REFILL_PART ((size_t)1 << 21)

static void refill_part(void *arg, int64_t i)
{
	struct refill_job *j = arg;
	size_t first = (size_t)i * REFILL_PART, n = j->bytes - first;

	memcpy(j->to + first, j->from + first, n < REFILL_PART ? n : REFILL_PART);
}

static void refill(struct stage *s, int slot, int tensor)
{
	struct refill_job job = { .from = kw_session_ptr(s->session, slot, s->w->t->outputs[tensor - s->inputs].partner),
				  .to = kw_session_room(s->session, slot, tensor), .bytes = s->spec[tensor].bytes };

	kw_parallel(s->w->j->threads, (int64_t)((job.bytes + REFILL_PART - 1) / REFILL_PART), refill_part, &job);
	kw_session_push(s->session, slot, tensor, NULL); /* the next run returns a failure */
}

struct poison_job {
	char *base;
	size_t bytes;
	enum kw_dtype dtype;
	uint64_t seed;
};
#define POISON_PART ((size_t)1 << 21)

static void poison_part(void *arg, int64_t i)
{
	struct poison_job *j = arg;
	size_t first = (size_t)i * POISON_PART, n = j->bytes - first;

	kw_poison(j->base + first, n < POISON_PART ? n : POISON_PART, j->dtype, j->seed);
}

void kw_stage_poison(struct stage *s, int slot)
{
	int64_t start = kw_now_ns();

	s->poison_seed = s->w->seed ^ 0x5bd1e9955bd1e995u;
	for (int i = s->inputs; i < s->tensors; i++) {
		struct poison_job job = { .bytes = s->spec[i].bytes,
					  .dtype = (enum kw_dtype)s->view[i].dtype, .seed = s->poison_seed };

		if (s->w->t->outputs[i - s->inputs].inout) {
			refill(s, slot, i);
			continue;
		}
		if (s->w->j->gpu) {
			kw_gpu_poison(s, slot, i, s->poison_seed, NULL); /* the next run returns a failure */
			continue;
		}
		job.base = kw_session_room(s->session, slot, i);
		kw_parallel(s->w->j->threads, (int64_t)((job.bytes + POISON_PART - 1) / POISON_PART), poison_part, &job);
		kw_session_push(s->session, slot, i, NULL); /* the next run returns a failure */
	}
	s->w->v->generate_ns += kw_now_ns() - start;
}

enum kw_status kw_stage_pull(struct stage *s, int slot, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	for (int i = 0; i < s->tensors && st == KW_OK; i++)
		st = kw_session_pull(s->session, slot, i, err);
	return st;
}

enum kw_status kw_stage_output_hash(struct stage *s, int slot, uint64_t *out, struct kw_error *err)
{
	enum kw_status st = KW_OK;
	uint64_t there;

	*out = 1;
	for (int i = s->inputs; i < s->tensors && st == KW_OK; i++)
		if (s->w->j->gpu) {
			st = kw_gpu_hash(s, slot, i, s->w->seed, &there, err);
			*out = kw_xxh64(&there, sizeof there, *out);
		} else if ((st = kw_session_pull(s->session, slot, i, err)) == KW_OK) {
			*out = kw_xxh64(kw_session_ptr(s->session, slot, i), s->spec[i].bytes, *out);
		}
	return st;
}
