/* Baselines from PyTorch: the task's own reference as a user would run it, eager or compiled
 * (python/baseline.py). They are played like candidates that are modules, on the same slots, but
 * outside of the box, since compilers must run. The clock is the judge's on the CPU; on a GPU it is the
 * device's events around a batch, which a candidate's process could forge and the user's own code does not. */
#include "judge/internal.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "python/python.h"

#include <limits.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAYER	      "python/module_player.py"
#define SCRIPT	      "python/baseline.py"
#define EMPTY_BATCHES 12
#define EMPTY_CALLS   32
#define CHECK_SHARE   0.125	/* of large outputs, as of a candidate's timed calls */
#define CHECKED_WHOLE (1 << 20) /* elements */

static const struct form {
	enum kw_baseline_kind kind;
	const char *name, *compile, *layout;
	bool tf32;
	int seconds; /* that it may take to be ready: it is compiled in its first call */
} forms[] = {
	{ KW_BASELINE_EAGER, "PyTorch eager", NULL, NULL, false, 120 },
	{ KW_BASELINE_COMPILE, "torch.compile", "default", NULL, false, 180 },
	{ KW_BASELINE_MAX_AUTOTUNE, "torch.compile max-autotune", "max-autotune", NULL, false,
	  540 },
	{ KW_BASELINE_CHANNELS_LAST, "PyTorch channels-last", NULL, "channels-last", false, 120 },
	{ KW_BASELINE_EAGER | KW_BASELINE_TF32, "PyTorch eager TF32", NULL, NULL, true, 120 },
	{ KW_BASELINE_COMPILE | KW_BASELINE_TF32, "torch.compile TF32", "default", NULL, true,
	  180 },
};
enum { FORMS = sizeof forms / sizeof forms[0] };

struct torch_baselines {
	struct kw_python_found python;
	struct kw_module_host host;
	char *code, *folder;
	const char *stand_in;
};

/* ---- which ---- */

static const char *const words[] = { "naive",	     "eager",	      "compile",
				     "max-autotune", "channels-last", "tf32" };

enum kw_status kw_baselines_parse(const char *text, unsigned *out, struct kw_error *err)
{
	struct kw_str rest = kw_str_from(text), word;

	*out = 0;
	if (strcmp(text, "none") == 0) {
		*out = KW_BASELINE_NONE;
		return KW_OK;
	}
	while (kw_str_split(&rest, ',', &word)) {
		size_t k = 0;

		while (k < sizeof words / sizeof words[0] && !kw_str_eqz(word, words[k]))
			k++;
		if (k == sizeof words / sizeof words[0])
			return kw_fail(err, KW_ERR_USAGE, "",
				       "no baseline '" KW_STR_FMT
				       "'; there are naive, eager, compile, "
				       "max-autotune, channels-last, tf32 (with commas between "
				       "them), and none",
				       (int)(word.len < 60 ? word.len : 60), word.ptr);
		*out |= 1u << k;
	}
	return *out ? KW_OK
		    : kw_fail(err, KW_ERR_USAGE, "",
			      "--baselines names none; 'none' is the word for that");
}

/* A TF32 form is asked for by its kind as well; only where no kind of PyTorch is, eager is meant.
 */
static bool wanted(unsigned asked, const struct form *f)
{
	if (f->tf32 && !(asked & (KW_BASELINE_EAGER | KW_BASELINE_COMPILE)))
		asked |= KW_BASELINE_EAGER;
	return (asked & f->kind) == f->kind;
}

static bool any_wanted(unsigned asked)
{
	return (asked & ~(unsigned)(KW_BASELINE_NAIVE | KW_BASELINE_NONE)) != 0;
}

#define IMAGES "[Cc]onv|[Pp]ool|[Bb]atch_?[Nn]orm|torchvision|timm|transformers"
#define PRODUCTS                                                                                   \
	"[Cc]onv|@|mm\\(|mv\\(|matmul|einsum|dot\\(|[Ll]inear|[Aa]ttention|RNN|LSTM|GRU|"          \
	"Transformer|torchvision|timm|transformers"

/* Whether the reference's text has a word of those: a baseline too many costs a few seconds, and is
 * labelled as what it is. */
static bool mentions(const struct kw_task *t, const char *pattern)
{
	struct kw_arena a;
	char *text = NULL;
	size_t len;
	bool found = true;
	regex_t re;

	kw_arena_init(&a, 8 << 20);
	if (t->torch_form == KW_TORCH_LINE)
		text = kw_arena_strdup(&a, t->reference_torch);
	else
		kw_file_read_arena(t->reference_torch, 4 << 20, &a, &text, &len, NULL);
	if (text && regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) == 0) {
		found = regexec(&re, text, 0, NULL, 0) == 0;
		regfree(&re);
	}
	kw_arena_release(&a);
	return found;
}

static bool takes_f32(const struct kw_task *t)
{
	bool f32 = false;

	for (size_t i = 0; i < t->input_count; i++)
		f32 = f32 || t->inputs[i].dtype == KW_F32;
	return f32;
}

/* ---- a work ---- */

/* Where what is compiled stays between runs. */
static char *cache_folder(struct kw_arena *a)
{
	char *cache = kw_path_cache_home(a),
	     *dir = cache ? kw_arena_printf(a, "%s/kernelwright/baselines", cache) : NULL;

	return dir && kw_mkdirs(dir, NULL) == KW_OK ? dir : NULL;
}

static enum kw_status make_host(struct work *w, struct kw_error *err)
{
	struct kw_arena *a = &w->baselines->arena;
	struct torch_baselines *t = kw_arena_calloc(a, 1, sizeof *t);
	bool weight[KW_MAX_TENSORS];
	char *script;
	enum kw_status st;

	if (!t)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	w->baselines->torch = t;
	st = kw_python_find(KW_PYTHON_TORCH, &t->python, err);
	if (st == KW_OK)
		st = kw_data_read(PLAYER, a, &script, &t->host.script_len, err);
	if (st == KW_OK)
		st = kw_data_read(SCRIPT, a, &t->code, NULL, err);
	if (st == KW_OK)
		st = kw_torch_stand_in(w, &t->stand_in, weight, err);
	if (st != KW_OK)
		return st;
	t->folder = cache_folder(a);
	t->host.python = t->python.path;
	t->host.script = script;
	t->host.trusted = true;
	return KW_OK;
}

/* Why there can be none, in words; NULL: there can be. */
static const char *why_not(const struct work *w)
{
	const char *device = w->j->dev->ops->name;

	if (!w->t->torch_form)
		return "the task has no reference in PyTorch";
	if (!w->torch)
		return "PyTorch or the reference cannot be used";
	if (strcmp(device, "cpu") != 0 && strcmp(device, "nvidia") != 0)
		return "PyTorch does not run on this device";
	return NULL;
}

enum kw_status kw_torch_baselines_new(struct work *w, struct kw_error *err)
{
	struct baseline_set *set = w->baselines;
	unsigned asked = w->o.baselines;
	const char *why = why_not(w);
	char text[300];
	enum kw_status st;

	if (!any_wanted(asked) || w->j->dev->untimed)
		return KW_OK;
	if (why) {
		snprintf(text, sizeof text, "no baselines from PyTorch: %s", why);
		if (w->baselines_said || w->t->torch_form)
			kw_note(w, text);
		return KW_OK;
	}
	if ((st = make_host(w, err)) != KW_OK)
		return st;
	for (size_t i = 0; i < FORMS && set->count < KW_BASELINES; i++) {
		const struct form *f = &forms[i];

		if (!wanted(asked, f))
			continue;
		if (f->tf32 && strcmp(w->j->dev->ops->name, "nvidia") != 0)
			kw_note(w, "no baseline with TF32: this device has none");
		else if (f->tf32 && (!takes_f32(w->t) || !mentions(w->t, PRODUCTS)))
			kw_note(w, "no baseline with TF32: the reference has no product or "
				   "convolution in f32");
		else if (f->layout && !mentions(w->t, IMAGES))
			kw_note(w, "no baseline with channels last: the reference has no "
				   "convolution, pooling or batch norm");
		else
			set->item[set->count++] = (struct baseline){
				.name = f->name, .torch = f, .usable = true, .may_fail = true
			};
	}
	return KW_OK;
}

/* ---- a stage ---- */

static json_t *told_json(const struct stage *s, const struct form *f)
{
	static const char *const names[] = { "", "line", "problem", "callable" };
	const struct torch_baselines *b = s->w->baselines->torch;
	const struct kw_task *t = s->w->t;
	json_t *inputs = json_array(), *outputs = json_array(), *dims = json_object(),
	       *params = json_object();
	char path[PATH_MAX];
	bool line = t->torch_form == KW_TORCH_LINE;

	for (size_t i = 0; i < t->input_count; i++)
		json_array_append_new(inputs, json_string(t->inputs[i].name));
	for (size_t i = 0; i < t->output_count; i++)
		json_array_append_new(outputs, json_string(t->outputs[i].name));
	for (size_t i = 0; i < t->dim_count; i++)
		json_object_set_new(dims, t->dims[i].name, json_integer(s->c->dims[i]));
	for (size_t i = 0; i < t->param_count; i++)
		json_object_set_new(params, t->params[i].name,
				    kw_dtype_is_float(t->params[i].dtype)
					    ? json_real(t->params[i].value)
					    : json_integer((json_int_t)t->params[i].value));
	return json_pack(
		"{s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:b, s:b, s:b, s:s?, s:s, s:o, s:o, s:o, s:o}",
		"form", names[t->torch_form], "task", t->sha256, "text",
		line ? t->reference_torch : NULL, "path",
		!line && realpath(t->reference_torch, path) ? path : NULL, "callable",
		t->torch_callable, "compile", f->compile, "layout", f->layout, "tf32", f->tf32,
		"cold_weights", s->module.spec == NULL, "graphs", s->module.spec == NULL,
		"folder", b->folder, "code", b->code, "inputs", inputs, "outputs", outputs, "dims",
		dims, "params", params);
}

static enum kw_status make_spec(struct stage *s, int i, struct kw_error *err)
{
	const struct torch_baselines *b = s->w->baselines->torch;
	struct kw_module_play *m = &s->base[i].module;
	const struct kw_task *t = s->w->t;
	char path[PATH_MAX], *text;
	bool line = t->torch_form == KW_TORCH_LINE;
	/* By the name that its lines have in what it raises. */
	json_t *spec =
		kw_stage_spec(s, !line && realpath(t->reference_torch, path) ? path : "reference",
			      b->stand_in, false);

	if (spec)
		json_object_set_new(spec, "baseline", told_json(s, s->w->baselines->item[i].torch));
	text = spec ? json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(spec);
	*m = (struct kw_module_play){ .host = &b->host,
				      .outputs = &s->view[s->inputs],
				      .input_count = (size_t)s->inputs,
				      .output_count = (size_t)s->outputs };
	m->spec = text ? kw_arena_strdup(&s->arena, text) : NULL;
	m->key = kw_arena_printf(&s->arena, "%s %s %s %d", t->sha256, s->w->baselines->item[i].name,
				 s->w->j->dev->ops->name, s->w->o.threads);
	free(text);
	return m->spec && m->key ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

/* What Python itself takes for a batch, and for a call that does nothing: as of a candidate that is
 * a module. */
static enum kw_status empty_runs(struct stage *s, struct baseline_run *b, struct kw_error *err)
{
	struct kw_play_result r = { .buffer = -1 };
	int order[EMPTY_CALLS], n = s->slots < EMPTY_CALLS ? s->slots : EMPTY_CALLS;
	int64_t least[3] = { INT64_MAX, INT64_MAX, INT64_MAX };
	enum kw_status st = KW_OK;

	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = 0; i < 3 * EMPTY_BATCHES && st == KW_OK; i++) {
		int which = i / EMPTY_BATCHES, calls[] = { 0, n, 1 };

		st = s->w->j->dev->ops->run(b->player, order, calls[which], 10000, &r, err);
		kw_trial_release(&r);
		if (st == KW_OK && r.wall_ns < least[which])
			least[which] = r.wall_ns;
	}
	b->fixed_ns = least[0];
	b->start_ns = least[2] > least[0] ? least[2] - least[0] : 0;
	b->call_ns = fmax((double)(least[1] - least[0]) / n, 0);
	kw_log(KW_LOG_DEBUG, "judge: of a baseline an empty batch takes %.1f us, an empty call %.2f us", (double)b->fixed_ns * 1e-3,
	       b->call_ns * 1e-3);
	return st;
}

/* It has its values and its time, however wrong the former are; that is said. */
static enum kw_status check(struct stage *s, int i, struct kw_error *err)
{
	struct baseline_run *b = &s->base[i];
	struct kw_play_result r = { .buffer = -1 };
	struct kw_compare_stats worst;
	size_t len;
	int slot = 0;
	bool known;
	enum kw_status st;

	kw_stage_poison(s, slot);
	st = s->w->j->dev->ops->run(b->player, &slot, 1, 120000, &r, err);
	if (st == KW_OK && !kw_trial_killed(s, &r) && r.end != KW_PLAY_DONE)
		kw_baseline_drop(s, i, r.detail);
	else if (st == KW_OK && r.end == KW_PLAY_DONE) /* how it is played */
		snprintf(b->note, sizeof b->note, "%.280s", r.detail);
	kw_trial_release(&r);
	if (st != KW_OK || s->w->failed || !b->player)
		return st;
	st = kw_trial_compare(
		s, slot,
		kw_shape_count(&s->view[s->inputs].shape) > CHECKED_WHOLE ? CHECK_SHARE : 1, &worst,
		&known, err);
	if (st == KW_OK && known && !kw_compare_right(&worst)) {
		b->wrong = true;
		len = strlen(b->note);
		snprintf(b->note + len, sizeof b->note - len,
			 "%s%s of its elements differ from the f64 reference by more than the "
			 "tolerance, the worst by %.3g times "
			 "that",
			 len ? "; " : "", worst.mismatched * 2 > worst.compared ? "most" : "some",
			 worst.worst_ratio);
	}
	return st;
}

static const char *said(const struct kw_play_result *r, const struct form *f, int ms, char *out,
			size_t n)
{
	if (r->end == KW_PLAY_TIMEOUT)
		snprintf(out, n, "it was not ready after %d s%s", ms / 1000,
			 f->compile ? " of compiling" : "");
	else if (r->end == KW_PLAY_EXIT)
		snprintf(out, n, "its process ended with exit code %d", r->exit_code);
	else
		snprintf(out, n, "%s", r->detail[0] ? r->detail : "its process ended");
	return out;
}

/* ---- to be ready ---- */

/* One of those that become ready at the same time: most of that is waiting for an import, a device
 * or a compiler. */
struct getting_ready {
	struct stage *s;
	int i, ms;
	struct kw_play_result r;
	enum kw_status st;
	struct kw_error err;
};

static void start_one(void *arg, int64_t i)
{
	struct getting_ready *g = (struct getting_ready *)arg + i;
	struct baseline_run *b = &g->s->base[g->i];
	struct kw_player_opts o = { .trusted = true,
				    .threads = g->s->w->o.threads,
				    .module = &b->module };

	g->st = g->s->w->j->dev->ops->player_start(g->s->session, &o, &b->player, &g->err);
}

static void load_one(void *arg, int64_t i)
{
	static char nothing[] = "kwmodule\n";
	struct getting_ready *g = (struct getting_ready *)arg + i;
	struct kw_artefact code = { .kind = "module",
				    .code = nothing,
				    .code_bytes = sizeof nothing - 1 };
	struct baseline_run *b = &g->s->base[g->i];

	g->r = (struct kw_play_result){ .buffer = -1 };
	if (b->player)
		g->st = g->s->w->j->dev->ops->load(b->player, &code, &b->plan, g->ms, &g->r,
						   &g->err);
}

/* What the machine lacks keeps a baseline away, and not the verdict. */
static enum kw_status forgive(struct getting_ready *g, struct kw_error *err)
{
	if (g->st == KW_ERR_ENV || g->st == KW_ERR_NOMEM) {
		kw_baseline_drop(g->s, g->i, g->err.text);
		g->st = KW_OK;
	} else if (g->st != KW_OK && err) {
		*err = g->err;
	}
	return g->st;
}

static enum kw_status take_loaded(struct getting_ready *g, struct kw_error *err)
{
	struct stage *s = g->s;
	const struct form *f = s->w->baselines->item[g->i].torch;
	char text[400];

	if (g->st == KW_OK && s->base[g->i].player && !kw_trial_killed(s, &g->r) &&
	    g->r.end != KW_PLAY_DONE)
		kw_baseline_drop(s, g->i, said(&g->r, f, g->ms, text, sizeof text));
	kw_trial_release(&g->r);
	if (g->st == KW_OK && s->base[g->i].player && !s->w->failed)
		g->st = check(s, g->i, &g->err);
	return forgive(g, err);
}

static enum kw_status get_ready(struct stage *s, struct getting_ready *all, int n,
				struct kw_error *err)
{
	enum kw_status st = kw_stage_fill(s, 0, KW_FILL_DECLARED,
					  err); /* indices among the inputs must be some */

	for (int k = 0; k < n && st == KW_OK; k++)
		st = make_spec(s, all[k].i, err);
	if (st != KW_OK)
		return st;
	kw_parallel(n, n, start_one, all);
	for (int k = 0; k < n && st == KW_OK; k++) {
		if (all[k].st == KW_OK)
			all[k].st = empty_runs(s, &s->base[all[k].i], &all[k].err);
		st = forgive(&all[k], err);
	}
	if (st == KW_OK)
		kw_parallel(n, n, load_one, all);
	for (int k = 0; k < n && st == KW_OK && !s->w->failed; k++)
		st = take_loaded(&all[k], err);
	return st;
}

bool kw_torch_baselines_wait(const struct stage *s)
{
	const struct baseline_set *set = s->w->baselines;
	bool found = false;

	for (int i = 0; set && i < set->count; i++)
		found = found || (set->item[i].torch && !s->base[i].player);
	return found;
}

enum kw_status kw_torch_baselines_load(struct stage *s, struct kw_error *err)
{
	struct baseline_set *set = s->w->baselines;
	struct getting_ready all[KW_BASELINES];
	int n = 0;

	for (int i = 0; set && i < set->count; i++) {
		struct baseline_run *b = &s->base[i];

		if (!set->item[i].torch || b->player)
			continue;
		b->note[0] = b->why[0] = '\0';
		b->wrong = false;
		all[n] = (struct getting_ready){ .s = s,
						 .i = i,
						 .ms = kw_python_patience_ms(
							 1000 * set->item[i].torch->seconds) };
		kw_error_reset(&all[n++].err);
	}
	if (n > 0 && s->w->o.progress)
		s->w->o.progress(s->w->o.progress_arg, "PyTorch's own");
	return n > 0 ? get_ready(s, all, n, err) : KW_OK;
}
