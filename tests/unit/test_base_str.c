#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

#include <math.h>

#include "tap.h"

static void test_views(void)
{
	struct kw_str s = kw_str_trim(KW_STR(" \t a b\r\n")), rest, part;
	int count = 0;

	ok(kw_str_eqz(s, "a b"), "trim keeps the inside");
	is_int(kw_str_trim(KW_STR(" \n ")).len, 0, "only blanks trim to nothing");
	is_int(kw_str_from(NULL).len, 0, "NULL is empty");
	ok(kw_str_eq(kw_str_from(NULL), KW_STR("")), "and equal to \"\"");
	ok(kw_str_starts(KW_STR("softmax"), "soft"), "starts");
	ok(!kw_str_starts(KW_STR("so"), "soft"), "does not start");
	rest = KW_STR("a,,b,");
	while (kw_str_split(&rest, ',', &part))
		count++;
	is_int(count, 4, "a,,b, splits into four");
	is_int(part.len, 0, "the last of them empty");
	rest = KW_STR("");
	ok(kw_str_split(&rest, ',', &part) && part.len == 0, "\"\" splits into one empty part");
	ok(!kw_str_split(&rest, ',', &part), "and no more");
}

static void test_i64(void)
{
	static const struct {
		const char *text;
		bool good;
		int64_t want;
	} cases[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "+5", true, 5 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "99999999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "1 ", false, 0 },
		{ " 1", false, 0 },
		{ "1_000", false, 0 },
		{ "0x10", false, 0 },
		{ "1e3", false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t v = 0;
		bool good = kw_str_to_i64(kw_str_from(cases[i].text), &v);

		ok(good == cases[i].good && (!good || v == cases[i].want), "i64 of '%s'",
		   cases[i].text);
	}
}

static void test_f64(void)
{
	static const char *const bad[] = { "",     "x",      "1x",    "0x1p3", "inf", "nan",
					   "1e999", "1,5",    " 1",    "--1",   ".",   "e5" };
	double v = 0;

	ok(kw_str_to_f64(KW_STR("1e-5"), &v) && v == 1e-5, "1e-5");
	ok(kw_str_to_f64(KW_STR("-0.0"), &v) && v == 0 && signbit(v), "-0.0 keeps its sign");
	ok(kw_str_to_f64(KW_STR("0.1"), &v) && v == 0.1, "0.1 is the nearest double");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!kw_str_to_f64(kw_str_from(bad[i]), &v), "'%s' is no number", bad[i]);
}

static void test_nearest(void)
{
	static const char *const words[] = { "kernel", "workspace", "tune", "define", "require" };

	is_str(kw_str_nearest("kernle", words, 5), "kernel", "a swap");
	is_str(kw_str_nearest("workspce", words, 5), "workspace", "a lost letter");
	is_str(kw_str_nearest("requires", words, 5), "require", "one too many");
	is_str(kw_str_nearest("tun", words, 5), "tune", "short words too");
	ok(!kw_str_nearest("banana", words, 5), "nothing near");
	ok(!kw_str_nearest("", words, 5), "nothing near nothing");
	ok(!kw_str_nearest("x", words, 0), "no words");
	ok(!kw_str_nearest("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
			   words, 5), "a very long word is not compared");
}

static void test_messages(void)
{
	struct kw_error err;

	kw_fail(&err, KW_ERR_USAGE, "caf\xe9.yaml", "the price of '%.4s' and \xff\x80 of %s", "ab\xc3\xa9\xe2\x82\xac", "\xe2\x82\xac");
	is_str(err.text, "the price of 'ab\xc3\xa9' and \xef\xbf\xbd of \xe2\x82\xac", "a message is UTF-8, whatever it is about");
	is_str(err.where, "caf\xef\xbf\xbd.yaml", "and so is its place");
	kw_fail(&err, KW_ERR_USAGE, "", "'%.6s'", "ab\xc3\xa9\xe2\x82\xac");
	is_str(err.text, "'ab\xc3\xa9\xef\xbf\xbd'", "a character that was cut through is marked");
}

static void test_utf8(void)
{
	static const struct {
		const char *bytes;
		bool valid;
	} cases[] = {
		{ "plain", true },
		{ "\xc3\xa9", true },
		{ "\xe2\x82\xac", true },
		{ "\xf0\x9f\x98\x80", true },
		{ "\xf4\x8f\xbf\xbf", true },
		{ "\xc0\xaf", false },
		{ "\xe0\x80\xaf", false },
		{ "\xed\xa0\x80", false },
		{ "\xf4\x90\x80\x80", false },
		{ "\xf8\x88\x80\x80\x80", false },
		{ "\x80", false },
		{ "\xc3", false },
		{ "\xe2\x82", false },
		{ "\xe2\x28\xa1", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ok(kw_utf8_valid(cases[i].bytes, strlen(cases[i].bytes)) == cases[i].valid,
		   "UTF-8 case %zu", i);
	is_int(kw_utf8_prefix("ab\xc3\xa9\xe2\x82", 6), 4, "what is left of text that was cut");
}

/* What a terminal is told, at any place and cut at any place. */
static void test_escapes(void)
{
	static const struct {
		const char *from, *to, *what;
	} list[] = {
		{ "a\033[1;31mb\033[0mc", "abc", "colours" },
		{ "\033]8;;https://x\033\\link\033]8;;\007.", "link.", "a link, ended in either way" },
		{ "\033(B\033[mx\033=y\0337z", "xyz", "a character set, modes" },
		{ "\033[?25lx\033[2Ky", "xy", "parameters that are none of a colour" },
		{ "x\033[31\ny\033]0;title\nz", "x\ny\nz", "ends with its line at the latest" },
		{ "^[[32m%^[[0m ^[ ^[[x", "% ^[ ^[[x", "as a pager shows them" },
		{ "x^[[", "x^[[", "the beginning of one as a pager shows it" },
		{ "\033", "", "nothing behind it" },
		{ "plain", "plain", "none" },
	};
	char text[100], whole[] = "q\033[1;31mr\033]8;;u\033\\s\033(Bt^[[0mu";

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		snprintf(text, sizeof(text), "%s", list[i].from);
		text[kw_text_without_escapes(text, strlen(text))] = '\0';
		is_str(text, list[i].to, "%s", list[i].what);
	}
	is_int((long)kw_text_without_escapes(NULL, 0), 0, "nothing at all");
	for (size_t n = 0; n <= strlen(whole); n++) {
		/* Memory of its own, without a NUL: a byte behind it that is read is seen by a checker of accesses. */
		char *cut = kw_calloc(1, n + 1);

		if (!cut)
			continue;
		memcpy(cut + 1, whole, n);
		ok(kw_text_without_escapes(cut + 1, n) <= n, "cut behind %zu bytes", n);
		kw_free(cut);
	}
}

static void test_bad_line(void)
{
	const char *what = "";

	is_int(kw_text_bad_line("a\nb\n", 4, &what), 0, "text");
	is_int(kw_text_bad_line(NULL, 0, &what), 0, "nothing at all");
	is_int(kw_text_bad_line("a\nb\0\n\xff", 6, &what), 2, "the first of two");
	is_str(what, "a NUL byte", "is told");
	is_int(kw_text_bad_line("a\n\xff\n\0", 5, &what), 2, "and the other way round");
	is_str(what, "bytes that are not UTF-8", "too");
}

static void test_buf(void)
{
	struct kw_buf b;
	char *p;

	kw_buf_init(&b, 10);
	kw_buf_printf(&b, "%d-%s", 42, "ab");
	is_str(b.ptr, "42-ab", "printf");
	kw_buf_addc(&b, '!');
	kw_buf_addz(&b, "xyz!");
	is_str(b.ptr, "42-ab!xyz!", "filled to the last byte");
	ok(!b.full, "is not yet full");
	kw_buf_addc(&b, '?');
	ok(b.full, "one more is");
	is_str(b.ptr, "42-ab!xyz!", "and changes nothing");
	ok(!kw_buf_take(&b), "a full buffer hands nothing out");
	ok(!b.ptr && b.len == 0 && !b.full, "and is empty afterwards");
	p = kw_buf_take(&b);
	is_str(p, "", "an empty one hands out an empty text");
	kw_free(p);
	kw_buf_printf(&b, "%s", "abcdefghijk");
	ok(b.full && b.len == 0, "a text that is too long as a whole is dropped as a whole");
	kw_buf_reset(&b);
	ok(!b.full, "reset forgets that");
	kw_buf_release(&b);
	kw_buf_init(&b, SIZE_MAX);
	for (int i = 0; i < 5000; i++)
		kw_buf_addz(&b, "0123456789");
	is_int(b.len, 50000, "growth");
	is_int(strlen(b.ptr), 50000, "keeps the NUL");
	kw_buf_release(&b);
}

static void test_human(void)
{
	static const struct {
		double v;
		const char *bytes, *ns;
	} cases[] = {
		{ 0, "0 B", "0 ns" },
		{ 1, "1 B", "1 ns" },
		{ 999.7, "1000 B", "1.00 us" },
		{ 1536, "1.50 KiB", "1.54 us" },
		{ 67108864, "64 MiB", "67.1 ms" },
		{ 12345678, "11.8 MiB", "12.3 ms" },
		{ 1.5e9, "1.40 GiB", "1.50 s" },
	};
	char out[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_str(kw_human_bytes(cases[i].v, out, sizeof(out)), cases[i].bytes, "%g bytes",
		       cases[i].v);
		is_str(kw_human_ns(cases[i].v, out, sizeof(out)), cases[i].ns, "%g ns", cases[i].v);
	}
	is_str(kw_human_ns(1.2e12, out, sizeof(out)), "20 min", "minutes");
	is_str(kw_human_rate(4.11e12, "B/s", out, sizeof(out)), "4.11 TB/s", "a rate");
	is_str(kw_human_rate(12, "/s", out, sizeof(out)), "12 /s", "a small rate");
	is_str(kw_human_bytes(NAN, out, sizeof(out)), "nan", "no number");
}

static int scenario(void *unused)
{
	struct kw_buf b;
	bool full;

	(void)unused;
	kw_buf_init(&b, 1 << 20);
	for (int i = 0; i < 1000; i++)
		kw_buf_printf(&b, "%d,", i);
	full = b.full;
	kw_buf_release(&b);
	return full ? 1 : 0;
}

int main(void)
{
	test_views();
	test_i64();
	test_f64();
	test_nearest();
	test_utf8();
	test_messages();
	test_bad_line();
	test_escapes();
	test_buf();
	test_human();
	fails_cleanly("KW_FAIL_ALLOC", 50, scenario, NULL, "a growing buffer");
	return done();
}
