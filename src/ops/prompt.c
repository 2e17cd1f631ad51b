/* What a role would be told about a task. */
#include <string.h>

#include "agent/prices.h"
#include "device/device.h"
#include "explain/rule.h"
#include "expr/statements.h"
#include "ops/internal.h"
#include "search/split.h"

enum { PROMPT_ARENA_BYTES = 512 << 20 };

static enum kw_status find_hardware(const struct kw_op_prompt_opts *o, const struct kw_backend *b, struct kw_arena *a,
				    struct kw_hardware *out, struct kw_error *err)
{
	struct kw_device *d;
	enum kw_status status;

	if (o->device)
		return kw_hardware_load(o->device, a, out, err);
	status = kw_device_open(b->device, &d, err);
	if (status != KW_OK)
		return status;
	kw_device_told(d, KW_MEASURE_ONCE, out);
	kw_device_close(d);
	return KW_OK;
}

/* The kernel that it starts from; the debugger is told that it was refused. */
static enum kw_status load_parent(const struct kw_op_prompt_opts *o, enum kw_role role, const struct kw_op_task *t,
				  const struct kw_backend *b, struct kw_arena *a, struct kw_candidate *c,
				  struct kw_prompt_facts *f, struct kw_error *err)
{
	enum kw_status status;

	if (!o->from)
		return KW_OK;
	status = kw_op_kernel_load(c, o->from, b->name, &t->task, a, err);
	if (role == KW_ROLE_DEBUGGER) {
		f->failed_source = c->source;
		f->failure = "(the judge's evidence stands here)";
	} else {
		f->parent = c;
	}
	return status;
}

/* What the tuner found of it earlier, on this kind of machine. */
static enum kw_status add_finding(struct kw_arena *a, struct kw_finding *out, struct kw_prompt_facts *f, struct kw_error *err)
{
	struct kw_rule *rules = NULL;
	size_t count = 0;
	bool found = false;
	enum kw_status status;

	if (!f->parent || !f->memory)
		return KW_OK;
	status = kw_rules_load(a, &rules, &count, err);
	if (status == KW_OK)
		status = kw_split_finding(f->memory, kw_split_key(f->parent, f->hardware, a), rules, count, 0, a, out, &found, err);
	kw_rules_release(rules, count);
	f->findings = found ? out : NULL;
	f->finding_count = found;
	return status;
}

/* What the manager divides. */
static enum kw_status show_statements(const struct kw_op_task *t, struct kw_arena *a, struct kw_prompt_facts *f, struct kw_error *err)
{
	struct kw_statements s;
	int part[KW_STATEMENTS_MAX];
	size_t count;
	enum kw_status status = kw_expr_statements(&t->task, a, &s, err);

	if (status == KW_NO)
		return kw_fail(err, KW_ERR_USAGE, err ? err->where : "", "there is nothing to ask a manager: %s", err ? err->text : "");
	if (status != KW_OK)
		return status;
	kw_statements_divide(&s, part, &count);
	f->statements = kw_statements_text(&s, a);
	f->division = kw_division_text(&s, part, count, a);
	return f->statements && f->division ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
}

static enum kw_status make(const struct kw_op_prompt_opts *o, enum kw_role role, const struct kw_backend *b, struct kw_op_task *t,
			   struct kw_op_prompt *out, struct kw_error *err)
{
	struct kw_prompt_facts f = { .task = &t->task, .expr = t->expr, .backend = b->name };
	struct kw_hardware hardware;
	struct kw_candidate c;
	struct kw_finding finding;
	enum kw_status status = find_hardware(o, b, &out->arena, &hardware, err);

	f.hardware = &hardware;
	if (status == KW_OK)
		status = load_parent(o, role, t, b, &out->arena, &c, &f, err);
	if (status == KW_OK && role == KW_ROLE_MANAGER)
		status = show_statements(t, &out->arena, &f, err);
	if (status == KW_OK)
		f.memory = kw_op_memory();
	if (status == KW_OK)
		status = add_finding(&out->arena, &finding, &f, err);
	if (status == KW_OK)
		status = kw_prompt_make(role, &f, o->max_bytes ? o->max_bytes : KW_PROMPT_DEFAULT_BYTES, &out->arena, &out->prompt,
					err);
	kw_store_close(f.memory);
	return status;
}

enum kw_status kw_op_prompt(const struct kw_op_prompt_opts *o, struct kw_op_prompt *out, struct kw_error *err)
{
	const struct kw_backend *b = NULL;
	struct kw_op_task t = { 0 };
	enum kw_role role;
	enum kw_status status = kw_role_parse(o->role, &role, err);

	*out = (struct kw_op_prompt){ .prompt = { .text = "" } };
	kw_arena_init(&out->arena, PROMPT_ARENA_BYTES);
	if (status == KW_OK)
		status = kw_op_backend(o->backend ? o->backend : "c", &b, err);
	if (status == KW_OK)
		status = kw_op_task_load(o->task, o->inputs, o->input_count, &t, err);
	if (status == KW_OK)
		status = make(o, role, b, &t, out, err);
	kw_op_task_release(&t);
	return status;
}

void kw_op_prompt_release(struct kw_op_prompt *p)
{
	kw_arena_release(&p->arena);
	*p = (struct kw_op_prompt){ .prompt = { .text = "" } };
}

static enum kw_status ask(const struct kw_op_prompt_opts *o, enum kw_role role, const char *prompt, const struct kw_agent_opts *m,
			  struct kw_op_ask *out, struct kw_error *err)
{
	struct kw_provider_opts po = { .base_url = m->base_url, .key_file = m->key_file, .timeout_ns = m->timeout_ns, .retries = m->retries };
	struct kw_ask a = { .role = o->role, .slot = o->role, .run = "prompt ask", .prompt = prompt, .max_tokens = m->max_tokens,
			    .temperature = m->has_role_temperature[role] ? m->role_temperature[role] : m->temperature };
	struct kw_reply_want want = { .marker = kw_prompt_marker(o->backend), .language = kw_prompt_language(o->backend) };
	struct kw_prices prices;
	const struct kw_price *price;
	struct kw_model *model;
	enum kw_status status = kw_model_open(m->role_model[role] ? m->role_model[role] : m->model, &po, &model, err);

	if (status != KW_OK)
		return status;
	status = kw_model_ask(model, &a, &out->answer, err);
	if (status == KW_OK)
		status = kw_prices_load(&out->arena, &prices, err);
	price = status == KW_OK ? kw_price_of_call(&prices, model, out->answer.model) : NULL;
	kw_model_close(model);
	if (status != KW_OK)
		return status;
	out->priced = price != NULL;
	out->cost_usd = kw_price_cost(price, out->answer.tokens_in, out->answer.tokens_out);
	out->has_reply = role == KW_ROLE_CODER || role == KW_ROLE_DEBUGGER;
	if (out->has_reply)
		kw_reply_read(&want, out->answer.text, strlen(out->answer.text), out->answer.finish, &out->arena, &out->reply);
	return KW_OK;
}

enum kw_status kw_op_ask(const struct kw_op_prompt_opts *o, const struct kw_agent_opts *m, struct kw_op_ask *out,
			 struct kw_error *err)
{
	struct kw_op_prompt p;
	enum kw_role role;
	enum kw_status status;

	*out = (struct kw_op_ask){ .answer = { .text = "", .reasoning = "", .model = "", .note = "" } };
	kw_arena_init(&out->arena, PROMPT_ARENA_BYTES);
	if (!kw_op_has_model(m))
		return kw_fail(err, KW_ERR_USAGE, "", "say whom to ask: --model PROVIDER:NAME");
	status = kw_role_parse(o->role, &role, err);
	if (status != KW_OK)
		return status;
	status = kw_op_prompt(o, &p, err);
	if (status == KW_OK)
		status = ask(o, role, p.prompt.text, m, out, err);
	kw_op_prompt_release(&p);
	return status == KW_NO ? kw_fail(err, KW_ERR_NOT_FOUND, err ? err->where : "", "%s", err ? err->text : "nobody answers") : status;
}

void kw_op_ask_release(struct kw_op_ask *r)
{
	kw_answer_release(&r->answer);
	kw_arena_release(&r->arena);
	*r = (struct kw_op_ask){ .answer = { .text = "", .reasoning = "", .model = "", .note = "" } };
}
