/* What stands for each placeholder. */
#include <stdio.h>
#include <string.h>

#include "agent/prompt.h"
#include "base/file.h"

enum { TEXT_MAX_BYTES = 8 << 20, PATTERNS_MAX = 3, MEMORIES_MAX = 12, CHECKS_SHOWN = 24 };

struct filler {
	const struct kw_prompt_facts *f;
	struct kw_arena *arena;
	struct kw_part *out;
	struct kw_buf text;
	struct kw_error *err;
};

static const struct {
	const char *backend, *language, *marker, *launch;
} languages[] = {
	{ "c", "C17", "//@", "" },
	{ "cuda", "CUDA C++", "//@", "grid=(rows) block=(BLOCK) [smem=(BYTES)] " },
	{ "opencl", "OpenCL C 1.2", "//@", "grid=(rows) block=(BLOCK) [smem=(BYTES)] " },
	{ "triton", "Triton (Python)", "#@", "grid=(rows) " },
};

static size_t language_of(const char *backend)
{
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		if (strcmp(languages[i].backend, backend ? backend : "c") == 0)
			return i;
	return 0;
}

const char *kw_prompt_marker(const char *backend)
{
	return languages[language_of(backend)].marker;
}

const char *kw_prompt_language(const char *backend)
{
	return languages[language_of(backend)].language;
}

static enum kw_status no_memory(struct filler *x)
{
	return kw_fail(x->err, KW_ERR_NOMEM, "", "out of memory for a prompt");
}

static enum kw_status add(struct filler *x, const char *item, const char *label)
{
	if (!item || !label)
		return no_memory(x);
	if (x->out->count < KW_PART_ITEMS_MAX && item[0]) {
		x->out->label[x->out->count] = label;
		x->out->item[x->out->count++] = item;
	}
	return KW_OK;
}

/* What was written into x->text so far is an item. */
static enum kw_status add_text(struct filler *x, const char *label)
{
	const char *item = x->text.full ? NULL : kw_arena_strndup(x->arena, x->text.ptr ? x->text.ptr : "", x->text.len);

	kw_buf_reset(&x->text);
	return add(x, item, label);
}

static enum kw_status add_file(struct filler *x, const char *path)
{
	char *text;
	enum kw_status status = path ? kw_data_read(path, x->arena, &text, NULL, x->err) : no_memory(x);

	return status == KW_OK ? add(x, text, path) : status;
}

/* Which elements an output element needs, by family. */
static const char *const access_patterns[KW_FAMILY_COUNT] = {
	[KW_FAMILY_POINTWISE] = "each output element needs the input elements at its own place; what is broadcast is needed again and again",
	[KW_FAMILY_ROW_REDUCE] = "each row is reduced over its last axes by itself; rows are independent, and their elements are neighbours in memory",
	[KW_FAMILY_COLUMN_REDUCE] = "sums run across rows: neighbours in memory belong to different sums, and the elements of one are far apart",
	[KW_FAMILY_SCAN] = "each output element needs all elements before it on its axis; other axes are independent",
	[KW_FAMILY_MATMUL] = "each output element needs a row of one operand and a column of the other, each of which whole rows or columns of outputs need again",
	[KW_FAMILY_ATTENTION] = "each query needs the keys and values of its head, all or those before it; all queries of a head need them again",
	[KW_FAMILY_CONV] = "each output element needs a window of the input and a filter; windows overlap, and every place needs each filter again",
	[KW_FAMILY_POOL] = "each output element needs a window of the input; windows may overlap",
	[KW_FAMILY_MOVE] = "elements change their places and nothing is computed: reads or writes are far apart unless tiles are turned on the chip",
	[KW_FAMILY_GATHER] = "indices, known only at run time, say which elements are read",
	[KW_FAMILY_SORT] = "the order of the elements along an axis decides, so each depends on all others of its row",
	[KW_FAMILY_MIXED] = "several kinds, one after the other",
};

static const char *family(const struct filler *x)
{
	return x->f->expr ? kw_family_name(kw_expr_family(x->f->expr)) : "mixed";
}

/* The forms and defaults of the functions in a reference: gelu has two, and attention a scale that nobody wrote. */
static void meanings(struct filler *x)
{
	const struct kw_expr *e = x->f->task->expr ? x->f->expr : NULL;
	bool any = false;

	for (size_t i = 0; e && i < e->node_count; i++) {
		const struct kw_op *op = e->nodes[i]->op;
		bool told = !op || !kw_op_meaning(op) || kw_op_name(op)[0] == '_';

		for (size_t k = 0; k < i && !told; k++)
			told = e->nodes[k]->op == op;
		if (told)
			continue;
		kw_buf_printf(&x->text, "%s- `%s`: %s\n", any ? "" : "\nIn it:\n", kw_op_name(op), kw_op_meaning(op));
		any = true;
	}
}

static enum kw_status fill_task(struct filler *x)
{
	const struct kw_task *t = x->f->task;
	struct kw_str rest, line;

	if (!t)
		return KW_OK;
	kw_buf_printf(&x->text, "%s%s%s (family %s). Its reference, %s, computed in double precision:\n\n", t->name,
		      t->title && t->title[0] ? ": " : "", t->title ? t->title : "", family(x),
		      t->expr ? "numpy-like" : kw_task_reference_kind(t));
	for (rest = kw_str_from(kw_task_reference_text(t)); rest.len && kw_str_split(&rest, '\n', &line);)
		if (kw_str_trim(line).len) /* what is written in Python or C keeps its indents */
			kw_buf_printf(&x->text, "    " KW_STR_FMT "\n", KW_STR_ARG(t->expr ? kw_str_trim(line) : line));
	meanings(x);
	if (x->f->expr)
		kw_buf_printf(&x->text, "\nAccess: %s.\n", access_patterns[kw_expr_family(x->f->expr)]);
	if (t->grad_count)
		kw_buf_addz(&x->text, "\nWanted is its backward pass: what arrives at each output is an input, and the outputs are the gradients.\n");
	return add_text(x, "task");
}

static void bound(struct filler *x, const char *before, const struct kw_intexpr *from_dims, double plain)
{
	kw_buf_addz(&x->text, before);
	if (from_dims)
		kw_buf_addz(&x->text, kw_intexpr_text(from_dims));
	else
		kw_buf_printf(&x->text, "%g", plain);
}

/* "normal", "integers from 0 to classes - 1": targets and weights are not to be guessed. */
static void distribution(struct filler *x, const struct kw_tensor_decl *d)
{
	bool normal = d->dist == KW_DIST_NORMAL;

	kw_buf_printf(&x->text, ", filled %s", kw_dist_name(d->dist));
	if (!d->has_range)
		return;
	bound(x, normal ? " of mean " : d->dist == KW_DIST_BERNOULLI ? " of probability " : " from ", d->range_lo_int, d->range_lo);
	if (d->dist != KW_DIST_BERNOULLI)
		bound(x, normal ? " and deviation " : " to ", d->range_hi_int, d->range_hi);
}

static void tensor(struct filler *x, const char *what, const struct kw_tensor_decl *d)
{
	kw_buf_printf(&x->text, "- %s `%s`: %s[", what, d->name, kw_dtype_name(d->dtype));
	for (int i = 0; i < d->rank; i++)
		kw_buf_printf(&x->text, "%s%s", i ? ", " : "", kw_intexpr_text(d->shape[i]));
	kw_buf_addz(&x->text, d->has_strides ? "], strides [" : d->contiguous == KW_CONTIGUOUS_NEVER_SURE ? "], any strides" : "], row-major");
	for (int i = 0; i < d->rank && d->has_strides; i++)
		kw_buf_printf(&x->text, "%s%s%s", i ? ", " : "", kw_intexpr_text(d->stride[i]), i == d->rank - 1 ? "]" : "");
	if (d->align_bytes)
		kw_buf_printf(&x->text, ", aligned to %lld bytes", (long long)d->align_bytes);
	if (what[0] == 'i')
		distribution(x, d);
	if (what[0] == 'i' && d->inout)
		kw_buf_addz(&x->text, ", updated in place: pass it, not the output");
	if (d->compare == KW_COMPARE_DISTRIBUTION)
		kw_buf_addz(&x->text, ", random: compared by its distribution");
	kw_buf_addc(&x->text, '\n');
}

static enum kw_status fill_tensors(struct filler *x)
{
	const struct kw_task *t = x->f->task;

	for (size_t i = 0; t && i < t->input_count; i++)
		tensor(x, "input", &t->inputs[i]);
	for (size_t i = 0; t && i < t->output_count; i++)
		tensor(x, "output", &t->outputs[i]);
	for (size_t i = 0; t && i < t->param_count; i++)
		kw_buf_printf(&x->text, "- param `%s`: %s, here %g\n", t->params[i].name, kw_dtype_name(t->params[i].dtype),
			      t->params[i].value);
	if (t)
		kw_buf_addz(&x->text, "The last axis is contiguous unless strides are passed. Every element of an output must be "
				      "written, whatever is in it before.\n");
	return add_text(x, "tensors");
}

static void cost_of(struct filler *x, const struct kw_case *c)
{
	struct kw_bound *b;
	struct kw_cost cost;
	char bytes[40];

	if (!x->f->expr || kw_expr_bind(x->f->expr, c, x->arena, &b, NULL) != KW_OK)
		return;
	kw_expr_cost(b, &cost);
	kw_human_bytes(cost.bytes_read + cost.bytes_written, bytes, sizeof(bytes));
	kw_buf_printf(&x->text, " (%.4g flops, at least %s to move)", cost.flops, bytes);
}

static enum kw_status fill_cases(struct filler *x)
{
	const struct kw_task *t = x->f->task;
	enum kw_status status;
	int shown = 0;

	for (size_t i = 0; t && i < t->dim_count; i++)
		kw_buf_printf(&x->text, "- `%s` from %lld to %lld in steps of %lld\n", t->dims[i].name, (long long)t->dims[i].min,
			      (long long)t->dims[i].max, (long long)(t->dims[i].multiple > 1 ? t->dims[i].multiple : 1));
	if (!t)
		return KW_OK;
	kw_buf_addz(&x->text, "\nTimed:\n");
	for (size_t i = 0; i < t->case_count; i++)
		if (t->cases[i].perf && !t->cases[i].large) {
			kw_buf_printf(&x->text, "- %s", t->cases[i].label);
			cost_of(x, &t->cases[i]);
			kw_buf_addc(&x->text, '\n');
		}
	status = add_text(x, "timed cases");
	if (status != KW_OK)
		return status;
	kw_buf_addz(&x->text, "Checked only (strided ones only if strides are passed), and sizes of these ranges that nobody has "
			      "seen:\n");
	for (size_t i = 0; i < t->case_count && shown < CHECKS_SHOWN; i++)
		if (!t->cases[i].perf && !t->cases[i].large) {
			kw_buf_printf(&x->text, "%s%s", shown ? "; " : "- ", t->cases[i].label);
			shown++;
		}
	kw_buf_addc(&x->text, '\n');
	return add_text(x, "checked cases");
}

static enum kw_status fill_goal(struct filler *x)
{
	const struct kw_task *t = x->f->task;

	if (!t)
		return KW_OK;
	if (t->tol_rel >= 0)
		kw_buf_printf(&x->text, "Right: within %g relative and %g absolute. ", t->tol_rel, t->tol_abs > 0 ? t->tol_abs : 0.0);
	else
		kw_buf_addz(&x->text, "Right: about as close to the reference as a plain kernel that accumulates in f32. ");
	kw_buf_printf(&x->text, "NaN and Inf exactly where the reference has them. Lower precision inside is %s. ",
		      t->allow_tf32 || t->allow_precision ? "allowed where the task says so" : "not allowed");
	kw_buf_addz(&x->text, "Measured: the median time of a call with cold caches, against naive and library baselines, and as a "
			      "share of the speed of light: the time that this machine needs to move the compulsory bytes or do "
			      "the arithmetic.");
	if (t->goal.speedup > 0)
		kw_buf_printf(&x->text, " The goal is %gx the best baseline.", t->goal.speedup);
	if (t->goal.sol > 0)
		kw_buf_printf(&x->text, " The goal is %g of the speed of light.", t->goal.sol);
	return add_text(x, "goal");
}

static void size_line(struct filler *x, const char *what, int64_t bytes)
{
	char text[40];

	if (bytes > 0)
		kw_buf_printf(&x->text, "- %s: %s\n", what, kw_human_bytes((double)bytes, text, sizeof(text)));
}

static void count_line(struct filler *x, const char *what, int64_t n)
{
	if (n > 0)
		kw_buf_printf(&x->text, "- %s: %lld\n", what, (long long)n);
}

static void rate_line(struct filler *x, const char *what, double per_s, const char *unit)
{
	char text[40];

	if (per_s > 0)
		kw_buf_printf(&x->text, "- %s: %s\n", what, kw_human_rate(per_s, unit, text, sizeof(text)));
}

static enum kw_status fill_device(struct filler *x)
{
	const struct kw_hardware *h = x->f->hardware;

	if (!h)
		return KW_OK;
	kw_buf_printf(&x->text, "%s%s%s\n", h->name, h->arch[0] ? ", " : "", h->arch);
	count_line(x, h->limits.warp_size ? "multiprocessors" : "cores", h->units);
	count_line(x, "bytes in a vector register", h->simd_bytes);
	size_line(x, "L1 data cache", h->l1d_bytes);
	size_line(x, "L2 cache", h->l2_bytes);
	size_line(x, "last-level cache", h->last_level_cache_bytes);
	size_line(x, "memory", h->memory_bytes);
	rate_line(x, "memory bandwidth", h->memory_bytes_per_s, "B/s");
	rate_line(x, "f32 arithmetic", h->flops_f32, "flop/s");
	rate_line(x, "f64 arithmetic", h->flops_f64, "flop/s");
	for (int i = 0; i < KW_RATE_COUNT; i++)
		if (i != KW_RATE_F32 && i != KW_RATE_F64) /* told above */
			rate_line(x, kw_rate_name((enum kw_rate)i), h->rates[i], "flop/s");
	count_line(x, "threads in a warp", h->limits.warp_size);
	count_line(x, "threads in a block at most", h->limits.threads_per_block);
	count_line(x, "threads on a multiprocessor at most", h->limits.threads_per_unit);
	count_line(x, "blocks on a multiprocessor at most", h->limits.blocks_per_unit);
	count_line(x, "registers of a multiprocessor", h->limits.registers_per_unit);
	count_line(x, "registers of a thread at most", h->limits.registers_per_thread);
	size_line(x, "shared memory of a block at most", h->limits.smem_per_block_bytes);
	size_line(x, "shared memory of a multiprocessor", h->limits.smem_per_unit_bytes);
	return add_text(x, "device");
}

static enum kw_status add_source(struct filler *x, const char *source, const char *label)
{
	if (!source)
		return KW_OK;
	kw_buf_printf(&x->text, "```\n%s%s```\n", source, source[0] && source[strlen(source) - 1] == '\n' ? "" : "\n");
	return add_text(x, label);
}

static enum kw_status fill_verdict(struct filler *x)
{
	const struct kw_verdict *v = x->f->parent_verdict;
	char a[40], b[40];

	if (!v)
		return KW_OK;
	kw_buf_printf(&x->text, "%s%s%s%s%s\n", kw_verdict_name(v->cls), v->subclass == KW_S_NONE ? "" : "/",
		      kw_subclass_name(v->subclass), v->tune && v->tune[0] ? " at " : "", v->tune ? v->tune : "");
	for (size_t i = 0; i < v->case_count; i++) {
		const struct kw_case_result *c = &v->cases[i];
		const struct kw_baseline_time *best = kw_case_best_baseline(c);

		if (!c->has_times)
			continue;
		kw_buf_printf(&x->text, "- %s: %s", c->label, kw_human_ns(c->times.median_ns, a, sizeof(a)));
		if (best)
			kw_buf_printf(&x->text, "; %s takes %s: %.3gx", best->name, kw_human_ns(best->times.median_ns, b, sizeof(b)),
				      best->speedup);
		if (c->sol > 0)
			kw_buf_printf(&x->text, "; %.0f%% of the speed of light, bound by %s", 100 * c->sol,
				      c->sol_bound ? c->sol_bound : "?");
		kw_buf_addc(&x->text, '\n');
	}
	for (size_t i = 0; i < v->flag_count; i++)
		kw_buf_printf(&x->text, "- remark: %s\n", v->flags[i]);
	return add_text(x, "verdict");
}

static enum kw_status fill_findings(struct filler *x)
{
	enum kw_status status = KW_OK;

	for (size_t i = 0; i < x->f->finding_count && status == KW_OK; i++) {
		const struct kw_finding *f = &x->f->findings[i];
		const struct kw_directive *d = &f->directive;
		char gain[40];

		kw_buf_printf(&x->text, "%zu. [%s] %s", i + 1, f->id, f->sentence ? f->sentence : "");
		if (f->gain_ns > 0)
			kw_buf_printf(&x->text, " Up to %s can be given back.", kw_human_ns(f->gain_ns, gain, sizeof(gain)));
		if (d->text)
			kw_buf_printf(&x->text, " To do: %s", d->text);
		if (d->prediction.metric && d->prediction.factor_high > 0)
			kw_buf_printf(&x->text, " Expected: %s times %.2g to %.2g.", d->prediction.metric, d->prediction.factor_low,
				      d->prediction.factor_high);
		if (d->wrong_when && d->wrong_when[0])
			kw_buf_printf(&x->text, " Wrong when: %s", d->wrong_when);
		status = add_text(x, f->id ? f->id : "finding");
	}
	return status;
}

static enum kw_status fill_history(struct filler *x)
{
	enum kw_status status = KW_OK;

	for (size_t i = x->f->history_count; i-- > 0 && status == KW_OK && x->out->count < KW_PART_ITEMS_MAX;) {
		kw_buf_printf(&x->text, "- %s", x->f->history[i]);
		status = add_text(x, kw_arena_printf(x->arena, "attempt %zu of this run", i + 1));
	}
	return status;
}

/* A kernel that won on an earlier task of this family, in this language; of several the one with this dtype, then the newest. */
static enum kw_status add_earlier(struct filler *x)
{
	const struct kw_task *t = x->f->task;
	const char *dtype = t->input_count ? kw_dtype_name(t->inputs[0].dtype) : "";
	struct kw_memory_row r;
	bool found = false;
	enum kw_status status = kw_store_memory_kernel(x->f->memory, family(x), x->f->backend ? x->f->backend : "c", dtype, x->arena, &r, &found,
						       x->err);

	if (status != KW_OK || !found)
		return status;
	kw_buf_printf(&x->text, "### what won on the task %s (%s, %s)", r.name, r.dtype, r.device);
	if (r.speedup > 0)
		kw_buf_printf(&x->text, ", %.3gx its best baseline", r.speedup);
	kw_buf_printf(&x->text, "\n```\n%s```\n", r.text);
	return add_text(x, kw_arena_printf(x->arena, "kernel of task %s", r.name));
}

/* Patterns of the same family, in this language. */
static enum kw_status fill_patterns(struct filler *x)
{
	struct kw_pattern *p;
	size_t n = 0;
	enum kw_status status;

	if (!x->f->task)
		return KW_OK;
	status = x->f->memory ? add_earlier(x) : KW_OK;
	if (status == KW_OK)
		status = kw_memory_patterns(x->f->backend, x->arena, &p, &n, x->err);
	for (size_t i = 0; i < n && status == KW_OK && x->out->count < PATTERNS_MAX; i++) {
		if (strcmp(p[i].family, family(x)) != 0)
			continue;
		kw_buf_printf(&x->text, "### %s: %s\n```\n%s```\n", p[i].name, p[i].title, p[i].text);
		status = add_text(x, kw_arena_printf(x->arena, "pattern %s", p[i].name));
	}
	return status;
}

/* What the parent is bound by where it takes longest; NULL: not known. */
static const char *bound_of(const struct kw_verdict *v)
{
	const struct kw_case_result *longest = NULL;

	for (size_t i = 0; v && i < v->case_count; i++)
		if (v->cases[i].has_times && (!longest || v->cases[i].times.median_ns > longest->times.median_ns))
			longest = &v->cases[i];
	return longest ? longest->sol_bound : NULL;
}

/* Of this family first on this device; failures are said to be such. */
static enum kw_status fill_memory(struct filler *x)
{
	const struct kw_task *t = x->f->task;
	struct kw_memory_about about = { .device = x->f->hardware ? x->f->hardware->name : "", .bound = bound_of(x->f->parent_verdict),
					 .before_ms = x->f->memory_before_ms };
	struct kw_memory_row *rows = NULL;
	size_t n = 0;
	enum kw_status status;

	if (!x->f->memory || !t)
		return KW_OK;
	about.family = family(x);
	about.dtype = t->input_count ? kw_dtype_name(t->inputs[0].dtype) : "";
	status = kw_store_memory_recall(x->f->memory, &about, MEMORIES_MAX, x->arena, &rows, &n, x->err);
	for (size_t i = 0; i < n && status == KW_OK; i++) {
		const struct kw_memory_row *r = &rows[i];
		bool note = strcmp(r->kind, "note") == 0, good = note || strcmp(r->outcome, "ok") == 0;

		kw_buf_printf(&x->text, "- %s%s", good ? "" : "DID NOT WORK: ", r->name);
		if (!note)
			kw_buf_printf(&x->text, " on %s: %s", r->device, r->outcome);
		if (r->speedup > 0)
			kw_buf_printf(&x->text, ", %.3gx the best baseline", r->speedup);
		kw_buf_addz(&x->text, ". ");
		for (const char *c = r->text; *c; c++)
			kw_buf_addc(&x->text, *c == '\n' ? ' ' : *c);
		status = add_text(x, kw_arena_printf(x->arena, "experience %lld", (long long)r->id));
	}
	return status;
}

static enum kw_status fill(struct filler *x, enum kw_placeholder p)
{
	const struct kw_prompt_facts *f = x->f;
	size_t language = language_of(f->backend);

	switch (p) {
	case KW_PLACE_language:
		return add(x, languages[language].language, "language");
	case KW_PLACE_marker:
		return add(x, languages[language].marker, "marker");
	case KW_PLACE_launch:
		return add(x, languages[language].launch, "launch");
	case KW_PLACE_task:
		return fill_task(x);
	case KW_PLACE_tensors:
		return fill_tensors(x);
	case KW_PLACE_cases:
		return fill_cases(x);
	case KW_PLACE_goal:
		return fill_goal(x);
	case KW_PLACE_device:
		return fill_device(x);
	case KW_PLACE_backend:
		return add_file(x, kw_arena_printf(x->arena, "prompts/parts/backend-%s.md", languages[language].backend));
	case KW_PLACE_plan_lines:
		return add_file(x, "prompts/parts/plan-lines.md");
	case KW_PLACE_parent:
		return add_source(x, f->parent ? f->parent->source : NULL, "parent");
	case KW_PLACE_verdict:
		return fill_verdict(x);
	case KW_PLACE_findings:
		return fill_findings(x);
	case KW_PLACE_failed:
		return add_source(x, f->failed_source, "failed");
	case KW_PLACE_failure:
		return add(x, f->failure ? f->failure : "", "failure");
	case KW_PLACE_directive:
		return add(x, f->directive ? f->directive : "", "directive");
	case KW_PLACE_history:
		return fill_history(x);
	case KW_PLACE_patterns:
		return fill_patterns(x);
	case KW_PLACE_memory:
		return fill_memory(x);
	case KW_PLACE_answer_form:
		return add_file(x, f->parent || f->failed_source ? "prompts/parts/answer-edits.md" : "prompts/parts/answer-whole.md");
	case KW_PLACE_words:
		return add(x, f->words ? f->words : "", "words");
	case KW_PLACE_statements:
		return add(x, f->statements ? f->statements : "", "statements");
	case KW_PLACE_division:
		return add(x, f->division ? f->division : "", "division");
	case KW_PLACE_task_language:
		return add_file(x, "prompts/parts/task-language.md");
	default:
		return kw_fail(x->err, KW_ERR_BUG, "", "placeholder %d has no text", (int)p);
	}
}

enum kw_status kw_part_fill(enum kw_placeholder p, const struct kw_prompt_facts *f, struct kw_arena *a, struct kw_part *out,
			    struct kw_error *err)
{
	struct filler x = { .f = f, .arena = a, .out = out, .err = err };
	enum kw_status status;

	*out = (struct kw_part){ .count = 0 };
	kw_buf_init(&x.text, TEXT_MAX_BYTES);
	status = fill(&x, p);
	kw_buf_release(&x.text);
	return status;
}
