/* kwright eval TASK FILE --device SHEET: built and checked, not run. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/eval.h"
#include "report/table.h"

static const char *three(struct kw_arena *a, const int64_t v[3])
{
	if (v[2] != 1)
		return kw_arena_printf(a, "(%lld, %lld, %lld)", (long long)v[0], (long long)v[1],
				       (long long)v[2]);
	if (v[1] != 1)
		return kw_arena_printf(a, "(%lld, %lld)", (long long)v[0], (long long)v[1]);
	return kw_arena_printf(a, "%lld", (long long)v[0]);
}

/* A line a kernel and build: what the compiler says that it needs. */
static void kernels_text(const struct kw_op_build *b, struct kw_arena *a, struct kw_buf *out)
{
	struct kw_table t;

	kw_table_init(&t, a, "<>>>>><");
	kw_table_row(&t, "kernel", "registers", "spilled", "stack", "shared", "block at most", "");
	for (size_t i = 0; i < b->build_count; i++) {
		json_t *kernels = json_object_get(b->builds[i].result.artefact.facts, "kernels"),
		       *one;
		const char *name;

		json_object_foreach(kernels, name, one)
		{
			struct kw_kernel_facts f;

			kw_kernel_facts_get(b->builds[i].result.artefact.facts, name, &f);
			kw_table_row(&t, name, kw_arena_printf(a, "%d", f.registers),
				     kw_arena_printf(
					     a, "%lld",
					     (long long)(f.spill_store_bytes + f.spill_load_bytes)),
				     kw_arena_printf(a, "%lld", (long long)f.stack_bytes),
				     kw_arena_printf(a, "%lld", (long long)f.static_smem_bytes),
				     f.max_threads ? kw_arena_printf(a, "%d", f.max_threads) : "",
				     b->builds[i].defines);
		}
	}
	kw_table_write(&t, "  ", out);
}

/* "; global loads 4 of 128 bits, 1 of 32" */
static void widths_text(const char *what, json_t *counts, struct kw_buf *out)
{
	const char *bits;
	json_t *n;
	bool first = true;

	json_object_foreach(counts, bits, n) {
		kw_buf_printf(out, "%s%s %lld of %s%s", first ? "; " : ",", first ? what : "",
			      (long long)json_integer_value(n), bits, first ? " bits" : "");
		first = false;
	}
}

/* What the machine code is made of, where there is a disassembler. */
static void sass_text(const struct kw_op_build *b, struct kw_buf *out)
{
	static const struct {
		const char *key, *text;
	} counts[] = { { "matrix", "for the matrix units" }, { "fp64", "on doubles" }, { "local", "on local memory" },
		       { "divisions", "integer divisions" } };

	for (size_t i = 0; i < b->build_count; i++) {
		json_t *kernels = json_object_get(b->builds[i].result.artefact.facts, "kernels"), *one, *sass;
		const char *name;

		json_object_foreach(kernels, name, one) {
			sass = json_object_get(b->builds[i].sass, kw_json_get_str(one, "symbol", ""));
			if (!sass)
				continue;
			kw_buf_printf(out, "  %s%s%s%s: %lld instructions", name, *b->builds[i].defines ? " (" : "",
				      b->builds[i].defines, *b->builds[i].defines ? ")" : "",
				      (long long)kw_json_get_i64(sass, "instructions", 0));
			for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
				if (kw_json_get_i64(sass, counts[k].key, 0))
					kw_buf_printf(out, ", %lld %s", (long long)kw_json_get_i64(sass, counts[k].key, 0),
						      counts[k].text);
			widths_text("global loads", json_object_get(sass, "global_loads"), out);
			widths_text("global stores", json_object_get(sass, "global_stores"), out);
			kw_buf_addc(out, '\n');
		}
	}
}

static void cases_text(const struct kw_op_build *b, struct kw_arena *a, struct kw_buf *out)
{
	struct kw_table t;

	kw_table_init(&t, a, "<<>>>>><");
	kw_table_row(&t, "case", "launch", "grid", "block", "smem", "at once", "waves", "");
	for (size_t i = 0; i < b->case_count; i++) {
		const struct kw_op_build_case *c = &b->cases[i];

		for (size_t k = 0; k < c->launch_count; k++) {
			const struct kw_op_launch *l = &c->launches[k];
			const struct kw_occupancy *o = &l->occupancy;
			bool refused =
				c->cls != KW_V_OK && c->why &&
				strncmp(c->why, l->kernel->name, strlen(l->kernel->name)) == 0;

			kw_table_row(&t, k ? "" : c->label, l->kernel->name,
				     three(a, l->kernel->grid), three(a, l->kernel->block),
				     kw_arena_printf(a, "%lld", (long long)l->kernel->smem_bytes),
				     o->blocks ? kw_arena_printf(a, "%d (%.0f%%)", o->blocks,
								 o->share * 100)
					       : "",
				     o->waves > 0 ? kw_arena_printf(a, "%.2f", o->waves) : "",
				     refused	 ? "refused"
				     : o->blocks ? kw_arena_printf(a, "by %s", o->limit)
						 : "");
		}
	}
	kw_table_write(&t, "  ", out);
}

static const char *other_cases(size_t n, char out[40])
{
	out[0] = '\0';
	if (n)
		snprintf(out, 40, " and %zu other case%s", n, n == 1 ? "" : "s");
	return out;
}

/* Cases that were left out, a line a reason. */
static void left_out_text(const struct kw_op_build *b, struct kw_buf *out)
{
	for (size_t i = 0; i < b->case_count; i++) {
		const char *why = b->cases[i].why;
		size_t same = 0;
		char others[40];
		bool first = true;

		if (b->cases[i].cls != KW_V_NOT_APPLICABLE || !why)
			continue;
		for (size_t k = 0; k < b->case_count; k++) {
			if (b->cases[k].cls != KW_V_NOT_APPLICABLE || !b->cases[k].why ||
			    strcmp(b->cases[k].why, why) != 0)
				continue;
			first = first && k >= i;
			same++;
		}
		if (first)
			kw_buf_printf(out, "  does not apply to %s%s: %s\n", b->cases[i].label,
				      other_cases(same - 1, others), why);
	}
}

static void warnings_text(const struct kw_op_build *b, struct kw_buf *out)
{
	const struct kw_artefact *f = b->build_count ? &b->builds[0].result.artefact : NULL;
	int left = 5;

	for (size_t i = 0; f && i < f->diagnostic_count; i++)
		if (f->diagnostics[i].severity == KW_WARNING && left-- > 0)
			kw_buf_printf(out, "  %s:%d: warning: %s\n", f->diagnostics[i].file,
				      f->diagnostics[i].line, f->diagnostics[i].message);
}

static void build_text(const struct kw_op_build *b, struct kw_buf *out)
{
	struct kw_arena a;

	kw_arena_init(&a, 16 << 20);
	if (b->cls == KW_V_OK)
		kw_buf_printf(out, "%s: built for %s (%s) by %s, not run\n", b->candidate.name,
			      b->device.name, b->device.arch,
			      b->builds[0].result.artefact.toolchain);
	else
		kw_buf_printf(out, "%s: %s%s%s%s for %s (%s): %s\n", b->candidate.name,
			      kw_verdict_name(b->cls), *kw_subclass_name(b->subclass) ? " (" : "",
			      kw_subclass_name(b->subclass),
			      *kw_subclass_name(b->subclass) ? ")" : "", b->device.name,
			      b->device.arch, b->summary);
	if (b->cls == KW_V_BUILD_ERROR) {
		kw_buf_addz(out, b->evidence);
	} else if (b->build_count) {
		kernels_text(b, &a, out);
		cases_text(b, &a, out);
		left_out_text(b, out);
		sass_text(b, out);
		warnings_text(b, out);
	}
	kw_arena_release(&a);
}

enum kw_status kw_eval_build(struct kw_cmd *cmd, const struct kw_op_build_opts *o,
			     struct kw_error *err)
{
	struct kw_op_build b;
	struct kw_buf out;
	enum kw_status status = kw_op_build(o, &b, err);

	if (status != KW_OK)
		return status;
	if (cmd->json) {
		status = kw_print_json(kw_op_build_json(&b), err);
	} else {
		kw_buf_init(&out, 16 << 20);
		build_text(&b, &out);
		status = kw_print_buf(&out, err);
	}
	if (status == KW_OK && b.cls != KW_V_OK)
		status = KW_NO;
	kw_op_build_release(&b);
	return status;
}
