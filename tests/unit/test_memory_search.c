#include "tap.h"
#include "temp.h"

#include "memory/memory.h"

static struct kw_arena arena;
static struct kw_error err;

static size_t search(struct kw_store *s, const char *words, int limit, struct kw_memory_row **rows)
{
	size_t n;

	if (!ok(kw_memory_search(s, words, limit, &arena, rows, &n, &err) == KW_OK, "search '%s'",
		words)) {
		diag("%s", err.text);
		return 0;
	}
	return n;
}

static void knowledge(void)
{
	struct kw_memory_row *r;
	size_t n = search(NULL, "", 0, &r), all = n;

	ok(n >= 6, "no words: all there is");
	n = search(NULL, "matmul packed", 0, &r);
	if (ok(n >= 1, "words find a pattern")) {
		is_str(r[0].name, "matmul", "the best one first");
		is_str(r[0].kind, "pattern", "as what it is");
	}
	is_int(search(NULL, "zzyzx", 0, &r), 0, "nothing for a word that nothing has");
	ok(search(NULL, "", 2, &r) == 2 && all > 2, "at most the limit");
	is_int(search(NULL, "\"' * - ^", 0, &r), (int64_t)search(NULL, "", 0, &r),
	       "signs are no words");
}

static void experience(void)
{
	struct kw_store *s = NULL;
	struct kw_task t;
	struct kw_expr *e;
	struct kw_candidate c = { .name = "row_reduce",
				  .origin = "pattern:row_reduce",
				  .backend = "c" };
	struct kw_verdict v;
	struct kw_memory_row *r;
	const char *inputs[] = { "x:f32[rows=64,cols=128]" };
	size_t n;

	setenv("XDG_DATA_HOME", temp_dir(), 1);
	if (!ok(kw_store_memory_open(&s, &err) == KW_OK, "open a memory"))
		return;
	ok(kw_task_parse_line(&t, "softmax(x, axis=-1)", inputs, 1, &err) == KW_OK &&
		   kw_expr_complete_task(&t, &err) == KW_OK &&
		   kw_expr_parse(&t, &arena, &e, &err) == KW_OK,
	   "a task");
	kw_verdict_init(&v);
	v.device = "cpu";
	v.tune = "STRIP=64";
	v.geomean_speedup = 11.5;
	snprintf(v.summary, sizeof(v.summary), "right, 11.5x the plover baseline");
	v.cls = KW_V_NOT_APPLICABLE;
	ok(kw_memory_learn(s, &t, e, &c, &v, &err) == KW_OK, "not applicable teaches nothing");
	is_int(search(s, "plover", 0, &r), 0, "and is not there");
	v.cls = KW_V_OK;
	ok(kw_memory_learn(s, &t, e, &c, &v, &err) == KW_OK, "learn a verdict");
	v.cls = KW_V_WRONG;
	v.subclass = KW_S_MISMATCH;
	ok(kw_memory_learn(s, &t, e, &c, &v, &err) == KW_OK, "and a wrong one");
	ok(kw_memory_learn(NULL, &t, e, &c, &v, &err) == KW_OK, "without a memory nothing happens");
	n = search(s, "plover", 0, &r);
	is_int(n, 2, "both are found by a word of their summary");
	for (size_t i = 0; i < n; i++) {
		is_str(r[i].kind, "verdict", "a verdict");
		is_str(r[i].family, "row_reduce", "its family");
		is_str(r[i].dtype, "f32", "its dtype");
		has_str(r[i].text, "STRIP=64", "its tune point");
		has_str(r[i].text, "softmax(x, axis=-1)", "its expression");
	}
	n = search(s, "softmax pattern", 0, &r);
	ok(n > 2, "patterns and experience in one list");
	kw_verdict_release(&v);
	kw_task_release(&t);
	kw_store_close(s);
}

int main(void)
{
	kw_arena_init(&arena, 64 << 20);
	knowledge();
	experience();
	kw_arena_release(&arena);
	return done();
}
