/* The files that a run hands over: the kernel at its tuned point, how to call it, the header it needs, the report. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/job.h"
#include "base/file.h"
#include "ops/internal.h"

enum { FILE_MAX_BYTES = 16 << 20 };

struct writer {
	struct kw_arena arena;
	struct kw_buf text;
	const struct kw_task *task;
	const struct kw_candidate *c;
	const struct kw_backend *backend;
	const char *dir, *base, *ending;  /* base: a file name without its ending, ".c" */
	const char *kernel, *header, *report; /* paths */
};

/* A name that is safe as a file's, without the ending. */
static const char *safe_name(struct kw_arena *a, const char *name, const char *ending)
{
	char *out = kw_arena_strdup(a, name && name[0] ? name : "kernel");
	size_t n = out ? strlen(out) : 0;

	if (n > strlen(ending) && strcmp(out + n - strlen(ending), ending) == 0)
		out[n - strlen(ending)] = '\0';
	for (char *p = out; p && *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			*p = '_';
	return out;
}

static int64_t tune_value(const struct kw_candidate *c, size_t i)
{
	return c->tune_values ? c->tune_values[i] : c->plan.tunes[i].default_value;
}

static const struct kw_plan_tune *tune_at(const struct kw_candidate *c, int line, int64_t *value)
{
	for (size_t i = 0; i < c->plan.tune_count; i++) {
		if (c->plan.tunes[i].line == line) {
			*value = tune_value(c, i);
			return &c->plan.tunes[i];
		}
	}
	return NULL;
}

/* Called like any function; what other backends make is launched. */
static bool is_c(const struct writer *w)
{
	return strcmp(w->backend->name, "c") == 0;
}

/* The source with every tune line fixed to its value; a macro stands above it for a build by hand. */
static void write_kernel(struct writer *w)
{
	struct kw_str rest = { w->c->source, w->c->source_len }, line;
	bool python = strcmp(w->ending, ".py") == 0;
	int number = 0;
	int64_t value;

	kw_buf_printf(&w->text, "%s %s by Kernelwright: candidate %.12s at its tuned point. %s: see %s.%s.%s\n", python ? "#" : "/*",
		      w->c->name, w->c->sha256, is_c(w) ? "Build" : "Launch", w->base, is_c(w) ? "h" : "txt", python ? "" : " */");
	for (size_t i = 0; i < w->c->plan.tune_count && !python; i++)
		kw_buf_printf(&w->text, "#ifndef %s\n#define %s %lld\n#endif\n", w->c->plan.tunes[i].name,
			      w->c->plan.tunes[i].name, (long long)tune_value(w->c, i));
	while (kw_str_split(&rest, '\n', &line)) {
		const struct kw_plan_tune *t = tune_at(w->c, ++number, &value);
		struct kw_str lead = line;

		if (!rest.ptr && line.len == 0) /* behind the last newline */
			break;
		if (t) {
			const char *at = memmem(line.ptr, line.len, "tune", 4);

			lead.len = at ? (size_t)(at - line.ptr) : 0;
			kw_buf_printf(&w->text, KW_STR_FMT "tune %s in {%lld} default %lld\n",
				      KW_STR_ARG(lead), t->name, (long long)value, (long long)value);
		} else {
			kw_buf_add(&w->text, line.ptr, line.len);
			kw_buf_addc(&w->text, '\n');
		}
	}
}

static const struct kw_tensor_decl *find_tensor(const struct kw_task *t, const char *name, bool *input)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (strcmp(t->inputs[i].name, name) == 0) {
			*input = !t->inputs[i].inout;
			return &t->inputs[i];
		}
	*input = false;
	for (size_t i = 0; i < t->output_count; i++)
		if (strcmp(t->outputs[i].name, name) == 0)
			return &t->outputs[i];
	return NULL;
}

/* again: what is updated in place may be passed through two pointers. */
static void tensor_arg(struct writer *w, const struct kw_tensor_decl *d, bool input, bool again)
{
	kw_buf_printf(&w->text, "%s%s *%s%s%s /* %s(", input ? "const " : "", kw_dtype_info(d->dtype)->ctype,
		      d->inout ? "" : "restrict ", d->name, again ? "_again" : "", d->inout ? "updated in place " : "");
	for (int i = 0; i < d->rank; i++)
		kw_buf_printf(&w->text, "%s%s", i ? ", " : "", kw_intexpr_text(d->shape[i]));
	kw_buf_addz(&w->text, ") */");
}

static bool is_name(const char *z)
{
	for (const char *p = z; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return isalpha((unsigned char)z[0]) || z[0] == '_';
}

static void scalar_arg(struct writer *w, const struct kw_plan_arg *arg, size_t i)
{
	const char *type = kw_dtype_info(arg->dtype)->ctype;
	const char *text = arg->expr ? kw_intexpr_text(arg->expr) : "";

	if (is_name(text))
		kw_buf_printf(&w->text, "%s %s", type, text);
	else
		kw_buf_printf(&w->text, "%s arg%zu /* = %s */", type, i, text);
}

static bool passed_before(const struct kw_plan_kernel *k, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (k->args[j].kind == KW_ARG_TENSOR && strcmp(k->args[j].name, k->args[i].name) == 0)
			return true;
	return false;
}

static void prototype(struct writer *w, const struct kw_plan_kernel *k)
{
	kw_buf_printf(&w->text, "void %s(", k->name);
	for (size_t i = 0; i < k->arg_count; i++) {
		const struct kw_plan_arg *arg = &k->args[i];
		const struct kw_tensor_decl *d;
		bool input;

		kw_buf_addz(&w->text, i ? ",\n\t" : "");
		if (arg->kind == KW_ARG_TENSOR && (d = find_tensor(w->task, arg->name, &input)))
			tensor_arg(w, d, input, passed_before(k, i));
		else if (arg->kind == KW_ARG_SCALAR)
			scalar_arg(w, arg, i);
		else if (arg->kind == KW_ARG_PARAM)
			kw_buf_printf(&w->text, "%s %s", kw_dtype_info(arg->dtype)->ctype, arg->name);
		else
			kw_buf_printf(&w->text, "void *%s /* scratch, see its workspace line */",
				      arg->name ? arg->name : "scratch");
	}
	kw_buf_addz(&w->text, ");\n");
}

static void write_header(struct writer *w)
{
	const struct kw_plan *p = &w->c->plan;

	kw_buf_printf(&w->text,
		      "/* How to call %s.c, made by Kernelwright for the task %s.\n *\n"
		      " * Build:  gcc -std=gnu17 -O3 -march=native -fopenmp -fno-math-errno -fno-trapping-math",
		      w->base, w->task->name);
	for (size_t i = 0; i < p->flag_count; i++)
		kw_buf_printf(&w->text, " %s", p->flags[i]);
	kw_buf_printf(&w->text, " -include kw.h -c %s.c\n", w->base);
	for (size_t i = 0; i < p->define_count; i++)
		kw_buf_printf(&w->text, " *   add  -D%s=VALUE  where VALUE is  %s\n", p->defines[i].name,
			      kw_intexpr_text(p->defines[i].expr));
	for (size_t i = 0; i < p->require_count; i++)
		kw_buf_printf(&w->text, " * Only where  %s\n", kw_intexpr_text(p->requires[i]));
	if (p->kernel_count > 1)
		kw_buf_addz(&w->text, " * Call the functions in this order.\n");
	kw_buf_printf(&w->text, " * Tensors are contiguous unless strides are arguments; %s do not overlap.\n"
				" * Or judge it again:  kwright eval ",
		      kw_task_has_inout(w->task) ? "but for what is updated in place, they" : "inputs and outputs");
	kw_buf_printf(&w->text, "%s %s.c */\n#pragma once\n#include \"kw.h\"\n\n", w->task->name, w->base);
	for (size_t i = 0; i < p->kernel_count; i++)
		prototype(w, &p->kernels[i]);
}

static void list_sizes(struct writer *w, const char *name, const struct kw_intexpr *const *sizes, int rank)
{
	kw_buf_printf(&w->text, "  %s = (", name);
	for (int i = 0; i < rank; i++)
		kw_buf_printf(&w->text, "%s%s", i ? ", " : "", kw_intexpr_text(sizes[i]));
	kw_buf_addz(&w->text, ")\n");
}

static void launch(struct writer *w, const struct kw_plan_kernel *k)
{
	kw_buf_printf(&w->text, "%s\n", k->name);
	list_sizes(w, "grid", k->grid, k->grid_rank);
	list_sizes(w, "block", k->block, k->block_rank);
	if (k->smem)
		kw_buf_printf(&w->text, "  smem = %s bytes\n", kw_intexpr_text(k->smem));
	kw_buf_addz(&w->text, "  arguments:");
	for (size_t i = 0; i < k->arg_count; i++) {
		const struct kw_plan_arg *arg = &k->args[i];

		if (arg->kind == KW_ARG_SCALAR)
			kw_buf_printf(&w->text, "%s %s:%s", i ? "," : "", kw_intexpr_text(arg->expr),
				      kw_dtype_name(arg->dtype));
		else
			kw_buf_printf(&w->text, "%s %s", i ? "," : "", arg->name ? arg->name : "scratch");
	}
	kw_buf_addc(&w->text, '\n');
}

/* For a kernel that is no C function. */
static void write_launches(struct writer *w)
{
	const struct kw_plan *p = &w->c->plan;

	kw_buf_printf(&w->text, "How to launch %s%s, made by Kernelwright for the task %s.\n\nCompile with kw.h in front", w->base,
		      w->ending, w->task->name);
	for (size_t i = 0; i < p->flag_count; i++)
		kw_buf_printf(&w->text, "%s %s", i ? "" : " and", p->flags[i]);
	kw_buf_addz(&w->text, ".\n");
	for (size_t i = 0; i < p->define_count; i++)
		kw_buf_printf(&w->text, "-D%s=VALUE, where VALUE is  %s\n", p->defines[i].name,
			      kw_intexpr_text(p->defines[i].expr));
	for (size_t i = 0; i < p->require_count; i++)
		kw_buf_printf(&w->text, "Only where  %s\n", kw_intexpr_text(p->requires[i]));
	kw_buf_addz(&w->text, "The grid counts blocks (work-groups), the block threads (work-items) in one.\n\n");
	for (size_t i = 0; i < p->kernel_count; i++)
		launch(w, &p->kernels[i]);
	kw_buf_printf(&w->text, "\nOr judge it again:  kwright eval %s %s%s\n", w->task->name, w->base,
		      w->ending);
}

/* Writes the buffer and empties it. */
static enum kw_status flush(struct writer *w, const char *path, struct kw_error *err)
{
	enum kw_status status = w->text.full
		? kw_fail(err, KW_ERR_NOMEM, path, "out of memory for this file")
		: kw_file_write(path, w->text.ptr ? w->text.ptr : "", w->text.len, err);

	kw_buf_reset(&w->text);
	return status;
}

static enum kw_status copy_kw_h(struct writer *w, struct kw_error *err)
{
	char *text;
	size_t len;
	const char *path = kw_path_join(&w->arena, w->dir, "kw.h");
	enum kw_status status;

	if (!w->backend->header)
		return KW_OK;
	status = kw_build_header(w->backend->header, &w->arena, &text, &len, err);
	return status == KW_OK ? kw_file_write(path, text, len, err) : status;
}

static enum kw_status put_paths(struct writer *w, struct kw_store *s, int64_t run_id, struct kw_error *err)
{
	json_t *j = json_pack("{s:s, s:s, s:s}", "kernel", w->kernel, "header", w->header, "report",
			      w->report);
	enum kw_status status = kw_store_fact_put(s, run_id, "files", j, err);

	json_decref(j);
	return status;
}

/* Last, so that it names the other files. */
static enum kw_status write_report(struct writer *w, struct kw_store *s, int64_t run_id, struct kw_error *err)
{
	struct kw_report r;
	enum kw_status status = kw_report_load(&r, s, run_id, err);

	if (status != KW_OK)
		return status;
	kw_report_text(&r, &w->text);
	kw_report_release(&r);
	return flush(w, w->report, err);
}

static enum kw_status set_paths(struct writer *w, struct kw_store *s, int64_t run_id, struct kw_error *err)
{
	w->backend = kw_backend_find(w->c->backend);
	if (!w->backend)
		return kw_fail(err, KW_ERR_BUG, "", "the best kernel has no backend");
	w->ending = kw_arena_strndup(&w->arena, w->backend->extensions, strcspn(w->backend->extensions, " "));
	if (!w->ending)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	w->base = safe_name(&w->arena, w->c->name, w->ending);
	w->dir = kw_arena_printf(&w->arena, "%s/results/%lld", kw_store_dir(s), (long long)run_id);
	w->kernel = kw_arena_printf(&w->arena, "%s/%s%s", w->dir, w->base, w->ending);
	w->header = kw_arena_printf(&w->arena, "%s/%s.%s", w->dir, w->base, is_c(w) ? "h" : "txt");
	w->report = kw_arena_printf(&w->arena, "%s/report.txt", w->dir);
	if (!w->base || !w->dir || !w->kernel || !w->header || !w->report)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	return kw_mkdirs(w->dir, err);
}

enum kw_status kw_op_result_write(struct kw_store *s, int64_t run_id, const struct kw_task *t,
				  const struct kw_candidate *c, struct kw_error *err)
{
	struct writer w = { .task = t, .c = c };
	enum kw_status status;

	kw_arena_init(&w.arena, FILE_MAX_BYTES);
	kw_buf_init(&w.text, FILE_MAX_BYTES);
	status = set_paths(&w, s, run_id, err);
	if (status == KW_OK) {
		write_kernel(&w);
		status = flush(&w, w.kernel, err);
	}
	if (status == KW_OK) {
		if (is_c(&w))
			write_header(&w);
		else
			write_launches(&w);
		status = flush(&w, w.header, err);
	}
	if (status == KW_OK)
		status = copy_kw_h(&w, err);
	if (status == KW_OK)
		status = put_paths(&w, s, run_id, err);
	if (status == KW_OK)
		status = write_report(&w, s, run_id, err);
	kw_buf_release(&w.text);
	kw_arena_release(&w.arena);
	return status;
}
