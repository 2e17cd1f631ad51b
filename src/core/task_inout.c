/* Inputs that a kernel updates in place. */
#include <stdio.h>
#include <string.h>

#include "core/task_internal.h"

bool kw_task_has_inout(const struct kw_task *t)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (t->inputs[i].inout)
			return true;
	return false;
}

static enum kw_status fail(const struct kw_task *t, const struct kw_tensor_decl *d, struct kw_error *err, const char *why)
{
	char where[512];

	if (d->line > 0)
		snprintf(where, sizeof(where), "%.490s:%d", t->file, d->line);
	else
		snprintf(where, sizeof(where), "%.490s", t->file);
	return kw_fail(err, KW_ERR_INPUT, where, "'%s' is updated in place (inout), %s", d->name, why);
}

static enum kw_status same_shapes(const struct kw_task *t, const struct kw_tensor_decl *in, const struct kw_tensor_decl *out,
				  struct kw_error *err)
{
	enum kw_status s = KW_OK;

	for (size_t i = 0; i < t->case_count && s == KW_OK; i++) {
		struct kw_intenv_var vars[KW_TASK_MAX_DIMS];
		struct kw_intenv env = { .vars = vars, .count = t->dim_count };
		struct kw_shape a, b;
		char text[700], ta[128], tb[128];

		for (size_t k = 0; k < t->dim_count; k++)
			vars[k] = (struct kw_intenv_var){ t->dims[k].name, t->cases[i].dims[k] };
		s = kw_tensor_shape(in, &env, &a, err);
		if (s == KW_OK)
			s = kw_tensor_shape(out, &env, &b, err);
		if (s != KW_OK || kw_shape_eq(&a, &b))
			continue;
		snprintf(text, sizeof(text), "but '%s' has shape %s and it has %s in the case %.200s", out->name,
			 kw_shape_text(&b, tb, sizeof(tb)), kw_shape_text(&a, ta, sizeof(ta)), t->cases[i].label);
		s = fail(t, in, err, text);
	}
	return s;
}

static enum kw_status link_one(struct kw_task *t, size_t input, struct kw_error *err)
{
	struct kw_tensor_decl *d = &t->inputs[input], *out;
	char text[300];
	size_t o = 0;

	if (!d->updated_by && t->output_count != 1)
		return fail(t, d, err, "but the task has several outputs: say 'inout: NAME' with the one that is written into it");
	while (d->updated_by && o < t->output_count && strcmp(t->outputs[o].name, d->updated_by) != 0)
		o++;
	if (o == t->output_count) {
		snprintf(text, sizeof(text), "but there is no output '%.60s'", d->updated_by);
		return fail(t, d, err, text);
	}
	out = &t->outputs[o];
	if (out->inout) {
		snprintf(text, sizeof(text), "but '%.60s' is written into '%.60s' already", out->name, t->inputs[out->partner].name);
		return fail(t, d, err, text);
	}
	if (out->dtype != d->dtype) {
		snprintf(text, sizeof(text), "but '%.60s' is %s and it is %s", out->name, kw_dtype_name(out->dtype),
			 kw_dtype_name(d->dtype));
		return fail(t, d, err, text);
	}
	d->partner = (int)o;
	out->inout = true;
	out->partner = (int)input;
	return same_shapes(t, d, out, err);
}

enum kw_status kw_task_link_inout(struct kw_task *t, struct kw_error *err)
{
	enum kw_status s = KW_OK;

	for (size_t i = 0; i < t->output_count; i++)
		t->outputs[i].inout = false;
	for (size_t i = 0; i < t->input_count && s == KW_OK; i++)
		if (t->inputs[i].inout)
			s = link_one(t, i, err);
	return s;
}

enum kw_status kw_task_out_of_place(const struct kw_task *t, struct kw_arena *a, struct kw_task *out, struct kw_error *err)
{
	*out = *t;
	if (!kw_task_has_inout(t))
		return KW_OK;
	out->inputs = kw_arena_copy(a, t->inputs, t->input_count * sizeof(*t->inputs));
	out->outputs = kw_arena_copy(a, t->outputs, t->output_count * sizeof(*t->outputs));
	if (!out->inputs || !out->outputs)
		return kw_fail(err, KW_ERR_NOMEM, t->file, "out of memory");
	for (size_t i = 0; i < t->input_count; i++)
		out->inputs[i].inout = false;
	for (size_t i = 0; i < t->output_count; i++)
		out->outputs[i].inout = false;
	return KW_OK;
}
