/* Candidates that are Python modules: where they run, and what their players are told of a case. */
#include "judge/internal.h"

#include "backend/triton_asked.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "device/module.h"
#include "python/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT "python/module_player.py"
#define UNWATCHED "!" /* of a call, in place of its operations: python/module_player.py */
#define INTERPRETED_ARCH "sm_90a" /* that kernels are compiled for which an interpreter runs */

/* What the loader and Python look at besides; the sandbox allows these anyway (device/sandbox.c). */
static const char *const system_folders[] = { "/usr", "/lib", "/lib64", "/lib32", "/bin", "/opt", "/etc/ld.so.cache", "/proc/cpuinfo",
					      "/proc/meminfo", "/sys/devices/system/cpu", "/sys/devices/system/clocksource", "/dev/urandom",
					      "/dev/zero", "/dev/null", "/etc/localtime" };

struct module_host {
	struct kw_arena arena;
	struct kw_python_found python;
	struct kw_module_host host;
	struct kw_triton_asked *asked; /* compiles its Triton kernels; NULL: it imports none, or they are interpreted */
	json_t *files;                 /* [[name, text], ...] of python/, for its players; NULL: it imports no Triton */
};

static bool is_gpu(const struct kw_judge *j)
{
	return strcmp(j->dev->ops->name, "nvidia") == 0;
}

/* Where it has an interpreter, kernels are compiled all the same. */
static const char *arch_of(const struct kw_judge *j)
{
	return is_gpu(j) ? j->dev->hardware.arch : INTERPRETED_ARCH;
}

/* A line that imports it. */
static bool imports_triton(const struct kw_candidate *c)
{
	struct kw_str rest = { c->source, c->source_len }, line;

	while (kw_str_split(&rest, '\n', &line)) {
		line = kw_str_trim(line);
		if (kw_str_starts(line, "import triton") || kw_str_starts(line, "from triton"))
			return true;
	}
	return false;
}

static enum kw_status add_file(struct module_host *h, const char *name, struct kw_error *err)
{
	char *text, path[64];
	enum kw_status st;

	snprintf(path, sizeof path, "python/%s.py", name);
	st = kw_data_read(path, &h->arena, &text, NULL, err);

	if (st == KW_OK && json_array_append_new(h->files, json_pack("[s,s]", name, text)) != 0)
		st = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	return st;
}

/* Kernels that a module launches itself. Where there is no Triton the module finds that out itself. */
static enum kw_status prepare_triton(struct work *w, struct module_host *h, struct kw_error *err)
{
	enum kw_status st;

	if (!imports_triton(w->c) || !h->python.triton[0])
		return KW_OK;
	h->host.triton = true;
	h->files = json_array();
	w->interpreted = !is_gpu(w->j);
	h->host.interpreted = w->interpreted;
	st = w->interpreted ? add_file(h, "triton_interpreter", err) : KW_OK;
	if (st == KW_OK)
		st = add_file(h, "triton_module", err);
	if (st == KW_OK && w->interpreted)
		st = add_file(h, "triton_interpreted", err);
	if (st == KW_OK)
		st = kw_triton_asked_new(arch_of(w->j), &h->asked, err);
	h->host.ask = kw_triton_asked;
	h->host.ask_arg = h->asked;
	return st;
}

enum kw_status kw_module_host_new(struct work *w, struct kw_error *err)
{
	struct module_host *h;
	char *script;
	enum kw_status st;

	if (strcmp(w->c->backend, "module") != 0)
		return KW_OK;
	h = kw_calloc(1, sizeof *h);
	if (!h)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	w->module = h;
	kw_arena_init(&h->arena, 8 << 20);
	st = kw_python_find(KW_PYTHON_TORCH, &h->python, err);
	if (st == KW_OK)
		st = kw_data_read(SCRIPT, &h->arena, &script, &h->host.script_len, err);
	if (st != KW_OK)
		return st;
	h->host.python = h->python.path;
	h->host.script = script;
	st = kw_python_folders(h->python.path, &h->host.read, err);
	return st == KW_OK ? prepare_triton(w, h, err) : st;
}

/* What modules run in, as far as it is there; a has its strings. */
static bool find_host(struct kw_arena *a, struct kw_python_found *python, struct kw_module_host *host)
{
	char *script;

	*host = (struct kw_module_host){ 0 };
	if (kw_python_find(KW_PYTHON_TORCH, python, NULL) != KW_OK || kw_data_read(SCRIPT, a, &script, &host->script_len, NULL) != KW_OK ||
	    kw_python_folders(python->path, &host->read, NULL) != KW_OK)
		return false;
	host->python = python->path;
	host->script = script;
	return true;
}

void kw_module_host_start(struct kw_judge *j, int triton)
{
	struct kw_module_host host;
	struct kw_python_found python;
	struct kw_arena a;

	kw_arena_init(&a, 8 << 20);
	if (find_host(&a, &python, &host)) {
		host.triton = triton > 0 && python.triton[0];
		host.interpreted = !is_gpu(j);
		if (host.triton)
			kw_triton_asked_ahead(arch_of(j), triton);
		kw_module_expect(&host, is_gpu(j));
	}
	kw_arena_release(&a);
}

void kw_judge_modules_ahead(struct kw_judge *j, int count, int triton)
{
	struct kw_module_host host;
	struct kw_python_found python;
	struct kw_arena a;

	if (count <= 0)
		return;
	kw_arena_init(&a, 8 << 20);
	if (find_host(&a, &python, &host)) {
		if (!python.triton[0])
			triton = 0;
		kw_triton_asked_ahead(arch_of(j), triton);
		if (j->dev->ops->modules_ahead)
			j->dev->ops->modules_ahead(j->dev, &host, count - triton, triton);
	}
	kw_arena_release(&a);
}

void kw_judge_modules_ready(struct kw_judge *j)
{
	kw_triton_asked_ready();
	if (j->dev->ops->modules_ahead)
		kw_module_ahead_ready();
}

int64_t kw_module_waited_ns(const struct work *w)
{
	return w->module && w->module->asked ? kw_triton_asked_count(w->module->asked).wall_ns : 0;
}

void kw_count_run(struct work *w, int64_t wall_ns, int64_t waited_ns)
{
	w->v->run_ns += wall_ns - (kw_module_waited_ns(w) - waited_ns);
}

void kw_module_host_free(struct work *w)
{
	if (!w->module)
		return;
	kw_triton_asked_free(w->module->asked);
	json_decref(w->module->files);
	kw_arena_release(&w->module->arena);
	kw_free(w->module);
	w->module = NULL;
}

/* ---- a case ---- */

static json_t *shape_json(const int64_t *v, int rank)
{
	json_t *list = json_array();

	for (int i = 0; i < rank; i++)
		json_array_append_new(list, json_integer(v[i]));
	return list;
}

static json_t *tensor_json(const struct kw_tensor_decl *d, const struct kw_view *v, int buffer)
{
	return json_pack("{s:s,s:i,s:s,s:o,s:o}", "name", d->name, "buffer", buffer, "dtype",
			 kw_dtype_info((enum kw_dtype)v->dtype)->alias, "shape", shape_json(v->shape.dim, v->shape.rank), "strides",
			 shape_json(v->stride, v->shape.rank));
}

/* What is updated in place is handed over where the answer is expected. */
static json_t *inputs_json(const struct stage *s, bool in_place)
{
	json_t *list = json_array();

	for (int i = 0; i < s->inputs; i++) {
		const struct kw_tensor_decl *d = &s->w->t->inputs[i];
		int buffer = d->inout && in_place ? s->inputs + d->partner : i;

		json_array_append_new(list, tensor_json(d, &s->view[buffer], buffer));
	}
	return list;
}

json_t *kw_stage_spec(const struct stage *s, const char *file, const char *stand_in, bool in_place)
{
	const struct kw_task *t = s->w->t;
	json_t *spec = json_pack("{s:s,s:o,s:i}", "file", file, "inputs", inputs_json(s, in_place), "perturb",
				 s->c->perf ? 0 : 1 + (int)(kw_random_u64() % 254)), *list = json_array();

	for (int i = 0; i < s->outputs; i++)
		json_array_append_new(list, tensor_json(&t->outputs[i], &s->view[s->inputs + i], s->inputs + i));
	json_object_set_new(spec, "outputs", list);
	list = json_object();
	for (size_t i = 0; i < t->param_count; i++)
		json_object_set_new(list, t->params[i].name, kw_dtype_is_float(t->params[i].dtype) ?
				    json_real(t->params[i].value) : json_integer((int64_t)t->params[i].value));
	json_object_set_new(spec, "params", list);
	list = json_object();
	for (int d = 1; d < KW_DTYPE_COUNT; d++)
		json_object_set_new(list, kw_dtype_info((enum kw_dtype)d)->alias, json_integer(d));
	json_object_set_new(spec, "dtypes", list);
	if (stand_in)
		json_object_set_new(spec, "stand_in", json_string(stand_in));
	json_object_set_new(spec, "device", json_string(strcmp(s->w->j->dev->ops->name, "nvidia") ? "cpu" : "cuda"));
	json_object_set_new(spec, "eval", json_boolean(t->torch_eval));
	json_object_set_new(spec, "tf32", json_boolean(t->allow_tf32));
	return spec;
}

static json_t *spec_json(const struct stage *s)
{
	json_t *spec = kw_stage_spec(s, s->w->c->name, s->w->stand_in, true), *list = json_array();

	for (size_t i = 0; s->w->module->host.read[i]; i++)
		json_array_append_new(list, json_string(s->w->module->host.read[i]));
	for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
		json_array_append_new(list, json_string(system_folders[i]));
	json_object_set_new(spec, "read", list);
	if (s->w->module->files)
		json_object_set_new(spec, "triton", json_pack("{s:O,s:i,s:b}", "files", s->w->module->files, "sm",
							      kw_triton_asked_sm(s->w->module->asked), "interpreted", s->w->interpreted));
	return spec;
}

enum kw_status kw_stage_module(struct stage *s, struct kw_error *err)
{
	json_t *spec;
	char *text;

	if (!s->w->module || s->module.spec)
		return KW_OK;
	spec = spec_json(s);
	text = spec ? json_dumps(spec, JSON_COMPACT) : NULL;
	json_decref(spec);
	s->module = (struct kw_module_play){ .host = &s->w->module->host, .outputs = &s->view[s->inputs],
					     .input_count = (size_t)s->inputs, .output_count = (size_t)s->outputs };
	s->module.spec = text ? kw_arena_strdup(&s->arena, text) : NULL;
	free(text);
	return s->module.spec ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

struct kw_player_opts kw_stage_player_opts(const struct stage *s, bool writable_inputs)
{
	return (struct kw_player_opts){ .threads = s->w->o.threads, .writable_inputs = writable_inputs,
					.module = s->module.spec ? &s->module : NULL };
}

/* ---- what it computes with ---- */

static bool refuses_libraries(const struct stage *s)
{
	return s->w->t->libraries_said && s->w->t->libraries == KW_LIBRARIES_REFUSE;
}

bool kw_module_is_watched(const struct stage *s)
{
	return s->module.spec && (refuses_libraries(s) || !s->w->operations_noted);
}

void kw_module_operations(struct stage *s, const struct kw_play_result *r)
{
	char text[400];

	if (!s->module.spec || r->end != KW_PLAY_DONE || !r->detail[0] || s->w->failed)
		return;
	if (strcmp(r->detail, UNWATCHED) == 0)
		snprintf(text, sizeof text, "it ends what watches the operations of PyTorch that it uses");
	else
		snprintf(text, sizeof text, "it computes by operations of PyTorch itself: %.300s", r->detail);
	if (refuses_libraries(s))
		kw_fail_verdict(s->w, s->c->label, KW_S_LIBRARY, text, "libraries: refuse");
	else if (!s->w->operations_noted) /* once is enough: other cases may take other ways */
		kw_note(s->w, text);
	s->w->operations_noted = true;
}
