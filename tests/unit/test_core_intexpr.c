#include "core/intexpr.h"

#include "tap.h"

static struct kw_arena arena;
static struct kw_error err;
static char line[2048];

static const struct kw_intenv_var outer_vars[] = { { "rows", 111 }, { "cores", 2 } };
static const struct kw_intenv outer = { outer_vars, 2, NULL };
static const struct kw_intenv_var vars[] = { { "rows", 10 }, { "cols", 7 }, { "x.stride0", 4096 } };
static const struct kw_intenv env = { vars, 3, &outer };

static bool compute(const char *text, int64_t *out)
{
	struct kw_intexpr *e;
	enum kw_status s;

	kw_error_reset(&err);
	s = kw_intexpr_parse(kw_str_from(text), "k.c", 3, 20, &arena, &e, &err);
	if (s == KW_OK)
		s = kw_intexpr_eval(e, &env, out, &err);
	kw_error_line(&err, line, sizeof(line));
	return s == KW_OK;
}

static void test_values(void)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{ "42", 42 },
		{ "rows", 10 },
		{ "x.stride0", 4096 },
		{ "cores", 2 },
		{ "1 + 2 * 3", 7 },
		{ "(1 + 2) * 3", 9 },
		{ "10 - 4 - 3", 3 },
		{ "100 / 7 / 2", 7 },
		{ "-7 / 2", -3 },
		{ "-7 % 3", -1 },
		{ "- - 5", 5 },
		{ "!0 + !7", 1 },
		{ "2 < 3", 1 },
		{ "rows % 8 == 0 ? 8 : 1", 1 },
		{ "cols % 7 == 0 ? 7 : 1", 7 },
		{ "0 ? 1 : 0 ? 2 : 3", 3 },
		{ "1 ? 0 ? 4 : 5 : 6", 5 },
		{ "1 || 0 && 0", 1 },
		{ "3 && 4", 1 },
		{ "1 + 1 == 2 && 3 != 4", 1 },
		{ "5 >= 5 && 5 <= 5 && !(5 > 5)", 1 },
		{ "min(3, 1, 2)", 1 },
		{ "max(3, 1, 12)", 12 },
		{ "max(4)", 4 },
		{ "cdiv(10, 4)", 3 },
		{ "cdiv(8, 4)", 2 },
		{ "cdiv(0, 4)", 0 },
		{ "cdiv(-7, 4)", -1 },
		{ "cdiv(9223372036854775807, 2)", 4611686018427387904 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775807 - 1", INT64_MIN },
		{ "(-9223372036854775807 - 1) % -1", 0 },
		{ "cols == 0 || 10 / cols > 0", 1 },
		{ "0 && 1 / 0", 0 },
		{ "1 || 1 / 0", 1 },
		{ "1 ? 2 : 1 / 0", 2 },
		{ "\t rows*\tcols ", 70 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t got = -12345;

		ok(compute(cases[i].text, &got), "'%s' can be computed: %s", cases[i].text, line);
		is_int(got, cases[i].value, "and is right");
	}
}

static void test_errors(void)
{
	static const struct {
		const char *text, *where, *message;
	} cases[] = {
		{ "", "k.c:3:20: ", "ends where a value should follow" },
		{ "1 +", "k.c:3:23: ", "ends where a value should follow" },
		{ "(1", "k.c:3:22: ", "ends where ')' should follow" },
		{ "1 ? 2", "k.c:3:25: ", "ends where ':' should follow" },
		{ "1)", "k.c:3:21: ", "unexpected ')'" },
		{ "cols rows", "k.c:3:25: ", "unexpected 'r'; an operator or the end should follow" },
		{ "  1 $ 2", "k.c:3:24: ", "unexpected '$'" },
		{ "1.5", "k.c:3:21: ", "only whole decimal numbers" },
		{ "0x10", "k.c:3:21: ", "only whole decimal numbers" },
		{ "99999999999999999999", "k.c:3:20: ", "does not fit 64 bits" },
		{ "rows ** 2", "k.c:3:25: ", "there is no power operator" },
		{ "rows // 2", "k.c:3:25: ", "division is written /" },
		{ "rows << 2", "k.c:3:25: ", "there are no shifts" },
		{ "rows & 2", "k.c:3:25: ", "write && for 'and'" },
		{ "rows | 2", "k.c:3:25: ", "write || for 'or'" },
		{ "rows = 2", "k.c:3:25: ", "write == to compare" },
		{ "rows and cols", "k.c:3:25: ", "write && for 'and'" },
		{ "not rows", "k.c:3:20: ", "write ! for 'not'" },
		{ "1 if rows else 2", "k.c:3:22: ", "CONDITION ? A : B" },
		{ "rows == == 2", "k.c:3:28: ", "unexpected '='" },
		{ "1 < rows < 3", "k.c:3:29: ", "join two with &&" },
		{ "1 == rows == 3", "k.c:3:30: ", "join two with &&" },
		{ "cdv(1, 2)", "k.c:3:20: ", "unknown function 'cdv'; did you mean 'cdiv'?" },
		{ "sqrt(1)", "k.c:3:20: ", "unknown function 'sqrt'; there are min, max and cdiv" },
		{ "cdiv(1)", "k.c:3:20: ", "cdiv takes 2 arguments, not 1" },
		{ "min(1, )", "k.c:3:27: ", "unexpected ')'; a value should follow" },
		{ "min(1 2)", "k.c:3:26: ", "',' or ')' should follow" },
		{ "2 * rosw", "k.c:3:24: ", "unknown name 'rosw' (did you mean 'rows'?) in '2 * rosw'" },
		{ "2 * zebra", "k.c:3:24: ", "unknown name 'zebra' in" },
		{ "rows / (cols - 7)", "k.c:3:25: ", "division by zero in 'rows / (cols - 7)'" },
		{ "rows % 0", "k.c:3:25: ", "division by zero in 'rows % 0'" },
		{ "cdiv(rows, 0)", "k.c:3:20: ", "division by zero" },
		{ "cdiv(rows, -1)", "k.c:3:20: ", "cdiv by a negative number" },
		{ "9223372036854775807 + 1", "k.c:3:40: ", "a result beyond 64 bits" },
		{ "-9223372036854775807 - 2", "k.c:3:41: ", "a result beyond 64 bits" },
		{ "9223372036854775807 * rows", "k.c:3:40: ", "a result beyond 64 bits" },
		{ "(-9223372036854775807 - 1) / -1", "k.c:3:47: ", "a result beyond 64 bits" },
		{ "-(-9223372036854775807 - 1)", "k.c:3:20: ", "a result beyond 64 bits" },
		{ "caf\xc3\xa9", "k.c:3:23: ", "a character that no expression has" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t got;

		ok(!compute(cases[i].text, &got), "'%s' is refused", cases[i].text);
		ok(strncmp(line, cases[i].where, strlen(cases[i].where)) == 0, "at its place: %.20s", line);
		has_str(line, cases[i].message, "and says why");
	}
	compute("cdiv(rows, )", &(int64_t){ 0 });
	has_str(line, "\n    cdiv(rows, )\n               ^", "a caret points at the fault");
}

static void test_limits(void)
{
	char deep[2001], wide[8192];
	int64_t got;
	struct kw_intexpr *e;
	struct kw_arena tiny;

	memset(deep, '(', 2000);
	deep[2000] = '\0';
	ok(!compute(deep, &got), "2000 brackets are refused");
	has_str(line, "levels of nesting", "as too deep");
	memset(deep, '-', 2000);
	ok(!compute(deep, &got), "2000 signs too");
	for (size_t i = 0; i + 2 < sizeof(wide); i += 2)
		memcpy(wide + i, "1+", 2);
	wide[sizeof(wide) - 2] = '1';
	wide[sizeof(wide) - 1] = '\0';
	ok(!compute(wide, &got), "4000 terms are refused");
	has_str(line, "too long", "as too long");
	is_int(kw_intexpr_parse((struct kw_str){ "1\0002", 3 }, "k.c", 1, 1, &arena, &e, &err), KW_ERR_INPUT,
	       "a NUL byte is refused");
	kw_arena_init(&tiny, 64);
	is_int(kw_intexpr_parse(KW_STR("rows + cols + rows + cols"), "k.c", 1, 1, &tiny, &e, &err),
	       KW_ERR_NOMEM, "an arena that is full is told");
	kw_arena_release(&tiny);
}

static void join(void *arg, const char *name)
{
	strncat(arg, name, 20);
	strncat(arg, " ", 2);
}

static void test_names(void)
{
	struct kw_intexpr *e;
	char names[128] = "";
	int64_t v;

	kw_intexpr_parse(KW_STR("  a + b * x.stride0 - a ? min(c, b) : 1 "), "k.c", 1, 1, &arena, &e, &err);
	kw_intexpr_names(e, join, names);
	is_str(names, "a b x.stride0 c ", "each name once, in order");
	is_str(kw_intexpr_text(e), "a + b * x.stride0 - a ? min(c, b) : 1", "the text is trimmed");
	ok(kw_intenv_get(&env, "rows", &v) && v == 10, "inner names hide outer ones");
	ok(kw_intenv_get(&env, "cores", &v) && v == 2, "outer names are found");
	ok(!kw_intenv_get(&env, "none", &v) && !kw_intenv_get(NULL, "rows", &v), "others are not");
}

int main(void)
{
	kw_arena_init(&arena, 64 << 20);
	test_values();
	test_errors();
	test_limits();
	test_names();
	kw_arena_release(&arena);
	return done();
}
