/* The files of a benchmark's items: problems as tasks, candidates of every form, by a suite's adapter where it has forms of its own. */
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "ops/bench_server.h"

enum { ADAPT_MS = 120000 };
#define ADAPT_MEMORY_BYTES (8ll << 30)

/* Answers (.txt) hold a candidate in their first block of code, as the suite reads them; without one they are it. */
static struct kw_str first_block(struct kw_str text)
{
	const char *end = text.ptr + text.len, *open = text.len ? memmem(text.ptr, text.len, "```", 3) : NULL, *line, *close;

	line = open ? memchr(open, '\n', (size_t)(end - open)) : NULL;
	close = line ? memmem(line, (size_t)(end - line), "\n```", 4) : NULL;
	return close ? (struct kw_str){ line + 1, (size_t)(close + 1 - (line + 1)) } : text;
}

static enum kw_status load_answer(struct kw_bench_server *s, struct kw_bench_entry *e, struct kw_error *err)
{
	struct kw_buf text;
	struct kw_str code;
	char folder[PATH_MAX] = "", *path = NULL;
	enum kw_status status;

	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + 1);
	status = kw_file_read(e->file, KW_CANDIDATE_MAX_BYTES, &text, err);
	if (status == KW_OK)
		status = kw_temp_folder("kwright-answer", folder, err);
	if (status == KW_OK) {
		code = first_block(kw_buf_str(&text));
		path = kw_arena_printf(&e->arena, "%s/%s.py", folder, e->name);
		status = path ? kw_file_write(path, code.len ? code.ptr : "", code.len, err)
			      : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	if (status == KW_OK)
		status = kw_candidate_load(&e->candidate, path, s->search.backend, &e->task.task, &e->arena, err);
	if (folder[0])
		kw_rmtree(folder, NULL);
	kw_buf_release(&text);
	return status;
}

/* ---- files of a form of their own ---- */

bool kw_bench_is_python(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".py") == 0;
}

/* What the adapter makes of a problem, or of a candidate for it; what is wrong with either is KW_ERR_INPUT. */
static enum kw_status adapt(struct kw_bench_server *s, const struct kw_bench_entry *e, const char *candidate, const char *to, struct kw_error *err)
{
	struct kw_python_opts o = { .file = s->suite->adapter, .wants = KW_PYTHON_TORCH, .memory_bytes = ADAPT_MEMORY_BYTES };
	struct kw_python_answer a = { 0 };
	json_t *request = json_pack("{s:s}", "problem", e->problem);
	const char *text, *why;
	enum kw_status status = request ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	if (request && candidate)
		json_object_set_new(request, "candidate", json_string(candidate));
	if (status == KW_OK && (!s->python || kw_python_pid(s->python) < 0)) {
		kw_python_stop(s->python);
		s->python = NULL;
		status = kw_python_start(&o, &s->python, err);
	}
	if (status == KW_OK)
		status = kw_python_ask(s->python, json_incref(request), NULL, 0, ADAPT_MS, &a, err);
	if (status == KW_OK) {
		text = a.end == KW_PYTHON_ANSWERED ? kw_json_get_str(a.json, "text", NULL) : NULL;
		why = a.end == KW_PYTHON_ANSWERED ? kw_json_get_str(a.json, "error", "no answer") : a.text;
		status = text ? kw_file_write(to, text, strlen(text), err)
			      : kw_fail(err, KW_ERR_INPUT, candidate ? candidate : e->problem, "%s", why);
	}
	kw_python_answer_release(&a);
	json_decref(request);
	return status;
}

/* The problem in KernelBench's form: in the store's folder, where its path stays good for who looks at the run later. */
static enum kw_status adapt_problem(struct kw_bench_server *s, struct kw_bench_entry *e, const char **path, struct kw_error *err)
{
	const char *slash = strchr(e->key, '/'), *folder = kw_arena_printf(&e->arena, "%s/suites/%s/%.*s", s->env->store_dir, s->suite->name,
									   slash ? (int)(slash - e->key) : 0, e->key);
	const char *to = folder ? kw_path_join(&e->arena, folder, kw_path_base(e->problem)) : NULL;
	enum kw_status status = to ? kw_mkdirs(folder, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	if (status == KW_OK)
		status = adapt(s, e, NULL, to, err);
	*path = to;
	return status;
}

bool kw_bench_says(const char *path, const char *word)
{
	struct kw_buf text;
	bool found;

	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + 1);
	found = kw_file_read(path, KW_CANDIDATE_MAX_BYTES, &text, NULL) == KW_OK && text.len && strstr(text.ptr, word);
	kw_buf_release(&text);
	return found;
}

/* A function becomes a module that makes the calls of the problem; a file that is a module or has plan lines is taken as it is. */
static bool is_ready(const char *path)
{
	struct kw_buf text;
	bool ready;

	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + 1);
	ready = kw_file_read(path, KW_CANDIDATE_MAX_BYTES, &text, NULL) != KW_OK || text.len == 0 || memchr(text.ptr, '\0', text.len) ||
		strstr(text.ptr, "ModelNew") || strstr(text.ptr, "#@ kernel");
	kw_buf_release(&text);
	return ready;
}

static enum kw_status load_function(struct kw_bench_server *s, struct kw_bench_entry *e, struct kw_error *err)
{
	char folder[PATH_MAX] = "";
	const char *path = NULL;
	enum kw_status status = kw_temp_folder("kwright-module", folder, err);

	if (status == KW_OK)
		path = kw_path_join(&e->arena, folder, kw_path_base(e->file));
	if (status == KW_OK)
		status = path ? adapt(s, e, e->file, path, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (status == KW_OK)
		status = kw_candidate_load(&e->candidate, path, s->search.backend, &e->task.task, &e->arena, err);
	if (folder[0])
		kw_rmtree(folder, NULL);
	return status;
}

enum kw_status kw_bench_load_candidate(struct kw_bench_server *s, struct kw_bench_entry *e, struct kw_error *err)
{
	const char *dot = strrchr(e->file, '.');
	enum kw_status status = dot && strcmp(dot, ".txt") == 0 ? load_answer(s, e, err)
		: s->suite->adapter && kw_bench_is_python(e->file) && kw_bench_is_python(e->problem) && !is_ready(e->file) ? load_function(s, e, err)
		: kw_candidate_load(&e->candidate, e->file, s->search.backend, &e->task.task, &e->arena, err);

	e->has_candidate = status == KW_OK;
	return status;
}

void kw_bench_read_problem(struct kw_bench_server *s, struct kw_bench_entry *e)
{
	int64_t start = kw_now_ns();
	const char *path = e->problem;

	kw_error_reset(&e->why);
	e->why.status = s->suite->adapter && kw_bench_is_python(e->problem) ? adapt_problem(s, e, &path, &e->why) : KW_OK;
	if (e->why.status == KW_OK)
		e->why.status = kw_op_task_load(path, NULL, 0, &e->task, &e->why);
	e->loaded = e->why.status == KW_OK;
	e->load_ns = kw_now_ns() - start;
	kw_log(KW_LOG_DEBUG, "bench: %s was read in %.2f s", e->key, (double)e->load_ns * 1e-9);
}
