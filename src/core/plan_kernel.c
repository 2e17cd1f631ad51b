/* kernel NAME grid=(…) block=(…) smem=… cluster=(…) cooperative pdl args=(…) */
#include <stdio.h>
#include <string.h>

#include "core/plan_internal.h"
#include "core/task_internal.h"

static const char *const fields[] = { "grid", "block", "smem", "cluster", "cooperative", "pdl", "args" };
enum field { GRID, BLOCK, SMEM, CLUSTER, COOPERATIVE, PDL, ARGS, FIELDS };

/* The last ':' outside of brackets that a word follows: what is passed, and its type. */
static bool split_type(const struct kw_plan_cursor *c, size_t *colon)
{
	for (size_t i = c->text.len; i > 0; i--) {
		char b = c->text.ptr[i - 1];

		if (b == ':') {
			*colon = i - 1;
			return true;
		}
		if (b == ')' || b == ']' || b == '?')
			return false;
	}
	return false;
}

static int find_param(const struct kw_task *t, const char *name)
{
	for (size_t i = 0; t && i < t->param_count; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* What a bare name is, or that it is nothing. */
static enum kw_status resolve(struct kw_plan_cursor *c, struct kw_plan_arg *arg)
{
	const char *known[3 * KW_PLAN_MAX_LINES + 2 * KW_TASK_MAX_TENSORS + KW_TASK_MAX_PARAMS], *near;
	const struct kw_plan *p = c->plan;
	const struct kw_task *t = c->task;
	size_t n = 0, maps, tensors, params;
	int64_t unused;

	for (size_t i = 0; i < p->workspace_count; i++)
		known[n++] = p->workspaces[i].name;
	maps = n;
	for (size_t i = 0; i < p->tensormap_count; i++)
		known[n++] = p->tensormaps[i].name;
	tensors = n;
	for (size_t i = 0; t && i < t->input_count; i++)
		known[n++] = t->inputs[i].name;
	for (size_t i = 0; t && i < t->output_count; i++)
		if (!t->outputs[i].inout)
			known[n++] = t->outputs[i].name;
	params = n;
	for (size_t i = 0; t && i < t->param_count; i++)
		known[n++] = t->params[i].name;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(known[i], arg->name) != 0)
			continue;
		arg->kind = i < maps	  ? KW_ARG_WORKSPACE
			    : i < tensors ? KW_ARG_TENSORMAP
			    : i < params  ? KW_ARG_TENSOR
					  : KW_ARG_PARAM;
		if (arg->kind == KW_ARG_PARAM)
			arg->dtype = t->params[i - params].dtype;
		return KW_OK;
	}
	arg->kind = KW_ARG_TENSOR;
	if (!t)
		return KW_OK;
	for (size_t i = 0; i < t->output_count; i++)
		if (t->outputs[i].inout && strcmp(t->outputs[i].name, arg->name) == 0)
			return kw_plan_fail(c, 0, "'%s' is written into '%s' (inout); pass '%s'", arg->name,
					    t->inputs[t->outputs[i].partner].name, t->inputs[t->outputs[i].partner].name);
	near = kw_str_nearest(arg->name, known, n);
	for (size_t i = 0; i < t->dim_count; i++)
		if (strcmp(t->dims[i].name, arg->name) == 0)
			near = NULL, n = 0;
	if (n == 0 || kw_str_to_i64(kw_str_from(arg->name), &unused))
		return kw_plan_fail(c, 0, "a number needs a type: write '%s:i64'", arg->name);
	if (near)
		return kw_plan_fail(c, 0, "unknown argument '%s'; did you mean '%s'?", arg->name, near);
	return kw_plan_fail(c, 0, "unknown argument '%s'; it is no tensor, workspace or param of the "
				  "task '%s' (a number needs a type, like rows:i64)",
			    arg->name, t->name);
}

static enum kw_status read_typed(struct kw_plan_cursor *c, size_t colon, struct kw_plan_arg *arg)
{
	struct kw_plan_cursor type = kw_plan_part(c, colon + 1, c->text.len);
	struct kw_plan_cursor value = kw_plan_part(c, 0, colon);
	struct kw_str word = kw_str_trim(type.text), name = kw_str_trim(value.text);
	char text[64];
	const char *near;

	arg->dtype = kw_dtype_parse(word);
	if (arg->dtype == KW_DTYPE_NONE) {
		snprintf(text, sizeof(text), KW_STR_FMT, (int)(word.len > 60 ? 60 : word.len),
			 word.ptr);
		near = kw_dtype_nearest(text);
		kw_plan_blanks(&type);
		if (near)
			return kw_plan_fail(&type, type.at, "unknown type '%s'; did you mean '%s'?",
					    text, near);
		return kw_plan_fail(&type, type.at, "unknown type '%s'; a number is passed as i32, "
						    "i64, f32 and so on",
				    text);
	}
	snprintf(text, sizeof(text), KW_STR_FMT, (int)(name.len > 60 ? 60 : name.len), name.ptr);
	if (find_param(c->task, text) >= 0) {
		arg->kind = KW_ARG_PARAM;
		arg->name = kw_arena_strdup(c->arena, text);
		return arg->name ? KW_OK : kw_plan_nomem(c);
	}
	if (c->task && kw_plan_tensor_index(c->task, text) >= 0)
		return kw_plan_fail(c, 0, "'%s' is a tensor and has its type; write the name alone", text);
	arg->kind = KW_ARG_SCALAR;
	return kw_plan_expr(&value, &arg->expr);
}

static enum kw_status read_arg(struct kw_plan_cursor *c, struct kw_plan_arg *arg)
{
	struct kw_str name;
	size_t colon, at;

	*arg = (struct kw_plan_arg){ 0 };
	if (kw_plan_at_end(c))
		return kw_plan_fail(c, 0, "an argument is missing");
	if (split_type(c, &colon))
		return read_typed(c, colon, arg);
	at = c->at;
	name = kw_plan_word(c);
	if (!kw_plan_at_end(c) || name.len == 0)
		return kw_plan_fail(c, at, "a number needs a type, like 'rows * 2:i64'");
	c->text.ptr += at; /* the caret goes below the name */
	c->text.len -= at;
	c->column += (int)at;
	arg->name = kw_arena_str(c->arena, name);
	return arg->name ? resolve(c, arg) : kw_plan_nomem(c);
}

static enum kw_status read_args(struct kw_plan_cursor *c, struct kw_plan_kernel *k)
{
	struct kw_plan_cursor *parts = kw_arena_calloc(c->arena, KW_PLAN_MAX_ARGS, sizeof(*parts));
	enum kw_status s;

	if (!parts)
		return kw_plan_nomem(c);
	s = kw_plan_list(c, '(', KW_PLAN_MAX_ARGS, parts, &k->arg_count);
	if (s != KW_OK)
		return s;
	k->args = kw_arena_calloc(c->arena, k->arg_count, sizeof(*k->args));
	if (!k->args)
		return kw_plan_nomem(c);
	for (size_t i = 0; i < k->arg_count && s == KW_OK; i++)
		s = read_arg(&parts[i], &k->args[i]);
	return s;
}

/* smem=EXPR: up to a blank outside of brackets. */
static enum kw_status read_smem(struct kw_plan_cursor *c, const struct kw_intexpr **out)
{
	size_t start, end;
	struct kw_plan_cursor value;

	kw_plan_blanks(c);
	start = end = c->at;
	while (end < c->text.len && !strchr(" \t\r", c->text.ptr[end]))
		end = c->text.ptr[end] == '(' ? kw_plan_closing(c, end) + 1 : end + 1;
	end = end > c->text.len ? c->text.len : end;
	value = kw_plan_part(c, start, end);
	c->at = end;
	return kw_plan_expr(&value, out);
}

static enum kw_status read_dims(struct kw_plan_cursor *c, const struct kw_intexpr **out, int *rank)
{
	size_t at = c->at;
	enum kw_status s = kw_plan_exprs(c, '(', 3, out, rank);

	if (s == KW_OK && *rank == 0)
		return kw_plan_fail(c, at, "1 to 3 sizes should be in the brackets");
	return s;
}

static enum kw_status read_field(struct kw_plan_cursor *c, enum field f, struct kw_plan_kernel *k)
{
	if (f == PDL && c->plan->kernel_count == 0)
		return kw_plan_fail(c, c->at - strlen(fields[PDL]),
				    "the first kernel cannot have 'pdl': there is none before it to overlap with");
	if (f == COOPERATIVE || f == PDL) {
		k->cooperative = k->cooperative || f == COOPERATIVE;
		k->pdl = k->pdl || f == PDL;
		return KW_OK;
	}
	if (!kw_plan_take(c, '='))
		return kw_plan_fail(c, c->at, "'=' should follow '%s'", fields[f]);
	switch (f) {
	case GRID: return read_dims(c, k->grid, &k->grid_rank);
	case BLOCK: return read_dims(c, k->block, &k->block_rank);
	case CLUSTER: return read_dims(c, k->cluster, &k->cluster_rank);
	case SMEM: return read_smem(c, &k->smem);
	default: return read_args(c, k);
	}
}

static enum kw_status find_field(struct kw_plan_cursor *c, enum field *out)
{
	size_t at;
	struct kw_str word;
	char text[64];
	const char *near;

	kw_plan_blanks(c);
	at = c->at;
	word = kw_plan_word(c);
	for (int i = 0; i < FIELDS; i++) {
		if (kw_str_eqz(word, fields[i])) {
			*out = (enum field)i;
			return KW_OK;
		}
	}
	snprintf(text, sizeof(text), KW_STR_FMT, (int)(word.len > 60 ? 60 : word.len), word.ptr);
	near = word.len ? kw_str_nearest(text, fields, FIELDS) : NULL;
	if (near)
		return kw_plan_fail(c, at, "unknown word '%s'; did you mean '%s'?", text, near);
	return kw_plan_fail(c, at, "grid=, block=, smem=, cluster=, cooperative, pdl or args= should "
				   "follow");
}

enum kw_status kw_plan_read_kernel(struct kw_plan_cursor *c, struct kw_plan_kernel *k)
{
	bool seen[FIELDS] = { false };
	struct kw_str name;
	enum field f = ARGS;
	enum kw_status s = KW_OK;
	size_t at;

	*k = (struct kw_plan_kernel){ .line = c->line };
	kw_plan_blanks(c);
	at = c->at;
	name = kw_plan_word(c);
	if (name.len == 0)
		return kw_plan_fail(c, at, "the name of the kernel's function should follow");
	if (name.len > 128)
		return kw_plan_fail(c, at, "a name of more than 128 characters");
	k->name = kw_arena_str(c->arena, name);
	if (!k->name)
		return kw_plan_nomem(c);
	while (s == KW_OK && !kw_plan_at_end(c)) {
		at = c->at;
		s = find_field(c, &f);
		if (s == KW_OK && seen[f])
			return kw_plan_fail(c, at, "'%s' is there already", fields[f]);
		seen[f] = true;
		if (s == KW_OK)
			s = read_field(c, f, k);
	}
	if (s == KW_OK && !seen[ARGS])
		return kw_plan_fail(c, c->text.len, "args=(...) is missing");
	return s;
}
