/* A task from words: a model drafts it, and every assumption is told. It stays unconfirmed until the user accepts it. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ops/internal.h"

enum { DRAFT_ARENA_BYTES = 256 << 20, ASSUMPTIONS_MAX = 64, TRIES = 2 };

/* Lines that begin with ASSUME:, wherever in the answer. */
static bool take_assumptions(const char *text, struct kw_op_draft *out)
{
	struct kw_str rest = kw_str_from(text), line;

	out->assumption_count = 0;
	while (rest.len && kw_str_split(&rest, '\n', &line) && out->assumption_count < ASSUMPTIONS_MAX) {
		line = kw_str_trim(line);
		while (line.len && strchr("-*> `0123456789.", line.ptr[0]))
			line = (struct kw_str){ line.ptr + 1, line.len - 1 };
		if (!kw_str_starts(line, "ASSUME:"))
			continue;
		out->assumptions[out->assumption_count] =
			kw_arena_str(&out->arena, kw_str_trim((struct kw_str){ line.ptr + 7, line.len - 7 }));
		if (!out->assumptions[out->assumption_count++])
			return false;
	}
	return true;
}

/* The draft with its mark, whatever the model wrote about that itself. */
static const char *marked(const char *source, struct kw_arena *a)
{
	struct kw_str rest = kw_str_from(source), line;
	struct kw_buf b;
	const char *out;

	kw_buf_init(&b, 1 << 20);
	while (rest.len && kw_str_split(&rest, '\n', &line))
		if (!kw_str_starts(line, "unconfirmed:"))
			kw_buf_printf(&b, KW_STR_FMT "\n", KW_STR_ARG(line));
	kw_buf_addz(&b, "unconfirmed: true\n");
	out = b.full ? NULL : kw_arena_str(a, kw_buf_str(&b));
	kw_buf_release(&b);
	return out;
}

/* Whether an answer holds a task; why not otherwise. */
static enum kw_status read_draft(const struct kw_answer *answer, struct kw_op_draft *out, bool *good, char *why, size_t why_bytes,
				 struct kw_error *err)
{
	const struct kw_reply_want want = { .marker = "#@", .entry = "reference:", .language = "a task file" };
	struct kw_op_task t;
	struct kw_reply reply;
	struct kw_error fault;

	*good = false;
	kw_error_reset(&fault);
	kw_reply_read(&want, answer->text, strlen(answer->text), answer->finish, &out->arena, &reply);
	if (reply.kind != KW_REPLY_SOURCE) {
		snprintf(why, why_bytes, "%s", reply.why);
		return KW_OK;
	}
	out->text = marked(reply.source, &out->arena);
	if (!out->text)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a task");
	if (kw_op_task_parse("draft.yaml", out->text, &t, &fault) != KW_OK) {
		if (fault.status == KW_ERR_NOMEM)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a task");
		kw_error_line(&fault, why, why_bytes);
		return KW_OK;
	}
	out->name = kw_arena_strdup(&out->arena, t.task.name);
	kw_op_task_release(&t);
	*good = out->name != NULL;
	return *good && take_assumptions(answer->text, out) ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a task");
}

static enum kw_status ask(struct kw_model *model, const char *words, const struct kw_agent_opts *m, struct kw_op_draft *out,
			  struct kw_error *err)
{
	struct kw_prompt_facts facts = { .words = words };
	struct kw_prompt p;
	char why[800] = "";
	bool good = false;
	enum kw_status status = kw_prompt_make(KW_ROLE_SPECIFIER, &facts, KW_PROMPT_DEFAULT_BYTES, &out->arena, &p, err);

	for (int i = 0; i < TRIES && !good && status == KW_OK; i++) {
		struct kw_ask a = { .role = "specifier", .slot = i ? "specifier/again" : "specifier", .run = "task new", .index = i,
				    .prompt = p.text, .max_tokens = m->max_tokens,
				    .temperature = m->has_role_temperature[KW_ROLE_SPECIFIER] ? m->role_temperature[KW_ROLE_SPECIFIER] : m->temperature };
		struct kw_answer answer;

		if (i)
			a.prompt = kw_arena_printf(&out->arena, "%s\n## Your last answer could not be used\n%s\n", p.text, why);
		if (!a.prompt)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
		status = kw_model_ask(model, &a, &answer, err);
		if (status == KW_OK)
			status = read_draft(&answer, out, &good, why, sizeof(why), err);
		if (status == KW_OK)
			out->model = kw_arena_strdup(&out->arena, answer.model);
		kw_answer_release(&answer);
	}
	if (status == KW_NO)
		return kw_fail(err, KW_ERR_NOT_FOUND, err ? err->where : "", "%s", err ? err->text : "nobody answers");
	if (status == KW_OK && !good)
		status = kw_fail(err, KW_ERR_INPUT, "", "the model gave no task: %s", why);
	return status;
}

enum kw_status kw_op_task_new(const char *words, const char *path, const struct kw_agent_opts *m, struct kw_op_draft *out,
			      struct kw_error *err)
{
	struct kw_provider_opts po = { .base_url = m->base_url, .key_file = m->key_file, .timeout_ns = m->timeout_ns,
				       .retries = m->retries };
	const char *spec = m->role_model[KW_ROLE_SPECIFIER] ? m->role_model[KW_ROLE_SPECIFIER] : m->model;
	struct kw_model *model = NULL;
	enum kw_status status;

	*out = (struct kw_op_draft){ .text = "", .name = "", .model = "" };
	kw_arena_init(&out->arena, DRAFT_ARENA_BYTES);
	out->assumptions = kw_arena_calloc(&out->arena, ASSUMPTIONS_MAX, sizeof(*out->assumptions));
	if (!out->assumptions)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a task");
	if (!kw_op_has_model(m))
		return kw_fail(err, KW_ERR_USAGE, "", "say whom to ask: --model PROVIDER:NAME");
	if (kw_str_trim(kw_str_from(words)).len == 0)
		return kw_fail(err, KW_ERR_USAGE, "", "say in words what the task is");
	if (path && kw_path_exists(path))
		return kw_fail(err, KW_ERR_USAGE, path, "is there already; name another file by --out");
	status = kw_model_open(spec, &po, &model, err);
	if (status == KW_OK)
		status = ask(model, words, m, out, err);
	kw_model_close(model);
	if (status != KW_OK)
		return status;
	out->path = path ? kw_arena_strdup(&out->arena, path) : kw_arena_printf(&out->arena, "%s.yaml", out->name);
	if (!out->path || !out->model)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a task");
	if (kw_path_exists(out->path))
		return kw_fail(err, KW_ERR_USAGE, out->path, "is there already; name another file by --out");
	return kw_file_write(out->path, out->text, strlen(out->text), err);
}

enum kw_status kw_op_task_accept(const char *path, struct kw_error *err)
{
	struct kw_op_task t;
	struct kw_buf text, out;
	struct kw_str rest, line;
	enum kw_status status = kw_op_task_load(path, NULL, 0, &t, err);
	bool was;

	if (status != KW_OK)
		return status;
	was = t.task.unconfirmed;
	kw_op_task_release(&t);
	if (!was)
		return kw_fail(err, KW_ERR_USAGE, path, "this task is no draft; there is nothing to accept");
	if (!kw_path_exists(path))
		return kw_fail(err, KW_ERR_USAGE, path, "give the draft's file");
	kw_buf_init(&text, 1 << 20);
	kw_buf_init(&out, 1 << 20);
	status = kw_file_read(path, 1 << 20, &text, err);
	rest = kw_buf_str(&text);
	while (status == KW_OK && rest.len && kw_str_split(&rest, '\n', &line))
		if (!kw_str_starts(line, "unconfirmed:"))
			kw_buf_printf(&out, KW_STR_FMT "\n", KW_STR_ARG(line));
	if (status == KW_OK && (out.full || text.full))
		status = kw_fail(err, KW_ERR_NOMEM, path, "out of memory for a task");
	if (status == KW_OK)
		status = kw_file_write(path, out.ptr, out.len, err);
	kw_buf_release(&text);
	kw_buf_release(&out);
	return status;
}

void kw_op_draft_release(struct kw_op_draft *d)
{
	kw_arena_release(&d->arena);
	*d = (struct kw_op_draft){ .text = "", .name = "", .model = "" };
}
