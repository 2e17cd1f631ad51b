#include "base/yaml.h"

#include <math.h>

#include "tap.h"

static struct kw_arena arena;
static struct kw_error err;
static char line[2048];

static struct kw_yaml *parse(const char *text)
{
	struct kw_yaml *root;

	kw_error_reset(&err);
	kw_arena_release(&arena);
	kw_arena_init(&arena, 64 << 20);
	kw_yaml_parse("t.yaml", text, strlen(text), &arena, &root, &err);
	kw_error_line(&err, line, sizeof(line));
	return root;
}

static const char *parse_error(const char *text)
{
	parse(text);
	return line;
}

static void test_tree(void)
{
	struct kw_yaml *r = parse("name: softmax\n"
				  "dims: { rows: { min: 0, max: 8 } }\n"
				  "perf: [ 1, 2 ]\n"
				  "reference:\n"
				  "  expr: |\n"
				  "    y = max(x, 0)\n");
	const struct kw_yaml *n, *rows;
	const char *s = NULL;
	int64_t v = 0;
	char where[64];

	if (!ok(r != NULL, "a task is read: %s", line))
		return;
	is_int(r->kind, KW_YAML_MAP, "the root is a map");
	is_int(r->child_count, 4, "with four keys");
	is_int(kw_yaml_get_str(r, "name", true, &s, &err), KW_OK, "a name is there");
	is_str(s, "softmax", "and right");
	n = kw_yaml_find(r, "dims");
	ok(n && n->flow, "a flow map knows that it is one");
	ok(!r->flow, "a block map too");
	rows = kw_yaml_find(n, "rows");
	is_int(kw_yaml_get_i64(rows, "max", true, &v, &err), KW_OK, "a number in a flow map");
	is_int(v, 8, "has its value");
	is_str(kw_yaml_where(kw_yaml_find(rows, "max"), where, sizeof(where)), "t.yaml:2:30",
	       "a node knows its place");
	is_int(kw_yaml_find(rows, "max")->key_column, 25, "and the place of its key");
	n = kw_yaml_find(r, "perf");
	is_int(n->kind, KW_YAML_SEQ, "a list is a list");
	is_int(kw_yaml_i64(n->first->next, &v, &err), KW_OK, "with a second number");
	is_int(v, 2, "which is 2");
	n = kw_yaml_find(kw_yaml_find(r, "reference"), "expr");
	is_str(n->text, "y = max(x, 0)\n", "a block text keeps its line end");
	ok(n->quoted, "and counts as quoted");
}

static void test_half_expression(void)
{
	struct kw_yaml *r = parse("reference: { expr: y = max(x, 0) }\n");
	const struct kw_yaml *n = kw_yaml_find(r, "reference");

	if (!ok(n != NULL, "the comma trap parses: %s", line))
		return;
	is_int(n->child_count, 2, "into two keys");
	is_str(n->first->next->key, "0)", "the second is half an expression");
	ok(kw_yaml_is_plain_null(n->first->next), "without a value");
	ok(!kw_yaml_is_plain_null(n->first), "the first has one");
	r = parse("a: ''\nb: ~\nc: null\nd:\ne: nullify\n");
	ok(!kw_yaml_is_plain_null(kw_yaml_find(r, "a")), "'' is no null");
	ok(kw_yaml_is_plain_null(kw_yaml_find(r, "b")), "~ is null");
	ok(kw_yaml_is_plain_null(kw_yaml_find(r, "c")), "null is null");
	ok(kw_yaml_is_plain_null(kw_yaml_find(r, "d")), "nothing is null");
	ok(!kw_yaml_is_plain_null(kw_yaml_find(r, "e")), "nullify is none");
}

static void test_refused(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "t.yaml: is empty" },
		{ "# only a remark\n", "t.yaml: is empty" },
		{ "a: 1\nb: 2\na: 3\n", "t.yaml:3:1: duplicate key 'a'; the first is in line 1" },
		{ "x: { a: 1, a: 2 }\n", "t.yaml:1:12: duplicate key 'a'" },
		{ "a: &x 1\nb: *x\n", "anchors and aliases are not supported" },
		{ "a: !!int 1\n", "tags (!name) are not supported" },
		{ "a: 1\n---\nb: 2\n", "a second document" },
		{ "a: [1, 2\nb: 3\n", "t.yaml:" },
		{ "a: 'open\n", "t.yaml:" },
		{ "\tb: 1\n", "t.yaml:" },
		{ "a: 1\n b: 2\n", "t.yaml:" },
		{ "a: 1\nb: \xff\n", "t.yaml:2: bytes that are not UTF-8: this is no YAML text" },
		{ "{ [a]: 1 }\n", "a key must be plain text" },
		{ "a: \"x\\0y\"\n", "a text holds a NUL character" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		has_str(parse_error(cases[i].text), cases[i].want, "refused, case %zu", i);
		ok(parse(cases[i].text) == NULL && err.status == KW_ERR_INPUT,
		   "as bad input, case %zu", i);
	}
}

static void test_caps(void)
{
	char *deep = kw_calloc(1, 200001), *wide = kw_calloc(1, 300001), *big;

	memset(deep, '[', 100000);
	memset(deep + 100000, ']', 100000);
	ok(parse(deep) == NULL, "100,000 brackets are refused");
	has_str(line, "nest", "and the text says why: %s", line);
	wide[0] = '[';
	for (int i = 0; i < 100001; i++)
		memcpy(wide + 1 + 2 * i, "1,", 2);
	wide[1 + 2 * 100001] = ']';
	ok(parse(wide) == NULL && err.status == KW_ERR_LIMIT, "100,001 values are refused");
	big = kw_calloc(1, (1 << 20) + 2);
	memset(big, '#', (1 << 20) + 1);
	ok(parse(big) == NULL && err.status == KW_ERR_LIMIT, "over 1 MiB is refused: %s", line);
	kw_free(deep);
	kw_free(wide);
	kw_free(big);
}

static void test_readers(void)
{
	static const char *const keys[] = { "name", "dims", "inputs", NULL };
	struct kw_yaml *r = parse("nmae: x\n");
	const char *s = "kept";
	bool flag = false;
	double d = 0;
	int64_t v = 7;

	kw_yaml_check_keys(r, keys, &err);
	has_str(err.text, "unknown key 'nmae'; did you mean 'name'?", "a typo is suggested");
	is_str(err.where, "t.yaml:1:1", "at its key");
	is_int(kw_yaml_get_str(r, "name", true, &s, &err), KW_ERR_INPUT, "a missing key fails");
	has_str(err.text, "key 'name' is missing", "and is named");
	is_int(kw_yaml_get_str(r, "name", false, &s, &err), KW_OK, "unless it is optional");
	is_str(s, "kept", "and then nothing changes");
	r = parse("i: 9223372036854775807\no: 9223372036854775808\nq: '1'\nf: 1e-5\nx: 0x10\n"
		  "b: true\nc: yes\nl: [1]\nn: .inf\ne:\n");
	is_int(kw_yaml_get_i64(r, "i", true, &v, &err), KW_OK, "the largest number");
	is_int(v, INT64_MAX, "is exact");
	ok(kw_yaml_get_i64(r, "o", true, &v, &err) != KW_OK, "one more overflows: %s", err.text);
	ok(kw_yaml_get_i64(r, "q", true, &v, &err) != KW_OK, "a quoted number is text");
	ok(kw_yaml_get_i64(r, "x", true, &v, &err) != KW_OK, "no hexadecimal");
	is_int(kw_yaml_get_f64(r, "f", true, &d, &err), KW_OK, "a double");
	ok(d == 1e-5, "is right");
	is_int(kw_yaml_get_f64(r, "n", true, &d, &err), KW_OK, ".inf is a number");
	ok(isinf(d), "that is infinite");
	is_int(kw_yaml_get_bool(r, "b", true, &flag, &err), KW_OK, "true");
	ok(flag, "is true");
	ok(kw_yaml_get_bool(r, "c", true, &flag, &err) != KW_OK, "yes is not: %s", err.text);
	ok(kw_yaml_get_str(r, "l", true, &s, &err) != KW_OK, "a list is no text");
	has_str(err.text, "'l' must be one value, not a list", "and the message says so");
	ok(kw_yaml_get_str(r, "e", true, &s, &err) != KW_OK, "nothing is no text");
}

static int scenario(void *unused)
{
	static const char text[] = "a: { b: [1, 2, 3], c: x }\nd: |\n  text\n";
	struct kw_error e = { 0 };
	struct kw_yaml *root;
	struct kw_arena a;
	enum kw_status s;

	(void)unused;
	kw_arena_init(&a, 1 << 20);
	s = kw_yaml_parse("t.yaml", text, sizeof(text) - 1, &a, &root, &e);
	kw_arena_release(&a);
	if (s == KW_OK)
		return 0;
	return s == KW_ERR_NOMEM && e.text[0] ? 1 : 2;
}

int main(void)
{
	kw_arena_init(&arena, 0);
	test_tree();
	test_half_expression();
	test_refused();
	test_caps();
	test_readers();
	fails_cleanly("KW_FAIL_ALLOC", 100, scenario, NULL, "parsing YAML");
	kw_arena_release(&arena);
	return done();
}
