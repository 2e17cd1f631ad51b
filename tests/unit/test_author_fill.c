#include "tap.h"

#include "author/fill.h"

static const char *fill(const char *pattern, const struct kw_fill *f, struct kw_error *err)
{
	static struct kw_buf b;
	enum kw_status st;

	kw_buf_release(&b);
	kw_buf_init(&b, 1 << 16);
	st = kw_fill_pattern("p.c", pattern, strlen(pattern), f, &b, err);
	return st == KW_OK ? b.ptr : kw_status_name(st);
}

static void slots(void)
{
	struct kw_fill f = { 0 }, items[2] = { 0 };
	struct kw_error err = { 0 };

	kw_fill_set(&f, "body", "y[i] = x[i] + 1;\n#pragma once\nz = 2;\n");
	is_str(fill("{\n\t//< body\n\ty[i] = x[i];\n\t//>\n}\n", &f, &err),
	       "{\n\ty[i] = x[i] + 1;\n#pragma once\n\tz = 2;\n}\n",
	       "a slot takes its marker's indentation");
	is_str(fill("a\n//< other\nb\n//>\nc\n", &f, &err), "a\nc\n",
	       "a slot that nobody fills is empty");
	is_str(fill("//@ pattern p family=f backend=c\n//@ why because\n//@ tune A in {1} default "
		    "1\n",
		    &f, &err),
	       "//@ tune A in {1} default 1\n",
	       "the pattern's own header stays behind, its plan lines come");
	kw_fill_set(&items[0], "body", "one;\n");
	kw_fill_set(&items[1], "body", "two;\n");
	kw_fill_list(&f, "stage", items, 2);
	is_str(fill("//< for stage\n(\n//< body\n//>\n)\n//>\n", &f, &err),
	       "(\none;\n)\n(\ntwo;\n)\n", "a repeated slot comes once for each item");
	is_str(fill("//< for nothing\n(\n//>\nend\n", &f, &err), "end\n", "or not at all");
}

static void examples(void)
{
	const char *text = "a\n//< plan\nb\n//< body\nc\n//>\nd\n//>\n//< empty\n//>\n//< open\ne\n";
	struct kw_str s = kw_fill_example(text, strlen(text), "plan");

	ok(kw_str_eqz(s, "b\n//< body\nc\n//>\nd\n"), "the example of a slot, with what is in it");
	is_int(kw_fill_example(text, strlen(text), "empty").len, 0, "one without lines");
	is_int(kw_fill_example(text, strlen(text), "other").len, 0, "a slot that is not there");
	is_int(kw_fill_example(text, strlen(text), "open").len, 0, "a slot that does not end");
}

static void mistakes(void)
{
	struct kw_fill f = { 0 };
	struct kw_error err = { 0 };

	is_str(fill("a\n//< body\nb\n", &f, &err), "KW_ERR_INPUT", "a slot that does not end");
	is_str(err.where, "p.c:2", "is named by its line");
	is_str(fill("a\n//>\n", &f, &err), "KW_ERR_INPUT", "an end without a slot");
	is_str(err.where, "p.c:2", "is named too");
	for (int i = 0; i < KW_FILL_SLOTS; i++)
		kw_fill_set(&f, "x", "");
	ok(!kw_fill_set(&f, "x", ""), "there is a limit of slots");
	ok(!kw_fill_set(&(struct kw_fill){ 0 }, "x", NULL), "no text, no slot");
	ok(kw_fill_has("//< for stage\n//>\n", 18, "for stage") &&
		   !kw_fill_has("//< for stage\n//>\n", 18, "stage"),
	   "a pattern can be asked for its slots");
}

int main(void)
{
	slots();
	examples();
	mistakes();
	return done();
}
