#include "base/json.h"

#include <math.h>

#include "tap.h"

static struct kw_error err;
static char line[2048];

static json_t *parse(const char *text)
{
	json_t *j;

	kw_error_reset(&err);
	kw_json_parse("m.json", text, strlen(text), &j, &err);
	kw_error_line(&err, line, sizeof(line));
	return j;
}

static void is_canonical(const char *text, const char *want)
{
	json_t *j = parse(text);
	struct kw_buf b;

	kw_buf_init(&b, 1 << 16);
	if (j)
		kw_json_canonical(j, &b, &err);
	is_str(b.ptr, want, "canonical %s", want);
	kw_buf_release(&b);
	json_decref(j);
}

static void test_text(void)
{
	struct kw_buf b;
	json_t *j;

	is_canonical(" { \"b\" : [ 1 , 2.5 ] , \"a\" : null } ", "{\"a\":null,\"b\":[1,2.5]}");
	is_canonical("9223372036854775807", "9223372036854775807");
	is_canonical("\"\\u00e9\"", "\"\xc3\xa9\"");
	is_canonical("0.1", "0.1");
	is_canonical("1.0", "1.0");
	is_canonical("0.30000000000000004", "0.30000000000000004");
	is_canonical("1e300", "1e+300");
	is_canonical("-2", "-2");
	is_canonical("[]", "[]");
	is_canonical("{\"k\":{}}", "{\"k\":{}}");
	is_canonical("\"a\\\"\\\\\\n\\u0001/\"", "\"a\\\"\\\\\\n\\u0001/\"");
	j = json_pack("{s:o,s:o}", "x", kw_json_real(NAN), "y", kw_json_real(0.1));
	kw_buf_init(&b, 1 << 16);
	is_int(kw_json_pretty(j, &b, &err), KW_OK, "pretty");
	has_str(b.ptr, "\"x\": null", "NaN is null");
	has_str(b.ptr, "\"y\": 0.1\n", "0.1 reads as written");
	kw_buf_release(&b);
	kw_buf_init(&b, 1 << 16);
	is_int(kw_json_canonical(NULL, &b, &err), KW_ERR_NOMEM, "no tree");
	kw_buf_release(&b);
	kw_buf_init(&b, 4);
	is_int(kw_json_canonical(j, &b, &err), KW_ERR_LIMIT, "a buffer that is too small");
	kw_buf_release(&b);
	json_decref(j);
}

static void test_refused(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "m.json:1:" },
		{ "{\n \"a\": 1,\n \"a\": 2 }", "m.json:3:" },
		{ "{\"a\": NaN}", "m.json:1:" },
		{ "[1,]", "m.json:1:4" },
		{ "1 2", "m.json:1:" },
		{ "99999999999999999999", "m.json:1:" },
		{ "\"\xff\"", "m.json:1:" },
		{ "\"\\u0000\"", "m.json:1:" },
	};
	char deep[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ok(parse(cases[i].text) == NULL, "refused, case %zu", i);
		has_str(line, cases[i].want, "with its place, case %zu", i);
	}
	memset(deep, '[', 65);
	memset(deep + 65, ']', 65);
	deep[130] = '\0';
	ok(parse(deep) == NULL && err.status == KW_ERR_LIMIT, "65 levels are too many");
	is_str(err.where, "m.json:1:65", "at the bracket that is one too many");
	{
		json_t *j;

		memset(deep, '[', 64);
		memset(deep + 64, ']', 64);
		deep[128] = '\0';
		j = parse(deep);
		ok(j != NULL, "64 are fine");
		json_decref(j);
		j = parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"");
		ok(j != NULL, "brackets in a string are no levels");
		json_decref(j);
	}
}

static void test_getters(void)
{
	json_t *j = parse("{\"s\":\"x\",\"i\":5,\"f\":1.5,\"b\":true}");

	is_str(kw_json_get_str(j, "s", "d"), "x", "a string");
	is_str(kw_json_get_str(j, "i", "d"), "d", "another type gives the default");
	is_int(kw_json_get_i64(j, "i", 1), 5, "a number");
	is_int(kw_json_get_i64(j, "f", 1), 1, "no rounding");
	ok(kw_json_get_f64(j, "f", 0) == 1.5 && kw_json_get_f64(j, "i", 0) == 5, "doubles");
	ok(kw_json_get_bool(j, "b", false) && kw_json_get_bool(j, "none", true), "booleans");
	is_str(kw_json_get_str(NULL, "s", "d"), "d", "no object");
	json_decref(j);
}

static int scenario(void *unused)
{
	static const char text[] = "{\"a\":[1,2,{\"b\":\"text\"}],\"c\":2.5,\"long\":\"a text of more bytes than jansson keeps at "
				   "first, and then some more, so that its buffer grows\"}";
	struct kw_error e = { 0 };
	struct kw_buf b;
	json_t *j;
	enum kw_status s = kw_json_parse("m", text, sizeof(text) - 1, &j, &e);

	(void)unused;
	kw_buf_init(&b, 1 << 16);
	if (s == KW_OK)
		s = kw_json_canonical(j, &b, &e);
	/* jansson drops a byte where it has no memory for it. */
	if (s == KW_OK && (b.len != sizeof(text) - 1 || memcmp(b.ptr, text, b.len) != 0))
		e.text[0] = '\0', s = KW_ERR_BUG;
	kw_buf_release(&b);
	json_decref(j);
	return s == KW_OK ? 0 : e.text[0] ? 1 : 2;
}

int main(void)
{
	test_text();
	test_refused();
	test_getters();
	fails_cleanly("KW_FAIL_ALLOC", 200, scenario, NULL, "JSON");
	return done();
}
