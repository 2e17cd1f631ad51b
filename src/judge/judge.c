#include "judge/judge.h"

#include "backend/triton_asked.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "judge/gpu.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define UNSEEN_CASES 4
#define SMALL_ELEMENTS 4000000   /* check cases up to here get every special fill */
#define FEW_PROGRAMS 64          /* that an interpreter runs as often as any other device */
#define TELLING_ELEMENTS 64
#define ATTEMPTS 3               /* at a case whose players are ended from outside */
#define MUCH_MEMORY (256 << 20)  /* of a player's own: enough for a system to end it first */

/* ---- life ------------------------------------------------------------------------------------- */

enum kw_status kw_judge_new(const char *device, struct kw_judge **out, struct kw_error *err)
{
	struct kw_judge *j = kw_calloc(1, sizeof *j);
	enum kw_status st;

	*out = NULL;
	if (!j)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if ((st = kw_device_open_begin(device, &j->dev, err)) != KW_OK) {
		kw_free(j);
		return st;
	}
	kw_hardware_env(&j->dev->hardware, j->fact_vars, &j->facts);
	j->threads = kw_host_cores();
	*out = j;
	return KW_OK;
}

void kw_judge_free(struct kw_judge *j)
{
	if (!j)
		return;
	kw_expected_free(j);
	kw_gpu_close(j->gpu);
	kw_torch_process_free(j);
	kw_module_dismiss();
	kw_triton_asked_dismiss();
	kw_device_close(j->host);
	kw_device_close(j->dev);
	kw_free(j);
}

struct kw_device *kw_judge_device(struct kw_judge *j)
{
	return j->dev;
}

void kw_judge_opts_default(struct kw_judge_opts *o, enum kw_judge_effort effort)
{
	*o = (struct kw_judge_opts){ .effort = effort, .only_case = -1, .with_baselines = effort != KW_EFFORT_SCREEN };
}

int64_t kw_judge_time_limit_ns(enum kw_judge_effort effort)
{
	return effort == KW_EFFORT_SCREEN ? 250000000 : effort == KW_EFFORT_FULL ? 2000000000 : 3000000000;
}

static void fill_defaults(struct work *w)
{
	struct kw_judge_opts *o = &w->o;
	bool screen = o->effort == KW_EFFORT_SCREEN;

	w->baselines_said = o->baselines != 0;
	if (!o->baselines)
		o->baselines = KW_BASELINE_NAIVE | KW_BASELINE_EAGER | KW_BASELINE_COMPILE;
	if (o->trials <= 0)
		o->trials = screen ? 1 : 5;
	if (o->ci_target <= 0)
		o->ci_target = screen ? 0.03 : 0.01;
	if (o->time_limit_ns <= 0)
		o->time_limit_ns = kw_judge_time_limit_ns(o->effort);
}

/* ---- before anything runs ------------------------------------------------------------------------ */

static void head(struct work *w)
{
	struct kw_verdict *v = w->v;

	v->task_name = kw_arena_strdup(w->a, w->t->name);
	v->backend = kw_arena_strdup(w->a, w->c->backend);
	v->device = kw_arena_strdup(w->a, w->j->dev->hardware.name);
	memcpy(v->task_sha, w->t->sha256, sizeof v->task_sha);
	memcpy(v->candidate_sha, w->c->sha256, sizeof v->candidate_sha);
	v->when_ms = kw_wall_ms();
}

/* "THREADS=256 UNROLL=4", also the plan's own hash. */
static void tune_text(struct work *w)
{
	const struct kw_plan *p = &w->c->plan;
	struct kw_buf b;

	kw_buf_init(&b, 1 << 16);
	for (size_t i = 0; i < p->tune_count; i++)
		kw_buf_printf(&b, "%s%s=%lld", i ? " " : "", p->tunes[i].name,
			      (long long)(w->c->tune_values ? w->c->tune_values[i] : p->tunes[i].default_value));
	w->v->tune = kw_arena_strndup(w->a, b.ptr ? b.ptr : "", b.len);
	kw_buf_addz(&b, w->c->sha256);
	kw_sha256_hex(b.ptr, b.len, w->v->plan_sha);
	kw_buf_release(&b);
}

/* A kernel that gets one output twice, or an output through two pointers, cannot be judged element by element. */
static void refuse_aliases(struct work *w)
{
	for (size_t k = 0; k < w->c->plan.kernel_count; k++) {
		const struct kw_plan_kernel *kernel = &w->c->plan.kernels[k];

		for (size_t i = 0; i < kernel->arg_count; i++)
			for (size_t j = 0; j < i; j++) {
				const struct kw_plan_arg *a = &kernel->args[i], *b = &kernel->args[j];
				bool output = false;
				char text[200];

				if (a->kind != KW_ARG_TENSOR || b->kind != KW_ARG_TENSOR || strcmp(a->name, b->name) != 0)
					continue;
				for (size_t o = 0; o < w->t->output_count; o++)
					output = output || strcmp(w->t->outputs[o].name, a->name) == 0;
				snprintf(text, sizeof text, "kernel %s is given output %s through two pointers", kernel->name, a->name);
				if (output)
					kw_fail_verdict(w, NULL, KW_S_ALIAS, text, "pass each output once");
			}
	}
}

/* The names that an object asks the loader for stand in it between two NULs. */
static bool imports(const struct kw_artefact *a, const char *name)
{
	size_t len = strlen(name);
	char key[40];

	key[0] = '\0';
	memcpy(key + 1, name, len + 1);
	return memmem(a->code, a->code_bytes, key, len + 2) != NULL;
}

static void refuse_libraries(struct work *w)
{
	static const char *const names[] = { "dlopen", "dlmopen", "dlsym", "cblas_sgemm", "cblas_dgemm", "cblas_sgemv",
					     "sgemm_", "dgemm_" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		for (size_t b = 0; b < w->build_count && w->t->libraries == KW_LIBRARIES_REFUSE; b++)
			if (w->builds[b].done && imports(&w->builds[b].result.artefact, names[i])) {
				char text[160];

				snprintf(text, sizeof text, "it calls %s, and this task asks for a kernel, not for a library", names[i]);
				kw_fail_verdict(w, NULL, KW_S_LIBRARY, text, "libraries: refuse");
			}
}

void kw_note(struct work *w, const char *text)
{
	const char **flags = kw_arena_calloc(w->a, w->v->flag_count + 1, sizeof *flags);
	char *copy = kw_arena_strdup(w->a, text);

	for (size_t i = 0; i < w->v->flag_count; i++)
		if (strcmp(w->v->flags[i], text) == 0)
			return;
	if (!flags || !copy)
		return;
	if (w->v->flag_count)
		memcpy(flags, w->v->flags, w->v->flag_count * sizeof *flags);
	flags[w->v->flag_count++] = copy;
	w->v->flags = flags;
}

/* What no rule can judge is listed with its line for a person. */
static void flag_for_people(struct work *w)
{
	static const char *const words[] = { "asm", "__asm__", "__asm", "syscall", "dlopen", "pthread_create", "setjmp",
					     "inline_asm_elementwise" };
	struct kw_str rest = { w->c->source, w->c->source_len }, line;
	int number = 0;

	while (kw_str_split(&rest, '\n', &line)) {
		number++;
		for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
			size_t len = strlen(words[i]);
			const char *at = memmem(line.ptr, line.len, words[i], len);
			char text[120];

			if (!at || (at > line.ptr && (at[-1] == '_' || (at[-1] >= 'a' && at[-1] <= 'z'))) ||
			    (at + len < line.ptr + line.len && ((at[len] >= 'a' && at[len] <= 'z') || at[len] == '_')))
				continue;
			snprintf(text, sizeof text, "needs a person's eye: line %d uses %s", number, words[i]);
			kw_note(w, text);
			break;
		}
	}
}

/* ---- cases ------------------------------------------------------------------------------------------ */

struct plan_of_cases {
	struct stage **stages;
	struct kw_case *cases;          /* the unseen ones live here */
	size_t count, listed;
};

static bool case_wanted(const struct work *w, size_t i)
{
	const struct kw_case *c = &w->t->cases[i];

	if (w->o.only_case >= 0)
		return (size_t)w->o.only_case == i;
	if (w->o.effort == KW_EFFORT_SCREEN) {
		size_t first = 0;

		while (first < w->t->case_count && (!w->t->cases[first].perf || w->t->cases[first].large))
			first++;
		return i == first;
	}
	return !c->large || w->o.large;
}

static enum kw_status new_result(struct work *w, struct stage *s, bool unseen, struct kw_error *err)
{
	struct kw_case_result *r = &w->v->cases[w->v->case_count];

	*r = (struct kw_case_result){ .label = kw_arena_strdup(w->a, s->c->label), .perf = s->c->perf, .unseen = unseen };
	r->dim_count = w->t->dim_count;
	r->dims = kw_arena_copy(w->a, s->c->dims, w->t->dim_count * sizeof *r->dims);
	if (!r->label || (r->dim_count && !r->dims))
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	w->v->case_count++;
	s->result = r;
	return KW_OK;
}

static double slot_bytes(const struct stage *s)
{
	double bytes = 0;

	for (size_t i = 0; i < s->spec_count; i++)
		bytes += (double)s->spec[i].bytes;
	for (size_t i = 0; s->plan.applicable && i < s->w->c->plan.workspace_count; i++)
		bytes += (double)kw_shape_count(&s->plan.workspaces[i]) *
			 (double)kw_dtype_bytes(s->w->c->plan.workspaces[i].dtype);
	return bytes;
}

/* Programs of all launches of a call. */
static double programs_of(const struct stage *s)
{
	double n = 0;

	for (size_t i = 0; i < s->plan.kernel_count; i++)
		n += (double)s->plan.kernels[i].grid[0] * (double)s->plan.kernels[i].grid[1] * (double)s->plan.kernels[i].grid[2];
	return n;
}

static void bind_result(struct stage *s)
{
	int64_t most = s->w->j->dev->most_programs;
	struct kw_case_result *r = s->result;

	s->footprint_bytes = slot_bytes(s);
	if (s->plan.applicable && (!most || programs_of(s) <= (double)most))
		return;
	r->verdict = KW_V_NOT_APPLICABLE;
	if (!s->plan.applicable)
		snprintf(r->why, sizeof r->why, "%s", s->plan.why_not ? s->plan.why_not : "excluded by its require lines");
	else
		snprintf(r->why, sizeof r->why, "too large for an interpreter: %.0f programs, and it runs %lld at most", programs_of(s),
			 (long long)most);
	s->plan.applicable = false;
}

/* Asked when its turn comes: how much memory a GPU has left is known once it has started, and compilers need not wait for that. */
static bool fits(struct stage *s)
{
	struct kw_case_result *r = s->result;
	double need = s->footprint_bytes * (s->c->perf ? 2 : 1), have;
	char a[32], b[32];

	if (s->session) /* it got its memory while the compiler ran */
		return true;
	have = (double)kw_device_memory_available(s->w->j->dev) * KW_MEMORY_SHARE;
	if (need <= have)
		return true;
	r->verdict = KW_V_NOT_APPLICABLE;
	s->plan.applicable = false;
	snprintf(r->why, sizeof r->why, "does not fit this machine: it needs %s of memory, %s can be given",
		 kw_human_bytes(need, a, sizeof a), kw_human_bytes(have, b, sizeof b));
	return false;
}

static enum kw_status add_case(struct work *w, struct plan_of_cases *p, const struct kw_case *c, bool unseen,
			       struct kw_error *err)
{
	struct stage *s = kw_calloc(1, sizeof *s);
	enum kw_status st;

	if (!s)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	p->stages[p->count++] = s;
	if ((st = kw_stage_bind(s, w, c, err)) == KW_OK && (st = new_result(w, s, unseen, err)) == KW_OK)
		bind_result(s);
	if (st == KW_OK && c->perf && s->plan.applicable)
		st = kw_baselines_bind(s, err);
	if (st == KW_OK && s->plan.applicable)
		st = kw_references_bind(s, err);
	return st == KW_OK ? st : kw_error_while(err, "preparing case %s", c->label);
}

/* Check cases first, cheap ones before dear ones; then the timed ones. Outputs of a few elements come last: a wrong answer
 * there has too few numbers to tell its kind by. */
static double turn_of(const struct stage *s)
{
	int64_t n = kw_shape_count(&s->view[s->inputs].shape);

	return s->footprint_bytes + (n < TELLING_ELEMENTS ? 1e18 : 0) + (s->c->perf ? 1e24 : 0);
}

static int by_turn(const void *a, const void *b)
{
	const struct stage *const *x = a, *const *y = b;
	double tx = turn_of(*x), ty = turn_of(*y);

	return tx < ty ? -1 : tx > ty;
}

/* Builds from the first-th stage on, while a thread prepares them. */
static enum kw_status build_from(struct work *w, struct plan_of_cases *p, size_t first, struct kw_error *err)
{
	struct stage **stages = p->stages + first;
	size_t count = p->count - first;
	struct prepare *ahead;
	struct kw_error late = { 0 };
	enum kw_status st, prepared;

	qsort(stages, count, sizeof *stages, by_turn);
	ahead = kw_prepare_begin(stages, count);
	st = kw_builds_make(w, stages, count, err);
	prepared = kw_prepare_end(ahead, &late);
	if (st == KW_OK && !w->failed && prepared != KW_OK) {
		if (err)
			*err = late;
		st = prepared;
	}
	for (size_t i = 0; i < count && st == KW_OK; i++)
		if (stages[i]->plan.applicable)
			stages[i]->code = kw_builds_find(w, &stages[i]->plan);
	return st;
}

static enum kw_status collect(struct work *w, struct plan_of_cases *p, struct kw_error *err)
{
	size_t room = w->t->case_count + UNSEEN_CASES;
	enum kw_status st = KW_OK;

	p->stages = kw_calloc(room, sizeof *p->stages);
	p->cases = kw_arena_calloc(w->a, UNSEEN_CASES, sizeof *p->cases);
	w->v->cases = kw_arena_calloc(w->a, room, sizeof *w->v->cases);
	if (!p->stages || !p->cases || !w->v->cases)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; i < w->t->case_count && st == KW_OK; i++)
		if (case_wanted(w, i))
			st = add_case(w, p, &w->t->cases[i], false, err);
	p->listed = p->count;
	return st;
}

/* FINAL: shapes drawn now, after the build, that the author has not seen. */
static enum kw_status collect_unseen(struct work *w, struct plan_of_cases *p, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	for (int i = 0; i < UNSEEN_CASES && st == KW_OK; i++) {
		st = kw_unseen_case(w, w->seed + 1000u * (uint64_t)(i + 1), &p->cases[i], err);
		if (st == KW_NO)
			return KW_OK; /* fixed dims: there is nothing to draw */
		if (st == KW_OK)
			st = add_case(w, p, &p->cases[i], true, err);
	}
	return st == KW_OK ? build_from(w, p, p->listed, err) : st;
}

/* ---- running ---------------------------------------------------------------------------------------- */

static bool fill_used(const struct work *w, enum kw_fill f)
{
	for (size_t i = 0; i < w->t->input_count; i++)
		if (kw_fill_fits(f, &w->t->inputs[i]))
			return true;
	return false;
}

/* Attention without a mask of numbers: in its products of queries and keys -inf means nothing. */
static bool products_of_inputs(const struct kw_node *n)
{
	return strstr(kw_op_name(n->op), "attention") && (n->arg_count < 4 || !kw_dtype_is_float(n->args[3]->dtype));
}

/* -inf means something where values are compared or exponentiated after a maximum was taken; elsewhere it only makes NaN. */
static bool infinities_fit(const struct kw_expr *e)
{
	static const char *const ops[] = { "softmax", "log_softmax", "logsumexp", "attention", "scaled_dot_product_attention",
					   "max", "min", "argmax", "argmin", "maximum", "minimum", "relu", "topk" };

	for (size_t n = 0; n < e->node_count; n++)
		for (size_t i = 0; i < sizeof ops / sizeof ops[0] && e->nodes[n]->op; i++)
			if (strcmp(kw_op_name(e->nodes[n]->op), ops[i]) == 0 && !products_of_inputs(e->nodes[n]))
				return true;
	return false;
}

static enum kw_status check_trial(struct stage *s, enum kw_fill fill, int number, struct kw_error *err)
{
	int slot = number % s->slots;
	enum kw_status st = KW_OK;

	if (s->w->fresh && number > 0)
		st = kw_trial_fresh(s, err);
	if (st == KW_OK && !s->w->failed)
		st = kw_stage_fill(s, slot, fill, err);
	if (st != KW_OK || s->w->failed)
		return st;
	kw_stage_poison(s, slot);
	kw_stage_spoil(s, slot);
	return kw_trial_run(s, slot, fill, 1, number == 1, NULL, err);
}

/* Elements that a lazy fingerprint of an input would look at. */
static int usual_places(int64_t n, int64_t *at)
{
	int count = 0;

	for (int64_t i = 0; i < 8 && i < n; i++)
		at[count++] = i;
	for (int i = 1; i < 8; i++)
		at[count++] = n * i / 8;
	at[count++] = n / 3;
	at[count++] = 2 * n / 3;
	for (int64_t i = n > 8 ? n - 8 : 0; i < n; i++)
		at[count++] = i;
	return count;
}

/* The same slot with new contents, but for the usual places: who keeps answers by a few elements of the input, or by its
 * address, returns the old answer now. Scratch memory stays as the call before left it: that is a place to keep them in. */
static enum kw_status repeat_trial(struct stage *s, int number, struct kw_error *err)
{
	int slot = number % s->slots;
	char kept[KW_MAX_TENSORS][32 * 8];
	int64_t at[32];
	enum kw_status st;

	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < s->inputs; i++) {
			size_t unit = kw_dtype_bytes((enum kw_dtype)s->view[i].dtype);
			char *base = kw_session_ptr(s->session, slot, i);
			int64_t n = kw_shape_count(&s->view[i].shape);
			int count = n >= TELLING_ELEMENTS && kw_view_is_contiguous(&s->view[i]) ? usual_places(n, at) : 0;

			for (int k = 0; k < count; k++)
				memcpy(pass ? base + (size_t)at[k] * unit : &kept[i][(size_t)k * unit],
				       pass ? &kept[i][(size_t)k * unit] : base + (size_t)at[k] * unit, unit);
		}
		if (pass == 0 && (st = kw_stage_fill(s, slot, KW_FILL_DECLARED, err)) != KW_OK)
			return st;
	}
	for (int i = 0; i < s->inputs; i++)
		if ((st = kw_session_push(s->session, slot, i, err)) != KW_OK)
			return st;
	kw_stage_poison(s, slot);
	return kw_trial_run(s, slot, KW_FILL_DECLARED, 1, false, NULL, err);
}

static enum kw_status check_case(struct stage *s, struct kw_error *err)
{
	struct work *w = s->w;
	double elements = (s->cost.bytes_read + s->cost.bytes_written) / 4;
	bool dear = w->interpreted || (w->j->dev->most_programs && programs_of(s) > FEW_PROGRAMS);
	int number = 0, special = w->interpreted ? 3 : dear ? 1 : elements <= SMALL_ELEMENTS ? KW_FILL_COUNT : 3;
	enum kw_status st = kw_trial_fresh(s, err);

	for (; number < 2 && st == KW_OK && !w->failed; number++)
		st = check_trial(s, KW_FILL_DECLARED, number, err);
	if (st == KW_OK && !w->failed)
		st = repeat_trial(s, number - 1, err);
	for (int f = KW_FILL_DECLARED + 1; f < KW_FILL_COUNT && special > 0 && st == KW_OK && !w->failed; f++) {
		if (!fill_used(w, (enum kw_fill)f) || (f == KW_FILL_NEG_INF_ROWS && !infinities_fit(w->e)))
			continue;
		st = check_trial(s, (enum kw_fill)f, number++, err);
		special--;
	}
	for (; number < w->o.trials && st == KW_OK && !w->failed && !dear; number++)
		st = check_trial(s, KW_FILL_DECLARED, number, err);
	return st;
}

/* None of the players is used again. */
static void drop_players(struct stage *s)
{
	const struct kw_device_ops *ops = s->w->j->dev->ops;

	if (s->player)
		ops->player_stop(s->player);
	s->player = NULL;
	for (int i = 0; i < KW_BASELINES; i++) {
		if (s->base[i].player)
			ops->player_stop(s->base[i].player);
		s->base[i].player = NULL;
		s->base[i].why[0] = '\0';
	}
}

/* Ended by the system each time while it held much memory of its own: that is why. Else it is the machine's or somebody's doing,
 * and says nothing about the candidate. */
static enum kw_status killed_each_time(struct stage *s, int number, struct kw_error *err)
{
	char text[200], size[32];

	if (number != SIGKILL || s->killed_bytes < MUCH_MEMORY)
		return kw_fail(err, KW_ERR_ENV, "", "the candidate's process was %s from outside by signal %d (%s), %d times; look for "
			       "who does that, or for a system that runs out of memory",
			       number == SIGSTOP ? "stopped" : "ended", number, strsignal(number), ATTEMPTS);
	snprintf(text, sizeof text, "the system ended it for want of memory, %d times: it held %s beside its buffers", ATTEMPTS,
		 kw_human_bytes((double)s->killed_bytes, size, sizeof size));
	kw_fail_verdict(s->w, s->c->label, KW_S_OUT_OF_MEMORY, text, "it was ended by signal 9 (from outside)");
	return KW_OK;
}

/* A case whose players are ended from outside begins anew. */
static enum kw_status judge_case(struct stage *s, struct kw_error *err)
{
	const struct kw_case_result before = *s->result;
	enum kw_status st = KW_OK;
	int number = 0;

	for (int i = 0; i < ATTEMPTS && st == KW_OK; i++) {
		char text[200];

		st = s->c->perf && !s->w->j->dev->untimed && !s->w->interpreted ? kw_timing_case(s, err) : check_case(s, err);
		kw_stage_note_starts(s);
		if (!s->killed)
			return st;
		number = s->killed;
		s->killed = 0;
		s->w->failed = false;
		*s->result = before;
		drop_players(s);
		snprintf(text, sizeof text, "%s was begun anew: a process was ended from outside by signal %d", s->c->label, number);
		kw_note(s->w, text);
	}
	return st == KW_OK ? killed_each_time(s, number, err) : st;
}

static enum kw_status run_stage(struct stage *s, struct kw_error *err)
{
	struct work *w = s->w;
	enum kw_status st;

	if (kw_interrupted())
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	if (w->o.progress)
		w->o.progress(w->o.progress_arg, s->c->label);
	st = kw_stage_open(s, true, err);
	kw_log(KW_LOG_DEBUG, "judge: the buffers of case %s are there", s->c->label);
	if (st == KW_OK)
		st = judge_case(s, err);
	kw_log(KW_LOG_DEBUG, "judge: case %s is done", s->c->label);
	if (st == KW_OK && s->too_much) {
		w->failed = false;
		s->plan.applicable = false;
		s->result->verdict = KW_V_NOT_APPLICABLE;
	} else if (st == KW_OK) {
		s->result->verdict = w->failed ? w->v->cls : KW_V_OK;
		s->result->subclass = w->failed ? w->v->subclass : KW_S_NONE;
		if (w->failed)
			snprintf(s->result->why, sizeof s->result->why, "%.390s", w->v->summary);
	}
	return st == KW_OK ? st : kw_error_while(err, "judging case %s", s->c->label);
}

static enum kw_status run_range(struct plan_of_cases *p, size_t first, size_t end, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	for (size_t i = first; i < end && st == KW_OK; i++) {
		struct stage *s = p->stages[i];

		if (!s->code || s->w->failed || !fits(s))
			continue;
		st = run_stage(s, err);
		kw_stage_close(s);
	}
	return st;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

static void hard_coded(struct work *w)
{
	struct kw_verdict *v = w->v;
	char text[600];

	if (v->cls != KW_V_WRONG && v->cls != KW_V_RUNTIME_ERROR)
		return;
	snprintf(text, sizeof text, "right for the listed shapes, but on the unseen shape %.400s", v->summary);
	snprintf(v->summary, sizeof v->summary, "%s", text);
	v->cls = KW_V_CHEAT;
	v->subclass = KW_S_HARD_CODED;
}

static void geomeans(struct kw_verdict *v)
{
	double speed = 0, sol = 0;
	int speeds = 0, sols = 0;

	for (size_t i = 0; i < v->case_count; i++) {
		const struct kw_case_result *r = &v->cases[i];
		const struct kw_baseline_time *best = kw_case_best_baseline(r);

		if (best && best->speedup > 0) {
			speed += log(best->speedup);
			speeds++;
		}
		if (r->sol > 0) {
			sol += log(r->sol);
			sols++;
		}
	}
	v->geomean_speedup = speeds ? exp(speed / speeds) : 0;
	v->geomean_sol = sols ? exp(sol / sols) : 0;
}

static void conclude(struct work *w)
{
	struct kw_verdict *v = w->v;
	int ok = 0, trials = 0;
	const char *why = "";

	for (size_t i = 0; i < v->case_count; i++) {
		ok += v->cases[i].verdict == KW_V_OK && v->cases[i].trials > 0;
		trials += v->cases[i].trials;
		if (v->cases[i].verdict == KW_V_NOT_APPLICABLE && !*why)
			why = v->cases[i].why;
		if (v->cases[i].sol > 1.05)
			kw_note(w, "faster than the measured ceiling");
	}
	geomeans(v);
	if (w->failed)
		return;
	if (ok == 0) {
		v->cls = KW_V_NOT_APPLICABLE;
		snprintf(v->summary, sizeof v->summary, "no case could be judged: %s", *why ? why : "the task has no case");
		return;
	}
	v->cls = KW_V_OK;
	snprintf(v->summary, sizeof v->summary, "right in %d case%s, %d trials", ok, ok == 1 ? "" : "s", trials);
}

static enum kw_status evaluate(struct work *w, struct plan_of_cases *p, struct kw_error *err)
{
	enum kw_status st = kw_module_host_new(w, err);

	if (w->j->dev->untimed)
		kw_note(w, "no times: checked by an interpreter, which tells right from wrong only");
	if (w->interpreted) {
		kw_note(w, "no times: its Triton kernels are run by Triton's interpreter here, which tells right from wrong only");
		w->o.with_baselines = false;
	}
	if (st == KW_OK)
		st = kw_c_reference_new(w, err);
	if (st == KW_OK)
		st = kw_torch_reference_new(w, err);
	if (st == KW_OK && w->module)
		st = kw_torch_stand_in(w, &w->stand_in, w->weight, err);
	kw_log(KW_LOG_DEBUG, "judge: the reference of %s is ready", w->t->name);
	if (st == KW_OK && w->o.with_baselines)
		st = kw_baselines_new(w, err);
	if (st == KW_OK)
		st = kw_references_new(w, err);
	if (st == KW_OK)
		st = collect(w, p, err);
	if (st == KW_OK)
		st = build_from(w, p, 0, err);
	kw_log(KW_LOG_DEBUG, "judge: everything is built");
	if (st == KW_OK && !w->failed)
		refuse_libraries(w);
	if (st != KW_OK || w->failed)
		return st;
	w->seed = w->o.seed ? w->o.seed : kw_random_u64(); /* after the build: no source can hold the answers */
	w->v->seed = w->seed;
	if (w->build_count) {
		w->v->toolchain = kw_arena_strdup(w->a, w->builds[0].result.artefact.toolchain);
		kw_sha256_hex(w->builds[0].result.artefact.code, w->builds[0].result.artefact.code_bytes, w->v->artefact_sha);
	}
	st = run_range(p, 0, p->listed, err);
	if (st == KW_OK && !w->failed && w->o.effort == KW_EFFORT_FINAL && w->o.only_case < 0) {
		st = collect_unseen(w, p, err);
		if (st == KW_OK && !w->failed) {
			st = run_range(p, p->listed, p->count, err);
			if (st == KW_OK && w->failed)
				hard_coded(w);
		}
	}
	kw_log(KW_LOG_DEBUG, "judge: all cases are done");
	if (st == KW_OK && !w->failed)
		st = kw_sanitize(w, err);
	return st == KW_OK && !w->failed ? kw_profile(w, err) : st;
}

enum kw_status kw_judge_eval(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e,
			     const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v,
			     struct kw_error *err)
{
	struct work w = { .j = j, .t = t, .e = e, .c = c, .o = *o, .v = v, .a = &v->arena };
	struct plan_of_cases p = { 0 };
	int64_t begin = kw_now_ns();
	enum kw_status st = KW_OK;

	kw_judge_check_over(j);
	if (o->sanitize == KW_SANITIZE_MUST && (st = kw_sanitizer_find(c->backend, w.sanitizer, err)) != KW_OK)
		return st;
	if (o->original && (t->torch_form == KW_TORCH_NONE || t->torch_form == KW_TORCH_LINE))
		return kw_fail(err, KW_ERR_USAGE, t->file, "original inputs are those of a problem or a function in PyTorch, which this task is not "
			       "made of");
	fill_defaults(&w);
	w.fresh = o->effort == KW_EFFORT_FINAL;
	head(&w);
	tune_text(&w);
	flag_for_people(&w);
	refuse_aliases(&w);
	st = kw_task_out_of_place(t, w.a, &w.apart, err);
	if (st == KW_OK && !w.failed)
		st = evaluate(&w, &p, err);
	if (st == KW_OK)
		conclude(&w);
	kw_torch_reference_note(&w);
	if (w.o.original && st == KW_OK)
		kw_note(&w, !w.torch	? "inputs: all are the judge's, as PyTorch cannot be used" :
			    w.originals ? "inputs: in the first of the judge's slots those that the problem itself is called with, elsewhere the judge's" :
					  "inputs: no case has the shapes that the problem itself is called with, so all are the judge's");
	for (size_t i = 0; i < p.count; i++) {
		kw_stage_close(p.stages[i]);
		kw_free(p.stages[i]);
	}
	kw_free(p.stages);
	kw_builds_release(&w);
	kw_baselines_free(&w);
	kw_references_free(&w);
	kw_c_reference_free(&w);
	v->build_ns += kw_module_waited_ns(&w);
	kw_module_host_free(&w);
	v->total_ns = kw_now_ns() - begin;
	kw_log(KW_LOG_DEBUG, "judged %s in %.2f s: %s", c->name, (double)v->total_ns * 1e-9, v->summary);
	v->judge_ns = v->total_ns - v->build_ns - v->generate_ns - v->compare_ns - v->run_ns;
	return st;
}
