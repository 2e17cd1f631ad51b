/* References in PyTorch: the values that the evaluators of a stage hand out (internal.h).
 *
 * One Python process a judge (python/reference.py), which keeps the reference loaded. Inputs go there as they are and come back as doubles,
 * in memory that both have mapped; it computes in f64 where every operation of the reference knows it and the memory is there, else in
 * f32 or in the types of the inputs, and says so. The plain values, whose error gives the tolerance, are those of the next narrower way.
 * Values are dropped when the inputs change, and the shared memory is cleared. */
#include "judge/torch_values.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "python/python.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REFERENCE_TIMEOUT_MS 180000
#define MEMORY_SHARE_OF_TORCH 0.7 /* of what is available when it starts */
#define SAME 1e-6          /* two runs of a deterministic reference differ by no more, threads may add in another order */
#define ALIGN 64
#define CHECKED 64         /* tasks, as many as a benchmark's process is given at once */

/* What came of comparing a task's expression with its reference, and what that said of the reference. */
struct checked {
	char sha[KW_SHA256_HEX];          /* of the task; "": none */
	enum kw_torch_agreement agreement;
	char says[300], notes[400], precision[8];
};

/* Of a judge: it outlives tasks, so that torch is imported once. */
struct torch_process {
	pthread_mutex_t lock;             /* stages are opened on a thread of their own */
	struct kw_python *python;
	char loaded[KW_SHA256_HEX];       /* the task whose reference is in it; "": none */
	char torch[64], device[16];
	char notes[400];
	char precision[8];                /* of the values; "" before the first */
	struct checked checked[CHECKED];  /* the last ones */
	size_t checks;                    /* so far */
	enum kw_torch_agreement agreement; /* of the task that is judged, where it has an expression */
	char says[300];                   /* of that */
};

/* ---- of a judge ---- */

void kw_torch_process_free(struct kw_judge *j)
{
	if (!j->torch)
		return;
	kw_python_give_back(j->torch->python);
	pthread_mutex_destroy(&j->torch->lock);
	kw_free(j->torch);
	j->torch = NULL;
}

static enum kw_status start(struct torch_process *p, bool gpu, struct kw_error *err)
{
	struct kw_python_opts o = { .file = "reference", .wants = KW_PYTHON_TORCH, .device = gpu,
				    .memory_bytes = (int64_t)(MEMORY_SHARE_OF_TORCH * (double)kw_memory_available()) };

	p->loaded[0] = '\0';
	return kw_python_borrow(&o, &p->python, err);
}

bool kw_torch_process_begin(struct kw_judge *j)
{
	if (j->torch)
		return false;
	j->torch = kw_calloc(1, sizeof *j->torch);
	if (j->torch)
		pthread_mutex_init(&j->torch->lock, NULL);
	return j->torch != NULL;
}

void kw_torch_process_start(struct kw_judge *j)
{
	struct torch_process *p = j->torch;
	bool gpu = strcmp(j->dev->ops->name, "nvidia") == 0;
	struct kw_python_answer a = { 0 };

	pthread_mutex_lock(&p->lock);
	if (!p->python && start(p, gpu, NULL) == KW_OK &&
	    (kw_python_ask(p->python, json_pack("{s:s, s:s}", "do", "prepare", "device", gpu ? "cuda" : "cpu"), NULL, 0, REFERENCE_TIMEOUT_MS, &a,
			   NULL) != KW_OK || a.end != KW_PYTHON_ANSWERED)) {
		kw_python_stop(p->python); /* who needs it is told why */
		p->python = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	kw_python_answer_release(&a);
}

/* What went wrong as an error of the task's author; a process that is gone is started again for the next. */
static enum kw_status told(struct torch_process *p, const struct kw_task *t, const struct kw_python_answer *a, struct kw_error *err)
{
	char place[KW_TASK_PLACE_MAX];
	enum kw_status s;

	kw_task_torch_place(t, place);
	if (a->end != KW_PYTHON_RAISED)
		p->loaded[0] = '\0';
	if (a->missing[0])
		s = kw_fail(err, KW_ERR_INPUT, place, "the reference needs the Python package '%.100s', which %s does not have", a->missing,
			    kw_python_of(p->python)->path);
	else if (strcmp(a->type, "Trouble") == 0) /* python/reference.py says it as a sentence */
		s = kw_fail(err, KW_ERR_INPUT, place, "the reference cannot be used: %.900s", a->text + strlen("Trouble: "));
	else
		s = kw_fail(err, KW_ERR_INPUT, place, "the reference %s%.900s", a->end == KW_PYTHON_RAISED ? "raises " : "", a->text);
	if (a->end != KW_PYTHON_RAISED) {
		kw_python_stop(p->python);
		p->python = NULL;
	}
	return s;
}

static const char *absolute(const char *path, char out[PATH_MAX])
{
	return path && realpath(path, out) ? out : path;
}

static json_t *names_of(const struct kw_tensor_decl *d, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++)
		json_array_append_new(list, json_pack("{s:s}", "name", d[i].name));
	return list;
}

static json_t *load_request(const struct work *w)
{
	static const char *const forms[] = { "", "line", "problem", "callable" };
	const struct kw_task *t = w->t;
	char path[PATH_MAX], args[PATH_MAX];
	bool line = t->torch_form == KW_TORCH_LINE, gpu = strcmp(w->j->dev->ops->name, "nvidia") == 0;

	return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:i, s:s, s:o}", "do", "load", "form", forms[t->torch_form], "mode",
			 t->torch_eval ? "eval" : "train", "text", line ? t->reference_torch : NULL, "path",
			 line ? NULL : absolute(t->reference_torch, path), "callable", t->torch_callable, "args",
			 absolute(t->torch_args, args), "threads", w->j->threads, "device", gpu ? "cuda" : "cpu", "outputs", names_of(t->outputs, t->output_count));
}

static void keep_notes(struct torch_process *p, const json_t *answer)
{
	const json_t *notes = json_object_get(answer, "notes");
	size_t n = 0;

	snprintf(p->torch, sizeof p->torch, "%s", kw_json_get_str(answer, "torch", "?"));
	snprintf(p->device, sizeof p->device, "%s", kw_json_get_str(answer, "device", "cpu"));
	p->notes[0] = p->precision[0] = '\0';
	for (size_t i = 0; i < json_array_size(notes) && n < sizeof p->notes; i++)
		n += (size_t)snprintf(p->notes + n, sizeof p->notes - n, "; %s", json_string_value(json_array_get(notes, i)));
}

/* Functions are only seen when they are called. */
static void note_left_out(struct torch_process *p, const char *names)
{
	char text[200];
	size_t n = strlen(p->notes);

	snprintf(text, sizeof text, "; dropout is left out (%.150s)", names);
	if (names[0] && !strstr(p->notes, text))
		snprintf(p->notes + n, sizeof p->notes - n, "%s", text);
}

#define KEEPS_STATE "; it keeps state between calls"

static void note_keeps(struct torch_process *p, const char *names)
{
	size_t n = strlen(p->notes);

	if (names[0] && !strstr(p->notes, KEEPS_STATE))
		snprintf(p->notes + n, sizeof p->notes - n, KEEPS_STATE " (%.100s), which each call here begins without", names);
}

bool kw_torch_keeps_state(const struct work *w)
{
	return w->j->torch && strcmp(w->j->torch->loaded, w->t->sha256) == 0 && strstr(w->j->torch->notes, KEEPS_STATE);
}

/* Under the lock: this task's reference is in a living process. */
static enum kw_status have_loaded(struct work *w, struct kw_error *err)
{
	struct torch_process *p = w->j->torch;
	struct kw_python_answer a = { 0 };
	enum kw_status st = KW_OK;

	if (p->python && strcmp(p->loaded, w->t->sha256) == 0)
		return KW_OK;
	if (!p->python)
		st = start(p, strcmp(w->j->dev->ops->name, "nvidia") == 0, err);
	if (st != KW_OK)
		return st;
	st = kw_python_ask(p->python, load_request(w), NULL, 0, REFERENCE_TIMEOUT_MS, &a, err);
	if (st == KW_OK && a.end != KW_PYTHON_ANSWERED)
		st = told(p, w->t, &a, err);
	if (st == KW_OK) {
		keep_notes(p, a.json);
		memcpy(p->loaded, w->t->sha256, sizeof p->loaded);
	}
	kw_python_answer_release(&a);
	return st;
}

static void remember(struct torch_process *p, const struct kw_task *t)
{
	struct checked *c = &p->checked[p->checks++ % CHECKED];

	*c = (struct checked){ .agreement = p->agreement };
	memcpy(c->sha, t->sha256, sizeof c->sha);
	memcpy(c->says, p->says, sizeof c->says);
	memcpy(c->notes, p->notes, sizeof c->notes);
	memcpy(c->precision, p->precision, sizeof c->precision);
}

/* Another reference may have been loaded since: then what its values said is as it was. */
static bool recall(struct torch_process *p, const struct kw_task *t)
{
	for (int i = 0; i < CHECKED; i++) {
		const struct checked *c = &p->checked[i];

		if (strcmp(c->sha, t->sha256) != 0)
			continue;
		p->agreement = c->agreement;
		memcpy(p->says, c->says, sizeof p->says);
		if (!p->precision[0]) {
			memcpy(p->notes, c->notes, sizeof p->notes);
			memcpy(p->precision, c->precision, sizeof p->precision);
		}
		return true;
	}
	return false;
}

/* An expression that was made of the file, or stands beside it, is the better reference where it says the same: its parts are known, and
 * any device computes it. */
static enum kw_status choose(struct work *w, struct kw_error *err)
{
	struct torch_process *p = w->torch;
	enum kw_status st = KW_OK;

	if (!recall(p, w->t)) {
		p->agreement = KW_TORCH_UNCHECKED;
		st = kw_torch_compare(w, &p->agreement, p->says, sizeof p->says, err);
		if (st == KW_OK)
			remember(p, w->t);
	}
	if (st == KW_OK && p->agreement == KW_TORCH_DIFFERS) {
		struct kw_task *apart = kw_arena_copy(w->a, w->t, sizeof *w->t);
		struct kw_expr *e = NULL;

		if (!apart)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		apart->expr = NULL;
		st = kw_expr_parse(apart, w->a, &e, err);
		w->t = apart;
		w->e = e;
	}
	return st;
}

/* Where an expression is the reference, PyTorch may be missing. */
static bool can_do_without(const struct work *w, enum kw_status st, struct kw_error *err)
{
	char text[600];

	if (!w->t->expr || (st != KW_ERR_ENV && st != KW_ERR_INPUT && st != KW_ERR_NOMEM))
		return false;
	snprintf(text, sizeof text, "the expression was not checked against PyTorch: %.500s", err ? err->text : "");
	kw_note((struct work *)(uintptr_t)w, text);
	if (err)
		kw_error_reset(err);
	return true;
}

enum kw_status kw_torch_reference_new(struct work *w, struct kw_error *err)
{
	enum kw_status st;

	if (!w->t->torch_form)
		return KW_OK;
	if (!w->j->torch && !kw_torch_process_begin(w->j))
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	w->torch = w->j->torch;
	pthread_mutex_lock(&w->torch->lock);
	st = have_loaded(w, err);
	pthread_mutex_unlock(&w->torch->lock);
	if (st == KW_OK && !w->t->expr)
		w->torch->agreement = KW_TORCH_UNCHECKED;
	else if (st == KW_OK)
		st = choose(w, err);
	if (st != KW_OK && can_do_without(w, st, err)) {
		w->torch = NULL;
		st = KW_OK;
	}
	return st;
}

/* What goes wrong here is met, and told, by the evaluation that needs it. */
void kw_torch_reference_ahead(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, uint64_t seed)
{
	struct kw_verdict v;
	struct kw_error ignored;
	struct work w = { .j = j, .t = t, .e = e, .v = &v, .o = { .seed = seed } };
	int64_t begin = kw_now_ns();

	kw_verdict_init(&v);
	kw_error_reset(&ignored);
	w.a = &v.arena;
	if (kw_torch_reference_new(&w, &ignored) == KW_OK)
		kw_log(KW_LOG_DEBUG, "judge: the reference of %s was checked ahead in %.2f s", t->name, (double)(kw_now_ns() - begin) * 1e-9);
	kw_verdict_release(&v);
}

enum kw_status kw_torch_stand_in(struct work *w, const char **how, bool weight[], struct kw_error *err)
{
	struct torch_process *p = w->torch;
	struct kw_python_answer a = { 0 };
	json_t *names, *one;
	const char *text;
	enum kw_status st;
	size_t k;

	*how = NULL;
	if (!p || w->t->torch_form == KW_TORCH_LINE)
		return KW_OK;
	names = json_array();
	for (size_t i = 0; i < w->t->input_count; i++)
		json_array_append_new(names, json_string(w->t->inputs[i].name));
	pthread_mutex_lock(&p->lock);
	st = have_loaded(w, err);
	if (st == KW_OK)
		st = kw_python_ask(p->python, json_pack("{s:s, s:O}", "do", "stand_in", "inputs", names), NULL, 0, REFERENCE_TIMEOUT_MS, &a,
				   err);
	if (st == KW_OK && a.end != KW_PYTHON_ANSWERED)
		st = told(p, w->t, &a, err);
	pthread_mutex_unlock(&p->lock);
	text = st == KW_OK ? kw_json_get_str(a.json, "how", NULL) : NULL;
	*how = text ? kw_arena_strdup(w->a, text) : NULL;
	json_array_foreach(json_object_get(a.json, "weights"), k, one)
		for (size_t i = 0; i < w->t->input_count; i++)
			weight[i] = weight[i] || strcmp(w->t->inputs[i].name, json_string_value(one)) == 0;
	kw_python_answer_release(&a);
	json_decref(names);
	return st == KW_OK && text && !*how ? kw_fail(err, KW_ERR_NOMEM, "", "out of memory") : st;
}

bool kw_torch_is_exact(const struct work *w)
{
	return strcmp(w->torch->precision, "f64") == 0;
}

void kw_torch_reference_note(struct work *w)
{
	static const char *const ways[][2] = { { "f64", "f64" }, { "f32", "f32, as some operation or the memory allows no f64" },
					       { "own", "the types of the inputs, as some operation allows no other" } };
	const struct torch_process *p = w->torch;
	char text[900];

	if (w->t->reference_note)
		kw_note(w, w->t->reference_note);
	if (!p)
		return;
	if (p->agreement == KW_TORCH_UNCHECKED && w->t->expr && !(w->values_by_torch && p->precision[0])) {
		snprintf(text, sizeof text, "reference: the expression, not checked against PyTorch %s: %s%s", p->torch, p->says, p->notes);
		kw_note(w, text);
	}
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		if (strcmp(p->precision, ways[i][0]) == 0) {
			snprintf(text, sizeof text, "reference: %sPyTorch %s on the %s, in %s%s%s%s",
				 w->t->expr && !w->values_by_torch ? "the expression, which agrees with " : "", p->torch,
				 strcmp(p->device, "cuda") == 0 ? "GPU" : "processor", ways[i][1], p->notes,
				 p->agreement == KW_TORCH_DIFFERS ? "; the expression is not used, as it differs: " :
				 w->values_by_torch ? "; its expression, of many layers, only says what it costs" : "",
				 p->agreement == KW_TORCH_DIFFERS ? p->says : "");
			kw_note(w, text);
		}
}

/* ---- of a stage ---- */

static enum kw_status share(struct shared *m, const char *name, size_t bytes, struct kw_error *err)
{
	void *at = MAP_FAILED;

	m->bytes = bytes ? bytes : 1;
	m->fd = memfd_create(name, MFD_CLOEXEC);
	if (m->fd >= 0 && ftruncate(m->fd, (off_t)m->bytes) == 0)
		at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (at == MAP_FAILED)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to hand inputs to the reference: %s", strerror(errno));
	m->at = at;
	return KW_OK;
}

static void unshare_it(struct shared *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct shared){ .fd = -1 };
}

static size_t up(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static json_t *shape_json(const struct kw_shape *s)
{
	json_t *list = json_array();

	for (int i = 0; list && i < s->rank; i++)
		json_array_append_new(list, json_integer(s->dim[i]));
	return list;
}

/* Names, types, shapes and places of tensors that lie one behind the other; outputs are doubles there. */
static json_t *layout(const struct stage *s, bool outputs, size_t *bytes)
{
	const struct kw_tensor_decl *d = outputs ? s->w->t->outputs : s->w->t->inputs;
	int n = outputs ? s->outputs : s->inputs;
	json_t *list = json_array();

	*bytes = 0;
	for (int i = 0; list && i < n; i++) {
		const struct kw_view *v = &s->view[outputs ? s->inputs + i : i];
		size_t each = outputs ? sizeof(double) : kw_dtype_bytes((enum kw_dtype)v->dtype);

		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:I}", "name", d[i].name, "dtype", kw_dtype_name((enum kw_dtype)v->dtype),
						      "shape", shape_json(&v->shape), "at", (json_int_t)*bytes));
		*bytes += up((size_t)kw_shape_count(&v->shape) * each);
	}
	return list;
}

static json_t *params_json(const struct kw_task *t)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < t->param_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "name", t->params[i].name, "dtype",
						      kw_dtype_name(t->params[i].dtype), "value", t->params[i].value));
	return list;
}

static json_t *dims_json(const struct kw_task *t, const struct kw_case *c)
{
	json_t *map = json_object();

	for (size_t i = 0; map && i < t->dim_count; i++)
		json_object_set_new(map, t->dims[i].name, json_integer(c->dims[i]));
	return map;
}

static json_t *run_request(const struct stage *s, bool plain, uint64_t seed)
{
	size_t in, out;
	json_t *inputs = layout(s, false, &in), *outputs = layout(s, true, &out);

	return json_pack("{s:s, s:b, s:I, s:o, s:o, s:I, s:I, s:o, s:o}", "do", "run", "plain", plain, "seed", (json_int_t)(seed >> 2),
			 "inputs", inputs, "outputs", outputs, "input_bytes", (json_int_t)in, "output_bytes", (json_int_t)out, "params",
			 params_json(s->w->t), "dims", dims_json(s->w->t, s->c));
}

static enum kw_status open_memory(struct torch_values *v, struct kw_error *err)
{
	struct stage *s = v->s;
	size_t in, out;
	enum kw_status st;

	if (v->in.at)
		return KW_OK;
	json_decref(layout(s, false, &in));
	json_decref(layout(s, true, &out));
	st = share(&v->in, "inputs", in, err);
	if (st == KW_OK)
		st = share(&v->out, "outputs", out, err);
	for (int way = 0; way < WAYS; way++)
		for (int i = 0; i < s->outputs && st == KW_OK; i++) {
			int64_t n = kw_shape_count(kw_bound_output_shape(s->bound, i));

			v->values[way][i] = kw_alloc(((size_t)n + 1) * sizeof(double));
			if (!v->values[way][i])
				st = kw_fail(err, KW_ERR_NOMEM, "", "no memory for what the reference expects");
		}
	return st;
}

/* Views of any layout, as contiguous arrays of their own type. */
static void hand_over(struct torch_values *v, const struct kw_view *inputs)
{
	char *to = v->in.at;

	for (int i = 0; i < v->s->inputs; i++) {
		const struct kw_view *x = &inputs[i];
		size_t bytes = kw_dtype_bytes((enum kw_dtype)x->dtype);
		int64_t n = kw_shape_count(&x->shape), at[KW_MAX_RANK];

		if (kw_view_is_contiguous(x))
			memcpy(to, x->base, (size_t)n * bytes);
		for (int64_t k = 0; k < n && !kw_view_is_contiguous(x); k++) {
			int64_t offset = 0;

			kw_shape_unravel(&x->shape, k, at);
			for (int d = 0; d < x->shape.rank; d++)
				offset += at[d] * x->stride[d];
			memcpy(to + (size_t)k * bytes, (const char *)x->base + offset * (int64_t)bytes, bytes);
		}
		to += up((size_t)n * bytes);
	}
}

/* What a plain kernel adds up one by one, PyTorch adds in as many parts as longest says: its error is smaller by the root of that. */
static void widen(struct torch_values *v, int output, int64_t n, double longest)
{
	const double *want = v->values[EXACT][output];
	double *plain = v->values[PLAIN][output], times = sqrt(longest > 1 ? longest : 1);

	for (int64_t i = 0; i < n; i++) {
		double far = (plain[i] - want[i]) * times;

		if (isfinite(far))
			plain[i] = want[i] + far;
	}
}

static void take(struct torch_values *v, int way, double longest, bool *same)
{
	const char *from = v->out.at;

	for (int i = 0; i < v->s->outputs; i++) {
		int64_t n = kw_shape_count(&v->s->view[v->s->inputs + i].shape);
		const double *got = (const double *)(const void *)from;

		for (int64_t k = 0; same && k < n; k++) {
			double w = v->values[way][i][k];

			*same = *same && (got[k] == w || (isnan(got[k]) && isnan(w)) || fabs(got[k] - w) <= SAME * fabs(w));
		}
		if (!same)
			memcpy(v->values[way][i], got, (size_t)n * sizeof(double));
		if (!same && way == PLAIN)
			widen(v, i, n, longest);
		from += up((size_t)n * sizeof(double));
	}
	kw_torch_clear(v);
}

/* Under the lock: one evaluation, into values or, with same, compared with them. */
static enum kw_status play(struct torch_values *v, int way, bool *same, struct kw_error *err)
{
	struct work *w = v->s->w;
	struct torch_process *p = w->torch;
	struct kw_python_answer a = { 0 };
	int fds[2] = { v->in.fd, v->out.fd };
	uint64_t seed = w->seed ^ (same ? 0x5a5a5a5a5a5a5a5au : 0);
	enum kw_status st = kw_python_ask(p->python, run_request(v->s, way == PLAIN, seed), fds, 2, kw_python_patience_ms(REFERENCE_TIMEOUT_MS), &a, err);

	if (st == KW_OK && a.end != KW_PYTHON_ANSWERED) {
		st = told(p, w->t, &a, err);
		kw_error_while(err, "computing the case %s", v->s->c->label);
	}
	if (st == KW_OK) {
		if (way == PLAIN)
			v->longest = kw_json_get_f64(a.json, "longest", 1);
		if (way == EXACT)
			snprintf(p->precision, sizeof p->precision, "%s", kw_json_get_str(a.json, "precision", "f64"));
		note_left_out(p, kw_json_get_str(a.json, "left_out", ""));
		note_keeps(p, kw_json_get_str(a.json, "keeps", ""));
		take(v, way, kw_json_get_f64(a.json, "longest", 1), same);
	}
	kw_python_answer_release(&a);
	return st;
}

enum kw_status kw_torch_have(struct torch_values *v, int way, const struct kw_view *inputs, struct kw_error *err)
{
	char place[KW_TASK_PLACE_MAX];
	bool same = true;
	enum kw_status st = KW_OK;

	if (v->valid[way])
		return KW_OK;
	if (way == PLAIN && (st = kw_torch_have(v, EXACT, inputs, err)) != KW_OK)
		return st;
	st = have_loaded(v->s->w, err);
	if (st == KW_OK)
		st = open_memory(v, err);
	if (st == KW_OK) {
		hand_over(v, inputs);
		st = play(v, way, NULL, err);
	}
	if (st == KW_OK && way == EXACT && !v->checked)
		st = play(v, way, &same, err);
	if (st == KW_OK && !same)
		st = kw_fail(err, KW_ERR_INPUT, kw_task_torch_place(v->s->w->t, place), "the reference gives different answers for the same input (case %s): it draws "
			     "random numbers, which nothing can be compared with", v->s->c->label);
	v->checked = v->checked || way == EXACT;
	v->valid[way] = st == KW_OK;
	return st;
}

/* As for references in C: outputs of f64 and i64 are exact for a plain kernel too, of which the tolerance knows (tolerance.c). */
static enum kw_status values(void *arg, enum kw_eval_mode mode, int output, const struct kw_view *inputs, const double **out,
			     struct kw_error *err)
{
	struct torch_values *v = arg;
	bool exact = mode == KW_EVAL_F64 || (mode == KW_EVAL_F32 && kw_output_is_wide(&v->s->w->t->outputs[output]));
	int way = exact ? EXACT : PLAIN;
	enum kw_status st;

	pthread_mutex_lock(&v->s->w->torch->lock);
	st = kw_torch_have(v, way, inputs, err);
	pthread_mutex_unlock(&v->s->w->torch->lock);
	*out = v->values[way][output];
	return st;
}

void kw_torch_lock(const struct torch_values *v, bool on)
{
	if (on)
		pthread_mutex_lock(&v->s->w->torch->lock);
	else
		pthread_mutex_unlock(&v->s->w->torch->lock);
}

enum kw_status kw_torch_again(struct torch_values *v, const struct kw_view *inputs, bool plain, const char *how, uint64_t seed, int output,
			      const double **got, struct kw_error *err)
{
	struct stage *s = v->s;
	struct kw_python_answer a = { 0 };
	int fds[2] = { v->in.fd, v->out.fd };
	json_t *request = run_request(s, plain, seed);
	const char *from = v->out.at;
	enum kw_status st;

	hand_over(v, inputs);
	if (how)
		json_object_set_new(request, how, json_true());
	st = kw_python_ask(s->w->torch->python, request, fds, 2, kw_python_patience_ms(REFERENCE_TIMEOUT_MS), &a, err);
	if (st == KW_OK && a.end != KW_PYTHON_ANSWERED)
		st = told(s->w->torch, s->w->t, &a, err);
	for (int i = 0; i < output; i++)
		from += up((size_t)kw_shape_count(&s->view[s->inputs + i].shape) * sizeof(double));
	*got = (const double *)(const void *)from;
	kw_python_answer_release(&a);
	return st;
}

void kw_torch_clear(struct torch_values *v)
{
	memset(v->out.at, 0, v->out.bytes);
}

static void forget(void *arg)
{
	struct torch_values *v = arg;

	pthread_mutex_lock(&v->s->w->torch->lock);
	v->valid[EXACT] = v->valid[PLAIN] = false;
	v->own_output = -1;
	pthread_mutex_unlock(&v->s->w->torch->lock);
}

/* The other way round: from shared memory, contiguous, to a view of any layout. */
static void lay_out(const char *from, const struct kw_view *x)
{
	size_t bytes = kw_dtype_bytes((enum kw_dtype)x->dtype);
	int64_t n = kw_shape_count(&x->shape), at[KW_MAX_RANK];

	if (kw_view_is_contiguous(x)) {
		memcpy(x->base, from, (size_t)n * bytes);
		return;
	}
	for (int64_t k = 0; k < n; k++) {
		int64_t offset = 0;

		kw_shape_unravel(&x->shape, k, at);
		for (int d = 0; d < x->shape.rank; d++)
			offset += at[d] * x->stride[d];
		memcpy((char *)x->base + offset * (int64_t)bytes, from + (size_t)k * bytes, bytes);
	}
}

static void spread(struct stage *s, const char *from, const json_t *names, struct kw_view *views, bool given[])
{
	size_t k;
	json_t *name;

	for (int i = 0; i < s->inputs; i++) {
		given[i] = false;
		json_array_foreach(names, k, name)
			given[i] = given[i] || strcmp(s->w->t->inputs[i].name, json_string_value(name)) == 0;
		if (given[i])
			lay_out(from, &views[i]);
		from += up((size_t)kw_shape_count(&views[i].shape) * kw_dtype_bytes((enum kw_dtype)views[i].dtype));
	}
}

enum kw_status kw_torch_original(struct stage *s, struct kw_view *views, uint64_t seed, bool given[], struct kw_error *err)
{
	struct torch_process *p = s->w->torch;
	struct kw_python_answer a = { 0 };
	struct shared memory = { .fd = -1 };
	size_t bytes;
	json_t *inputs = layout(s, false, &bytes);
	json_t *request = json_pack("{s:s, s:I, s:o, s:I}", "do", "original", "seed", (json_int_t)(seed >> 2), "inputs", inputs, "input_bytes",
				    (json_int_t)bytes);
	enum kw_status st = share(&memory, "original", bytes, err);

	pthread_mutex_lock(&p->lock);
	if (st == KW_OK)
		st = have_loaded(s->w, err);
	if (st == KW_OK)
		st = kw_python_ask(p->python, json_incref(request), &memory.fd, 1, kw_python_patience_ms(REFERENCE_TIMEOUT_MS), &a, err);
	if (st == KW_OK && a.end != KW_PYTHON_ANSWERED)
		st = told(p, s->w->t, &a, err);
	pthread_mutex_unlock(&p->lock);
	if (st == KW_OK)
		spread(s, memory.at, json_object_get(a.json, "given"), views, given);
	json_decref(request);
	kw_python_answer_release(&a);
	unshare_it(&memory);
	return st;
}

enum kw_status kw_torch_values_open(struct stage *s, struct kw_external *out, struct kw_error *err)
{
	struct torch_values *v = kw_calloc(1, sizeof *v);

	if (!v)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	v->s = s;
	v->in.fd = v->out.fd = -1;
	s->torch_values = v;
	*out = (struct kw_external){ .values = values, .forget = forget, .arg = v };
	return KW_OK;
}

void kw_torch_values_close(struct stage *s)
{
	struct torch_values *v = s->torch_values;

	if (!v)
		return;
	for (int way = 0; way < WAYS; way++)
		for (int i = 0; i < s->outputs; i++)
			kw_free(v->values[way][i]);
	kw_free(v->own);
	unshare_it(&v->in);
	unshare_it(&v->out);
	kw_free(v);
	s->torch_values = NULL;
}
