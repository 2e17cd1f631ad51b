/* kwright doctor */
#include <stdio.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "report/table.h"

struct own {
	bool measure;
};

static void show_ceiling(const char *what)
{
	kw_progress("measuring the ceiling: %s", what);
}

static const char *const healths[] = { "", "ok", "missing", "BAD" };

static enum kw_status print_facts(struct kw_op_doctor *d, struct kw_error *err)
{
	struct kw_table t;
	struct kw_buf out;
	const char *part = "";

	kw_buf_init(&out, 4 << 20);
	kw_table_init(&t, &d->arena, "<<<<");
	for (size_t i = 0; i < d->count; i++) {
		const struct kw_op_fact *f = &d->facts[i];

		kw_table_row(&t, f->part == part ? "" : f->part, f->name, healths[f->health], f->text);
		part = f->part;
	}
	kw_table_write(&t, "", &out);
	kw_buf_addz(&out, d->healthy ? "everything that this version needs works here\n"
				     : "something that this version needs does not work here: see BAD\n");
	return kw_print_buf(&out, err);
}

static json_t *facts_json(const struct kw_op_doctor *d)
{
	static const char *const words[] = { "info", "ok", "missing", "bad" };
	json_t *list = json_array();

	for (size_t i = 0; list && i < d->count; i++) {
		const struct kw_op_fact *f = &d->facts[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "part", f->part, "name", f->name,
						      "health", words[f->health], "text", f->text));
	}
	return json_pack("{s:b, s:o}", "healthy", d->healthy, "facts", list);
}

enum kw_status kw_cmd_doctor(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const struct kw_option options[] = {
		{ "measure", KW_OPT_FLAG, offsetof(struct own, measure), NULL,
		  "measure the machine's ceilings anew, which takes seconds" },
	};
	static const struct kw_syntax syntax = {
		"doctor", "", 0, 0,
		"What this machine is, and what works on it, as found by trying: compilers, the sandbox of a player that\n"
		"is really started, files, ceilings.\n"
		"Exit code 0: all that is needed works. 3: something does not.",
		"kwright doctor --measure", options, 1, false
	};
	struct own own = { 0 };
	struct kw_op_doctor d;
	bool healthy;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	status = kw_op_doctor(&cmd->env, own.measure, show_ceiling, &d, err);
	healthy = d.healthy;
	if (status == KW_OK)
		status = cmd->json ? kw_print_json(facts_json(&d), err) : print_facts(&d, err);
	kw_op_doctor_release(&d);
	if (status == KW_OK && !healthy)
		status = kw_fail(err, KW_ERR_ENV, "", "something that kwright needs does not work on this machine");
	return status;
}
