/* From what models say to the text of a candidate: which block, what is of no use and why, edits. */
#include "tap.h"
#include "temp.h"

#include "agent/reply.h"
#include "base/json.h"

static struct kw_arena arena;

static struct kw_reply read_text(const struct kw_reply_want *w, const char *text, enum kw_finish finish)
{
	struct kw_reply r;

	kw_reply_read(w, text, strlen(text), finish, &arena, &r);
	return r;
}

static struct kw_reply read_c(const char *text)
{
	const struct kw_reply_want w = { .marker = "//@", .language = "C17" };

	return read_text(&w, text, KW_FINISH_STOP);
}

static void is_kind_(const struct kw_reply *r, enum kw_reply_kind kind, const char *name)
{
	if (!is_str_(kw_reply_name(r->kind), kw_reply_name(kind), "%s", name))
		diag("%s", r->why);
}

/* The recorded situations: every answer gives the block that expected.json names, or none. */
static void test_folder(const char *folder, const char *entry)
{
	const char *top = getenv("KW_TOP");
	const char *dir = kw_arena_printf(&arena, "%s/tests/models/answers/%s", top ? top : ".", folder);
	const struct kw_reply_want w = { .marker = "//@", .entry = entry, .any_block = !entry };
	struct kw_error err = { 0 };
	char **names, *text;
	size_t count = 0;
	json_t *expected = NULL;

	is_int(kw_file_read_arena(kw_path_join(&arena, dir, "expected.json"), 1 << 20, &arena, &text, NULL, &err), KW_OK,
	       "%s is there", folder);
	is_int(kw_json_parse("expected.json", text, strlen(text), &expected, &err), KW_OK, "and can be read");
	is_int(kw_dir_list(dir, ".md", &arena, &names, &count, &err), KW_OK, "its answers");
	ok(count >= 4, "several");
	for (size_t i = 0; i < count; i++) {
		const char *name = kw_arena_strndup(&arena, names[i], strlen(names[i]) - 3);
		const char *want = kw_json_get_str(expected, name, NULL);
		struct kw_reply r;

		kw_file_read_arena(kw_path_join(&arena, dir, names[i]), 1 << 20, &arena, &text, NULL, &err);
		r = read_text(&w, text, strstr(name, "unclosed") ? KW_FINISH_LENGTH : KW_FINISH_STOP);
		if (want)
			ok(r.kind == KW_REPLY_SOURCE && strstr(r.source, want), "%s: %s gives %s", folder, name, want);
		else
			ok(r.kind != KW_REPLY_SOURCE && r.why[0], "%s: %s gives none: %s", folder, name, r.why);
	}
	json_decref(expected);
}

#define KERNEL(note) "//@ kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, int64_t n)\n{\n\t/* " note " */\n}\n"

static void test_blocks(void)
{
	struct kw_reply r = read_c("Here it is.\n```c\n" KERNEL("one") "```\nUse it like this:\n```c\nf(x, y, 10);\n```\n");

	is_kind_(&r, KW_REPLY_SOURCE, "usage after the kernel");
	is_str(r.source, KERNEL("one"), "the kernel and nothing else");
	r = read_c("Draft:\n```c\n" KERNEL("draft") "```\nBetter:\n```c\n" KERNEL("final") "```\n");
	has_str(r.source, "final", "of two kernels the last");
	r = read_c("1. Do this:\n\n   ```c\n" KERNEL("indented") "   ```\n");
	is_kind_(&r, KW_REPLY_SOURCE, "an indented fence");
	r = read_c("```c\n" KERNEL("open"));
	is_kind_(&r, KW_REPLY_SOURCE, "the last fence is missing, the code is whole");
	r = read_c("Sure! Here is the kernel:\n\n" KERNEL("bare") "\nIt is fast because it is short.\n");
	is_kind_(&r, KW_REPLY_SOURCE, "no fence");
	is_str(r.source, KERNEL("bare"), "prose around it is left out");
	r = read_c("```c\n" KERNEL("crlf") "```\r\n");
	is_kind_(&r, KW_REPLY_SOURCE, "CRLF behind a fence");
	r = read_c("<think>\n```c\n" KERNEL("draft") "```\n</think>\n```c\n" KERNEL("</think> in a comment") "```\n");
	has_str(r.source, "</think> in a comment", "a tag inside the kernel ends nothing");
}

/* What answers are wrapped in. */
static void test_wrapped(void)
{
	static const struct {
		const char *what, *text;
	} whole[] = {
		{ "a byte-order mark before the code", "\xef\xbb\xbf" KERNEL("k") },
		{ "a byte-order mark before the fence", "\xef\xbb\xbf```c\n" KERNEL("k") "```\n" },
		{ "a byte-order mark inside the fence", "```c\n\xef\xbb\xbf" KERNEL("k") "```\n" },
		{ "a blank that does not break a line, one without width", "```c\n//@\xc2\xa0" "kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, "
		  "int64_t n)\n{\n\t/*\xe2\x80\x8b k */\n}\n```\n" },
		{ "CRLF everywhere", "So:\r\n```c\r\n//@ kernel f args=(x, y, n:i64)\r\nvoid f(const float *x, float *y, int64_t n)\r\n{\r\n\t/* k */\r\n}\r\n```\r\n" },
		{ "lines that end with CR", "So:\r```c\r//@ kernel f args=(x, y, n:i64)\rvoid f(const float *x, float *y, int64_t n)\r{\r\t/* k */\r}\r```\r" },
		{ "a fence of tildes", "~~~c\n" KERNEL("k") "~~~\n" },
		{ "a fence behind a tabulator", "\t```c\n" KERNEL("k") "\t```\n" },
		{ "a list whose code is indented with its fence", "1. So:\n\n   ```c\n   //@ kernel f args=(x, y, n:i64)\n   void f(const float *x, float *y, int64_t n)\n"
		  "   {\n   \t/* k */\n   }\n   ```\n" },
		{ "no last fence, prose behind the code", "```c\n" KERNEL("k") "\n**Why**: one pass; it is (really) fast.\n" },
		{ "no fence at all, prose behind the code", "So:\n" KERNEL("k") "Note: it is fast; try it.\n" },
		{ "the last fence in the last line of code", "```c\n//@ kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, int64_t n)\n{\n\t/* k */\n}```\nDone.\n" },
		{ "a plan line in the line of the fence", "```c //@ kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, int64_t n)\n{\n\t/* k */\n}\n```\n" },
		{ "JSON", "{\"why\": \"fast\", \"code\": \"//@ kernel f args=(x, y, n:i64)\\nvoid f(const float *x, float *y, int64_t n)\\n{\\n\\t/* k */\\n}\\n\"}" },
		{ "JSON in a fence, a fence in JSON", "```json\n{\"answer\": [\"So:\\n```c\\n//@ kernel f args=(x, y, n:i64)\\nvoid f(const float *x, float *y, int64_t n)\\n{\\n"
		  "\\t/* k */\\n}\\n```\\n\"]}\n```\n" },
		{ "HTML", "<p>So:</p><pre><code class=\"c\">//@ kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, int64_t n)\n{\n\t/* k */\n}\n</code></pre>" },
		{ "control words of a template", "<|channel|>analysis<|message|>```c\n" KERNEL("draft") "```<|end|><|start|>assistant<|channel|>final<|message|>```c\n"
		  KERNEL("k") "```<|return|>" },
		{ "another tag of thinking", "<seed:think>```c\n" KERNEL("draft") "```</seed:think>\n```c\n" KERNEL("k") "```\n" },
	};
	struct kw_reply r;

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		r = read_c(whole[i].text);
		is_kind_(&r, KW_REPLY_SOURCE, whole[i].what);
		is_str(r.kind == KW_REPLY_SOURCE ? r.source : "", KERNEL("k"), "the kernel and nothing else");
	}
	r = read_c("```c\n//@ kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, int64_t n)\n{\n\tfor (int64_t i = 0; i &lt; n &amp;&amp; 1; i++)\n\t\ty[i] = 0;\n}\n```\n");
	ok(r.kind == KW_REPLY_SOURCE && strstr(r.source, "i < n && 1"), "signs that were written for HTML");
	r = read_c("<seed:think>```c\n" KERNEL("draft") "```</seed:think>\nNo, sorry.");
	is_kind_(&r, KW_REPLY_DRAFT, "a draft in that tag is none");
	r = read_c("```c\n//@ kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, int64_t n)\n{\n\t// ... rest of the code unchanged ...\n}\n```\n");
	is_kind_(&r, KW_REPLY_BAD_EDIT, "code that is left out");
	has_str(r.why, "leaves parts out ('// ... rest of the code unchanged ...')", "is shown");
	r = read_c("```c\n" KERNEL("the rest of the row, x[8] ... x[n - 1], as before") "```\n");
	is_kind_(&r, KW_REPLY_SOURCE, "a sentence with an ellipsis is none of that");
	r = read_c("{\"why\": \"//@ kernel lines are hard\"}");
	ok(r.kind != KW_REPLY_SOURCE && r.why[0], "JSON without a kernel: %s", r.why);
	r = read_c("\xe6\x8a\xb1\xe6\xad\x89\xef\xbc\x8c\xe6\x88\x91\xe6\x97\xa0\xe6\xb3\x95\xe5\xb8\xae\xe5\x8a\xa9\xe3\x80\x82");
	is_kind_(&r, KW_REPLY_NO_CODE, "a refusal in Chinese");
	r = read_c("\xe4\xb8\x8b\xe9\x9d\xa2\xef\xbc\x9a\n```c\n" KERNEL("\xe6\xb3\xa8") "```\n");
	is_kind_(&r, KW_REPLY_SOURCE, "an answer in Chinese");
	{
		const struct kw_reply_want w = { .marker = "//@", .entry = "reference:", .language = "YAML" };

		r = read_text(&w, "Here it is:\nname: twice\nreference:\n  expr: y = 2 * x\n", KW_FINISH_STOP);
		is_str(r.kind == KW_REPLY_SOURCE ? r.source : "", "name: twice\nreference:\n  expr: y = 2 * x\n", "a task without a fence");
		r = read_text(&w, "Its name: twice.\nreference: none\n", KW_FINISH_STOP);
		is_kind_(&r, KW_REPLY_NO_CODE, "prose about one is none");
	}
	/* Python's end is seen by its indents. */
	{
		const struct kw_reply_want w = { .marker = "#@", .language = "Triton" };

		r = read_text(&w, "So:\nimport triton\n#@ kernel f grid=(n) args=(x, y)\n@triton.jit\ndef f(x, y):\n    a = 1\n    tl.store(y, a)\n\nIt is fast.\n", KW_FINISH_STOP);
		is_kind_(&r, KW_REPLY_SOURCE, "Triton without a fence");
		is_str(r.kind == KW_REPLY_SOURCE ? r.source : "", "import triton\n#@ kernel f grid=(n) args=(x, y)\n@triton.jit\ndef f(x, y):\n    a = 1\n    tl.store(y, a)\n", "whole");
	}
}

static struct kw_reply edit(const char *parent, const char *text)
{
	const struct kw_reply_want w = { .marker = "//@", .parent = parent };

	return read_text(&w, text, KW_FINISH_STOP);
}

/* Edits in forms that are not quite what was asked for. */
static void test_odd_edits(void)
{
	static const struct {
		const char *what, *text;
	} odd[] = {
		{ "with CRLF", "<<<<<<< SEARCH\r\n\t/* old */\r\n=======\r\n\t/* new */\r\n>>>>>>> REPLACE\r\n" },
		{ "indented as a whole", "1. So:\n   <<<<<<< SEARCH\n   \t/* old */\n   =======\n   \t/* new */\n   >>>>>>> REPLACE\n" },
		{ "with blanks for a tabulator", "<<<<<<< SEARCH\n    /* old */\n=======\n    /* new */\n>>>>>>> REPLACE\n" },
		{ "a diff before prose", "--- a/k.c\n+++ b/k.c\n@@ -3,3 +3,3 @@\n {\n-\t/* old */\n+\t/* new */\n }\n\nThat is all.\n" },
		{ "a diff with an empty line at its end", "```diff\n@@ -3,3 +3,3 @@\n {\n-\t/* old */\n+\t/* new */\n }\n\n```\n" },
		{ "a diff without a line of places", "```diff\n-\t/* old */\n+\t/* new */\n```\n" },
		{ "a patch between its marks", "*** Begin Patch\n*** Update File: k.c\n@@\n {\n-\t/* old */\n+\t/* new */\n }\n*** End Patch\n" },
	};
	struct kw_reply r;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		r = edit(KERNEL("old"), odd[i].text);
		is_kind_(&r, KW_REPLY_SOURCE, odd[i].what);
		is_str(r.kind == KW_REPLY_SOURCE ? r.source : "", KERNEL("new"), "is what was meant");
	}
	r = edit("a\n  a\n", "<<<<<<< SEARCH\n    a\n=======\nb\n>>>>>>> REPLACE\n");
	has_str(r.why, "at several places", "but not where it may be one of two");
	r = edit("if x:\n        y = 1\n", "<<<<<<< SEARCH\n    y = 1\n=======\n    y = 2\n    if y:\n        z = 3\n>>>>>>> REPLACE\n");
	is_str(r.kind == KW_REPLY_SOURCE ? r.source : "", "if x:\n        y = 2\n        if y:\n            z = 3\n", "new lines are indented as the old ones were");
}

static void test_no_use(void)
{
	const struct kw_reply_want w = { .marker = "//@", .language = "C17" };
	struct kw_reply r = read_c("```python\nprint(1)\n```\n");

	is_kind_(&r, KW_REPLY_NO_ENTRY, "another language");
	has_str(r.why, "marked 'python'", "says which");
	has_str(r.why, "write C17", "and what is wanted");
	r = read_c("```c\n//@ kernel f args=(x)\nvoid g(float *x) {}\n```\n");
	is_kind_(&r, KW_REPLY_NO_ENTRY, "the plan names another function");
	has_str(r.why, "is not defined", "says so");
	r = read_c("```c\n//@ kernel f args=(x)\n// calls f(x) somewhere\nint y;\n```\n");
	is_kind_(&r, KW_REPLY_NO_ENTRY, "a comment defines nothing");
	r = read_c("");
	is_kind_(&r, KW_REPLY_EMPTY, "an empty answer");
	r = read_c(" \n\n");
	is_kind_(&r, KW_REPLY_EMPTY, "a blank answer");
	r = read_c("I'm sorry, but I can't help with that.");
	is_kind_(&r, KW_REPLY_REFUSED, "a refusal");
	r = read_c("Bei dieser Aufgabe empfehle ich, zuerst zu messen.");
	is_kind_(&r, KW_REPLY_NO_CODE, "prose in another tongue");
	r = read_c("```c\n//@ kernel f args=(x, y)\nvoid f(const float *x, float *y)\n{\n\tfor (int i = 0;");
	is_kind_(&r, KW_REPLY_TRUNCATED, "cut off, though nobody said so");
	r = read_text(&w, "```c\n" KERNEL("whole, but at its limit"), KW_FINISH_LENGTH);
	is_kind_(&r, KW_REPLY_TRUNCATED, "cut off by the limit");
	r = read_text(&w, "First I think about", KW_FINISH_LENGTH);
	is_kind_(&r, KW_REPLY_TRUNCATED, "cut off before any code");
	r = read_text(&w, "", KW_FINISH_LENGTH);
	is_kind_(&r, KW_REPLY_THINKING, "all tokens went into thinking");
	r = read_text(&w, "<think>first", KW_FINISH_STOP);
	is_kind_(&r, KW_REPLY_THINKING, "thinking that never ends");
	r = read_text(&w, "<think>```c\n" KERNEL("draft") "```</think>", KW_FINISH_STOP);
	is_kind_(&r, KW_REPLY_DRAFT, "code in the reasoning only");
	for (int f = KW_FINISH_REFUSED; f < KW_FINISH_COUNT; f++) {
		r = read_text(&w, "```c\n" KERNEL("x") "```\n", (enum kw_finish)f);
		ok(r.kind != KW_REPLY_SOURCE && r.why[0], "finish %s is of no use: %s", kw_finish_name((enum kw_finish)f), r.why);
	}
}

static void test_edits(void)
{
	static const char parent[] = "a\nb\nc\nb\nd\n";
	struct kw_reply r = edit(parent, "```\n<<<<<<< SEARCH\nc\n=======\nC1\nC2\n>>>>>>> REPLACE\n```\n");

	is_kind_(&r, KW_REPLY_SOURCE, "search and replace");
	ok(r.edited, "is an edit");
	is_str(r.source, "a\nb\nC1\nC2\nb\nd\n", "two lines for one");
	r = edit(parent, "<<<<<<< SEARCH\na\n=======\nA\n>>>>>>> REPLACE\ntext\n<<<<<<< SEARCH\nd  \n=======\n>>>>>>> REPLACE\n");
	is_str(r.source, "A\nb\nc\nb\n", "two edits, blanks at the end of a line do not matter, and one deletes");
	r = edit(parent, "<<<<<<< SEARCH\nb\n=======\nB\n>>>>>>> REPLACE\n");
	is_kind_(&r, KW_REPLY_BAD_EDIT, "fits twice");
	has_str(r.why, "at several places", "says so");
	r = edit(parent, "<<<<<<< SEARCH\nz\n=======\nB\n>>>>>>> REPLACE\n");
	has_str(r.why, "nowhere", "fits nowhere");
	r = edit(parent, "<<<<<<< SEARCH\n\n=======\nB\n>>>>>>> REPLACE\n");
	has_str(r.why, "is empty", "nothing to search for");
	r = edit(parent, "<<<<<<< SEARCH\na\n=======\nB\n");
	has_str(r.why, "has no end", "an edit that is cut off");
	r = edit(parent, "```diff\n--- a/k.c\n+++ b/k.c\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -4,2 +4,3 @@\n b\n d\n+e\n```\nDone.\n");
	is_kind_(&r, KW_REPLY_SOURCE, "a diff");
	is_str(r.source, "a\nB\nc\nb\nd\ne\n", "both parts of it");
	r = edit(parent, "```diff\n@@ -99,3 +7 @@\n c\n-b\n+B\n```\n");
	is_str(r.source, "a\nb\nc\nB\nd\n", "wrong line numbers do not matter");
	r = edit(parent, "```diff\n@@ -1 +1 @@\n-nothing like it\n+B\n```\n");
	is_kind_(&r, KW_REPLY_BAD_EDIT, "a diff of another text");
	r = edit(parent, "```diff\n@@ -0,0 +1 @@\n+B\n```\n");
	has_str(r.why, "no line of the parent", "a diff without context");
	r = edit(KERNEL("old"), "```c\n" KERNEL("new") "```\n");
	has_str(r.source, "new", "a whole file is taken with a parent too");
	ok(!r.edited, "and is no edit");
	r = edit(KERNEL("old"), "```diff\n@@ @@\n //@ kernel f args=(x, y, n:i64)\n void f(const float *x, float *y, int64_t n)\n {\n"
		 "-\t/* old */\n+\t/* new */\n }\n```\n");
	is_str(r.source, KERNEL("new"), "a diff that shows the whole kernel is still a diff");
	r = read_c("```diff\n@@ @@\n //@ kernel f args=(x, y)\n void f(void)\n-a\n+b\n```\n");
	ok(r.kind != KW_REPLY_SOURCE, "without a parent there is nothing to edit");
}

/* Cut off at every byte, a kernel is never half taken. */
static void test_cut_anywhere(void)
{
	static const char whole[] = "Text\n```c\n" KERNEL("whole") "```\n";
	const struct kw_reply_want w = { .marker = "//@" };
	int wrong = 0;

	for (size_t n = 0; n + 4 < sizeof(whole); n++) {
		struct kw_reply r;

		kw_reply_read(&w, whole, n, KW_FINISH_LENGTH, &arena, &r);
		wrong += r.kind == KW_REPLY_SOURCE;
	}
	is_int(wrong, 0, "no beginning of an answer at its limit is taken for a kernel");
}

int main(void)
{
	kw_arena_init(&arena, 64 << 20);
	test_folder("which-code-block", "void k(");
	test_folder("think-tags", NULL);
	test_blocks();
	test_wrapped();
	test_no_use();
	test_edits();
	test_odd_edits();
	test_cut_anywhere();
	kw_arena_release(&arena);
	return done();
}
