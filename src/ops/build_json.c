/* The answer of a build without a run, as JSON (docs/commands.md). */
#include "ops/ops.h"

static json_t *three(const int64_t v[3])
{
	return json_pack("[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

static json_t *launch_json(const struct kw_op_launch *l)
{
	const struct kw_occupancy *o = &l->occupancy;
	json_t *occupancy = o->blocks ? json_pack("{s:i,s:o,s:s,s:o}", "blocks", o->blocks, "share",
						  kw_json_real(o->share), "limit", o->limit,
						  "waves", kw_json_real(o->waves))
				      : json_null();

	return json_pack("{s:s,s:o,s:o,s:o,s:I,s:b,s:b,s:o}", "kernel", l->kernel->name, "grid",
			 three(l->kernel->grid), "block", three(l->kernel->block), "cluster",
			 three(l->cluster), "smem_bytes", (json_int_t)l->kernel->smem_bytes,
			 "cooperative", l->kernel->cooperative, "pdl", l->kernel->pdl, "occupancy",
			 occupancy);
}

/* An array of what fn makes of each; NULL when one of them could not be made. */
static json_t *list_of(size_t count, json_t *(*fn)(const struct kw_op_build *b, size_t i),
		       const struct kw_op_build *b)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		if (json_array_append_new(list, fn(b, i)) != 0) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static json_t *case_json(const struct kw_op_build *b, size_t i)
{
	const struct kw_op_build_case *c = &b->cases[i];
	json_t *launches = json_array();

	for (size_t k = 0; launches && k < c->launch_count; k++)
		if (json_array_append_new(launches, launch_json(&c->launches[k])) != 0) {
			json_decref(launches);
			return NULL;
		}
	return json_pack("{s:s,s:b,s:s?,s:s,s:s?,s:i,s:o}", "case", c->label, "perf", c->perf,
			 "verdict", c->cls == KW_V_OK ? NULL : kw_verdict_name(c->cls), "subclass",
			 kw_subclass_name(c->subclass), "why", c->why, "build", c->build,
			 "launches", launches);
}

static json_t *build_json(const struct kw_op_build *b, size_t i)
{
	const struct kw_artefact *a = &b->builds[i].result.artefact;
	json_t *messages = json_array();

	for (size_t k = 0; messages && k < a->diagnostic_count; k++) {
		const struct kw_diagnostic *d = &a->diagnostics[k];

		if (json_array_append_new(messages,
					  json_pack("{s:s,s:s,s:i,s:i,s:s}", "severity",
						    d->severity == KW_ERROR	? "error"
						    : d->severity == KW_WARNING ? "warning"
										: "note",
						    "file", d->file, "line", d->line, "column",
						    d->column, "message", d->message)) != 0) {
			json_decref(messages);
			return NULL;
		}
	}
	return json_pack("{s:s,s:b,s:I,s:I,s:O?,s:O?,s:o}", "defines", b->builds[i].defines, "cached",
			 a->cached, "build_ns", (json_int_t)a->build_ns, "code_bytes",
			 (json_int_t)a->code_bytes, "facts", a->facts, "sass", b->builds[i].sass, "messages",
			 messages);
}

json_t *kw_op_build_json(const struct kw_op_build *b)
{
	bool built = b->cls != KW_V_BUILD_ERROR && b->build_count > 0;

	return json_pack(
		"{s:b,s:b,s:s?,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:[],s:n}", "built",
		built, "run", 0, "verdict", b->cls == KW_V_OK ? NULL : kw_verdict_name(b->cls),
		"subclass", kw_subclass_name(b->subclass), "summary", b->summary, "evidence",
		b->evidence, "name", b->candidate.name, "candidate", b->candidate.sha256, "task",
		b->task_name, "backend", b->candidate.backend, "toolchain",
		b->build_count ? b->builds[0].result.artefact.toolchain : "", "device",
		kw_hardware_to_json(&b->device), "builds", list_of(b->build_count, build_json, b),
		"cases", list_of(b->case_count, case_json, b), "findings", "record");
}
