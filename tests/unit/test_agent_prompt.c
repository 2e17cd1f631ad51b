/* Prompts: placeholders are documented, sections live by their parts, the least useful go first. */
#include "tap.h"
#include "temp.h"

#include "agent/prices.h"
#include "agent/prompt.h"

static struct kw_arena arena;
static struct kw_error err;

static void test_documented(void)
{
	const char *top = getenv("KW_TOP"), *name, *meaning;
	char *docs = NULL;
	int worth;

	kw_file_read_arena(kw_arena_printf(&arena, "%s/docs/prompts.md", top ? top : "."), 1 << 20, &arena, &docs, NULL, &err);
	ok(docs != NULL, "docs/prompts.md is there");
	for (size_t i = 0; docs && kw_prompt_placeholder(i, &name, &worth, &meaning); i++)
		has_str(docs, kw_arena_printf(&arena, "| `{{%s}}` | %d | %s |", name, worth, meaning), "{{%s}} is told as it is", name);
	for (int r = 0; docs && r < KW_ROLE_COUNT; r++)
		has_str(docs, kw_arena_printf(&arena, "| `%s` |", kw_role_name((enum kw_role)r)), "role %s is told", kw_role_name((enum kw_role)r));
}

static void load_task(struct kw_task *t, struct kw_expr **e)
{
	if (kw_task_load(t, "softmax", &err) != KW_OK || kw_expr_parse(t, &arena, e, &err) != KW_OK)
		diag("%s", err.text);
}

static void test_parts(void)
{
	struct kw_task t;
	struct kw_expr *e = NULL;
	struct kw_finding findings[2] = {
		{ .id = "uncoalesced", .sentence = "Loads are 4 bytes wide.", .gain_ns = 2000,
		  .directive = { .text = "Load 16 bytes.", .wrong_when = "rows are short", .prediction = { "time", 0.7, 0.8 } } },
		{ .id = "tail", .sentence = "The last wave is half empty." } };
	const char *history[] = { "round 1: first", "round 2: second" };
	struct kw_prompt_facts f = { .backend = "c", .directive = "Load 16 bytes.", .findings = findings, .finding_count = 2,
				     .history = history, .history_count = 2 };
	struct kw_prompt p, q;

	load_task(&t, &e);
	f.task = &t;
	f.expr = e;
	is_int(kw_prompt_make(KW_ROLE_CODER, &f, 1 << 20, &arena, &p, &err), KW_OK, "a prompt");
	has_str(p.text, "] Loads are 4 bytes wide. Up to 2", "a finding with what it can give back");
	has_str(p.text, "To do: Load 16 bytes. Expected: time times 0.7 to 0.8. Wrong when: rows are short", "its directive and prediction");
	has_str(p.text, "- round 2: second\n- round 1: first", "what was tried, the newest first");
	has_str(p.text, "## The change to make now\nLoad 16 bytes.\n", "the directive");
	ok(!strstr(p.text, "The kernel so far") && !strstr(p.text, "The machine"), "a section without content is left out");
	is_int(p.dropped_count, 0, "nothing is left out");
	is_int(kw_prompt_make(KW_ROLE_CODER, &f, p.len - 1, &arena, &q, &err), KW_OK, "one byte too long");
	ok(q.len < p.len && q.dropped_count == 1, "one item goes");
	has_str(q.dropped[0], "pattern", "the least useful: a pattern");
	is_int(kw_prompt_make(KW_ROLE_CODER, &f, 9000, &arena, &q, &err), KW_OK, "far too long");
	ok(q.len <= 9000, "it keeps to the limit");
	is_str(q.dropped[q.dropped_count - 1], strstr(q.text, "round 1: first") ? q.dropped[q.dropped_count - 1] : "attempt 1 of this run",
	       "the oldest attempt goes before the newest");
	has_str(q.text, "y = softmax(x, axis=-1)", "the task stays");
	has_str(q.text, "- `softmax`: exp(x) / sum(exp(x)) along an axis", "and what its function computes");
	is_int(kw_prompt_make(KW_ROLE_CODER, &f, 100, &arena, &q, &err), KW_ERR_LIMIT, "what must be told is longer than the limit");
	kw_task_release(&t);
}

static void test_roles(void)
{
	struct kw_task t;
	struct kw_expr *e = NULL;
	struct kw_prompt_facts f = { .backend = "opencl" };
	struct kw_prompt p;

	load_task(&t, &e);
	f.task = &t;
	f.expr = e;
	for (int r = 0; r < KW_ROLE_COUNT; r++) {
		is_int(kw_prompt_make((enum kw_role)r, &f, 1 << 20, &arena, &p, &err), KW_OK, "%s has a prompt", kw_role_name((enum kw_role)r));
		ok(!strstr(p.text, "{{"), "all of it is filled in");
	}
	kw_task_release(&t);
}

/* A model that does not know what targets are has to guess. */
static void test_inputs(void)
{
	static const char text[] =
		"name: t\ndims: { n: { min: 1, max: 64 }, k: { min: 2, max: 9 } }\ninputs:\n"
		"  x: { dtype: f32, shape: [n], dist: normal, range: [1, 0.5] }\n"
		"  i: { dtype: i64, shape: [n], dist: integers, range: [0, k - 1] }\n"
		"  m: { dtype: bool, shape: [n], dist: bernoulli, range: [0.3, 0.3] }\n"
		"outputs:\n  y: { dtype: f32, shape: [n] }\nreference:\n  expr: |\n    y = where(m, x, 0) + i * k\nperf: [ { n: 64, k: 3 } ]\n";
	struct kw_task t;
	struct kw_expr *e = NULL;
	struct kw_prompt_facts f = { .backend = "c" };
	struct kw_prompt p;

	is_int(kw_task_parse_yaml(&t, "t.yaml", text, strlen(text), &err), KW_OK, "a task with ranges: %s", err.text);
	is_int(kw_expr_parse(&t, &arena, &e, &err), KW_OK, "its expression");
	f.task = &t;
	f.expr = e;
	is_int(kw_prompt_make(KW_ROLE_CODER, &f, 1 << 20, &arena, &p, &err), KW_OK, "its prompt");
	has_str(p.text, "filled normal of mean 1 and deviation 0.5", "a mean and a deviation");
	has_str(p.text, "filled integers from 0 to k - 1", "a bound of dims");
	has_str(p.text, "filled bernoulli of probability 0.3", "a probability");
	kw_task_release(&t);
}

static void test_prices_of_calls(const struct kw_prices *p)
{
	struct kw_provider_opts o = { .base_url = "http://127.0.0.1:9", .retries = -1 };
	struct kw_model *m;

	is_int(kw_model_open("openai:big", &o, &m, &err), KW_OK, "a service");
	is_str(kw_price_of_call(p, m, "big-mini")->model, "big-mini", "an answer is priced by the model that it names");
	is_str(kw_price_of_call(p, m, "some-alias")->model, "big", "else by the one that was asked");
	kw_model_close(m);
	is_int(kw_model_open("exec:/opt/big", NULL, &m, &err), KW_OK, "a command");
	ok(kw_price_of_call(p, m, "exec:/opt/big") == NULL, "a command that is called like a model has no price");
	kw_model_close(m);
}

static void test_prices(void)
{
	static const char text[] = "prices:\n  - { model: big, in: 10, out: 20 }\n  - { model: big-mini, in: 1, out: 2 }\n";
	struct kw_prices p;

	is_int(kw_prices_parse("p.yaml", text, strlen(text), &arena, &p, &err), KW_OK, "prices");
	is_str(kw_price_of(&p, "big-mini-2026")->model, "big-mini", "the longest name that fits");
	is_str(kw_price_of(&p, "maker/big-2")->model, "big", "behind a maker's name too");
	ok(kw_price_of(&p, "small") == NULL, "or none");
	ok(kw_price_of(&p, "big.4") == NULL && kw_price_of(&p, "bigger") == NULL, "another model's name may begin so");
	ok(kw_price_cost(kw_price_of(&p, "big"), 1000000, 500000) == 20.0, "a million in, half a million out");
	test_prices_of_calls(&p);
	is_int(kw_prices_parse("p.yaml", "prices:\n  - { model: big, in: -1, out: 2 }\n", 42, &arena, &p, &err), KW_ERR_INPUT, "less than 0");
	is_int(kw_prices_parse("p.yaml", "prices: 1\n", 10, &arena, &p, &err), KW_ERR_INPUT, "no list");
	is_int(kw_prices_load(&arena, &p, &err), KW_OK, "the built-in table can be read");
	ok(p.count > 5, "and has rows");
}

/* 0: a prompt; 1: told that memory is out; anything else is a fault. */
static int make_one(void *arg)
{
	const struct kw_prompt_facts *f = arg;
	struct kw_arena a;
	struct kw_prompt p;
	enum kw_status status;

	kw_arena_init(&a, 64 << 20);
	kw_error_reset(&err);
	status = kw_prompt_make(KW_ROLE_CODER, f, 9000, &a, &p, &err);
	kw_arena_release(&a);
	return status == KW_OK ? 0 : status == KW_ERR_NOMEM && err.text[0] ? 1 : 2;
}

static void test_out_of_memory(void)
{
	struct kw_task t;
	struct kw_expr *e = NULL;
	struct kw_prompt_facts f = { .backend = "c" };

	load_task(&t, &e);
	f.task = &t;
	f.expr = e;
	fails_cleanly("KW_FAIL_ALLOC", 2000, make_one, &f, "a prompt is made, or memory is told to be out");
	kw_task_release(&t);
}

int main(void)
{
	kw_arena_init(&arena, 256 << 20);
	test_documented();
	test_parts();
	test_roles();
	test_inputs();
	test_prices();
	test_out_of_memory();
	kw_arena_release(&arena);
	return done();
}
