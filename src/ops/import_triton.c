/* An existing Triton file as a candidate: its calls KERNEL[grid](...) and autotune lists become plan lines, host code goes. The text is
 * taken apart by Python's own parser (python/triton_import.py), in a box, and never run. */
#include <string.h>

#include "base/file.h"
#include "device/sandbox.h"
#include "ops/internal.h"
#include "python/python.h"

enum { TIMEOUT_MS = 20000 };

static json_t *names_of(const struct kw_task *t, bool outputs)
{
	json_t *list = json_array();

	for (size_t i = 0; list && outputs && i < t->output_count; i++)
		json_array_append_new(list, json_string(t->outputs[i].name));
	for (size_t i = 0; list && !outputs && i < t->dim_count; i++)
		json_array_append_new(list, json_string(t->dims[i].name));
	return list;
}

/* Every tensor and its rank. */
static json_t *tensors_of(const struct kw_task *t)
{
	json_t *all = json_object();

	for (size_t i = 0; all && i < t->input_count + t->output_count; i++) {
		const struct kw_tensor_decl *d = i < t->input_count ? &t->inputs[i] : &t->outputs[i - t->input_count];

		json_object_set_new(all, d->name, json_integer(d->rank));
	}
	return all;
}

/* "NAME=EXPR" of the user. */
static json_t *given(const struct kw_op_import_opts *o)
{
	json_t *all = json_object();

	for (size_t i = 0; all && i < o->arg_count; i++) {
		const char *equals = strchr(o->args[i], '=');

		if (equals)
			json_object_setn_new(all, o->args[i], (size_t)(equals - o->args[i]), json_string(equals + 1));
	}
	return all;
}

static enum kw_status ask(const struct kw_op_import_opts *o, const struct kw_task *t, const char *text, struct kw_python_answer *a,
			  struct kw_error *err)
{
	json_t *question = json_pack("{s:s,s:o,s:o,s:o,s:o,s:s*,s:s*}", "source", text, "tensors", tensors_of(t), "outputs", names_of(t, true),
				     "dims", names_of(t, false), "given", given(o), "entry", o->entry, "grid", o->grid);
	struct kw_python_opts po = { .file = "triton_import" };
	struct kw_python_found found;
	const char *const *read = NULL;
	struct kw_sandbox *box = NULL;
	struct kw_python *p = NULL;
	enum kw_status s = question ? kw_python_find(0, &found, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a kernel");

	if (s == KW_OK)
		s = kw_python_folders(found.path, &read, err);
	if (s == KW_OK)
		s = kw_sandbox_compiler_new(NULL, read, &box, err);
	po.before_exec = kw_sandbox_enter;
	po.before_exec_arg = box;
	if (s == KW_OK)
		s = kw_python_start(&po, &p, err);
	if (s == KW_OK)
		s = kw_python_ask(p, json_incref(question), NULL, 0, TIMEOUT_MS, a, err);
	json_decref(question);
	kw_python_stop(p);
	kw_sandbox_free(box);
	return s;
}

enum kw_status kw_op_import_triton(const struct kw_op_import_opts *o, const struct kw_task *t, const char *text, struct kw_op_import *out,
				   struct kw_error *err)
{
	struct kw_python_answer a = { 0 };
	struct kw_candidate c;
	enum kw_status s = ask(o, t, text, &a, err);
	const char *error, *missing;

	if (s == KW_OK && a.end != KW_PYTHON_ANSWERED)
		s = kw_fail(err, KW_ERR_INPUT, o->file, "cannot be taken apart: %.300s", a.text);
	error = s == KW_OK ? kw_json_get_str(a.json, "error", NULL) : NULL;
	missing = s == KW_OK ? kw_json_get_str(a.json, "missing", NULL) : NULL;
	if (error)
		s = kw_fail(err, KW_ERR_INPUT, o->file, "%.400s", error);
	else if (missing)
		s = kw_fail(err, KW_ERR_USAGE, o->file, "the text does not say what this is: %.600s; say it by --arg NAME=EXPR (a tensor, or a "
			    "number of the task's dims)", missing);
	if (s == KW_OK) {
		out->plan = kw_arena_strdup(&out->arena, kw_json_get_str(a.json, "plan", ""));
		out->text = kw_arena_printf(&out->arena, "%s%s", kw_json_get_str(a.json, "plan", ""), kw_json_get_str(a.json, "body", ""));
		if (!out->plan || !out->text)
			s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a candidate");
	}
	kw_python_answer_release(&a);
	if (s != KW_OK)
		return s;
	return kw_candidate_from_text(&c, o->out, "triton", out->text, strlen(out->text), t, &out->arena, err);
}
