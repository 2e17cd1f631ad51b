/* The module backend: a Python file with a class ModelNew. Nothing of it is compiled or run here; Python reads it, in a box, to
 * say whether it is one. It is played as it stands (python/module_player.py). */
#include "backend/backend.h"

#include "backend/diagnostics.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sandbox.h"
#include "python/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 30000, MAX_ANSWER = 1 << 20 };

struct build {
	const struct kw_candidate *c;
	const struct kw_build_opts *opts;
	struct kw_python_found python;
	struct kw_arena arena;
	struct kw_diagnostics diags;
	struct kw_build_result *out;
};

static void fail_build(struct build *b, enum kw_subclass subclass, int line, int column, const char *message)
{
	kw_diagnostics_add(&b->diags, KW_ERROR, subclass, b->c->name, line, column, message);
	b->out->cls = KW_V_BUILD_ERROR;
	b->out->subclass = subclass;
}

static void judge_scan(struct build *b, const json_t *scan)
{
	const json_t *error = json_object_get(scan, "error"), *classes = json_object_get(scan, "classes");
	char text[300];

	if (error) {
		fail_build(b, KW_S_SYNTAX, (int)kw_json_get_i64(error, "line", 0), (int)kw_json_get_i64(error, "column", 0),
			   kw_json_get_str(error, "message", "not valid Python"));
	} else if (json_array_size(classes) == 0) {
		fail_build(b, KW_S_UNDEFINED, 0, 0, "there is no class ModelNew (a module), and no `#@ kernel` line (a Triton kernel)");
	} else if (json_array_size(classes) > 1) {
		int second = (int)json_integer_value(json_array_get(classes, 1));

		snprintf(text, sizeof(text), "ModelNew is defined more than once (first in line %d): which one is meant?",
			 (int)json_integer_value(json_array_get(classes, 0)));
		fail_build(b, KW_S_BUILD_PLAN, second, 1, text);
	}
}

/* What the interpreter itself says of the text; a text may keep its parser busy or make it crash. */
static enum kw_status scan(struct build *b, struct kw_error *err)
{
	char *script;
	struct kw_proc_opts o = { .in = b->c->source, .in_bytes = b->c->source_len, .cwd = "/",
				  .timeout_ms = b->opts->timeout_ms ? b->opts->timeout_ms : DEFAULT_TIMEOUT_MS,
				  .max_out_bytes = MAX_ANSWER, .before_exec = kw_sandbox_enter };
	const char *const *read = NULL;
	struct kw_proc_result r = { 0 };
	struct kw_sandbox *box = NULL;
	json_t *answer = NULL;
	enum kw_status s = kw_data_read("python/module_scan.py", &b->arena, &script, NULL, err);

	if (s == KW_OK)
		s = kw_python_folders(b->python.path, &read, err);
	if (s == KW_OK)
		s = kw_sandbox_compiler_new(NULL, read, &box, err);
	o.before_exec_arg = box;
	if (s == KW_OK) {
		const char *argv[] = { b->python.path, "-I", "-S", "-c", script, b->c->name, NULL };

		s = kw_proc_run(argv, &o, &r, err);
	}
	if (s == KW_OK && r.timed_out)
		fail_build(b, KW_S_BUILD_TIMEOUT, 0, 0, "Python did not read it in time");
	else if (s == KW_OK && (r.exit_code != 0 || kw_json_parse(b->c->name, r.out.ptr, r.out.len, &answer, NULL) != KW_OK))
		fail_build(b, KW_S_SYNTAX, 0, 0, "Python itself could not read it");
	else if (s == KW_OK)
		judge_scan(b, answer);
	json_decref(answer);
	kw_proc_result_release(&r);
	kw_sandbox_free(box);
	return s;
}

static enum kw_status take_source(struct build *b, struct kw_error *err)
{
	struct kw_artefact *a = &b->out->artefact;

	a->code = kw_alloc(b->c->source_len + 1);
	if (!a->code)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	memcpy(a->code, b->c->source, b->c->source_len);
	a->code_bytes = b->c->source_len;
	kw_sha256_hex(a->code, a->code_bytes, a->key);
	return KW_OK;
}

static enum kw_status build_module(const struct kw_candidate *c, const struct kw_bound_plan *bound,
				   const struct kw_build_opts *opts, struct kw_build_result *out, struct kw_error *err)
{
	struct build b = { .c = c, .opts = opts, .out = out };
	enum kw_status s;

	(void)bound;
	out->cls = KW_V_OK;
	out->subclass = KW_S_NONE;
	out->artefact.kind = "module";
	kw_arena_init(&b.arena, 8 << 20);
	kw_diagnostics_init(&b.diags, c->name, c->name);
	s = kw_python_find(KW_PYTHON_TORCH, &b.python, err);
	snprintf(out->artefact.toolchain, sizeof(out->artefact.toolchain), "Python %.30s, torch %.60s", b.python.version, b.python.torch);
	if (s == KW_OK)
		s = scan(&b, err);
	if (s == KW_OK && out->cls == KW_V_OK)
		s = take_source(&b, err);
	kw_diagnostics_take(&b.diags, &out->artefact);
	kw_diagnostics_release(&b.diags);
	kw_arena_release(&b.arena);
	return s;
}

static enum kw_status probe_module(char *text, size_t text_bytes, struct kw_error *err)
{
	struct kw_python_found f;
	enum kw_status s = kw_python_find(KW_PYTHON_TORCH, &f, err);

	if (s == KW_OK)
		snprintf(text, text_bytes, "Python %s, torch %s", f.version, f.torch);
	return s;
}

extern const struct kw_backend kw_backend_module;
const struct kw_backend kw_backend_module = {
	.name = "module",
	.language = "Python (a module)",
	.extensions = ".py",
	.device = "cpu",
	.probe = probe_module,
	.build = build_module,
};
