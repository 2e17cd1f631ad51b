/* alloc, arena, status and error. */
#include "base/alloc.h"

#include "base/arena.h"
#include "base/error.h"
#include "tap.h"

static void test_alloc(void)
{
	char *p = kw_alloc(0), *q;

	ok(p != NULL, "0 bytes give a pointer");
	kw_free(p);
	kw_free(NULL);
	ok(!kw_alloc(SIZE_MAX), "SIZE_MAX fails");
	ok(!kw_calloc(SIZE_MAX / 2, 3), "an overflowing product fails");
	p = kw_strdup("abc");
	q = kw_realloc(p, 1000);
	is_str(q, "abc", "realloc keeps the bytes");
	ok(!kw_realloc(q, SIZE_MAX), "realloc to SIZE_MAX fails");
	is_str(q, "abc", "and leaves the old one");
	kw_free(q);
	setenv("KW_FAIL_ALLOC", "3", 1);
	kw_fail_reload();
	for (int i = 1; i <= 5; i++) {
		p = kw_alloc(1);
		ok((p == NULL) == (i == 3), "KW_FAIL_ALLOC=3, allocation %d", i);
		kw_free(p);
	}
	unsetenv("KW_FAIL_ALLOC");
	kw_fail_reload();
	ok(!kw_fail_nth("KW_FAIL_ALLOC"), "not set: never");
	ok(!kw_fail_nth("KW_NO_SUCH"), "another name: never");
}

static void test_arena(void)
{
	struct kw_arena a;
	bool aligned = true, filled = true;
	char *first, *p;

	kw_arena_init(&a, 1 << 20);
	for (int i = 0; i < 1000; i++) {
		p = kw_arena_alloc(&a, (size_t)i);
		aligned = aligned && p && (uintptr_t)p % 16 == 0;
		if (p)
			memset(p, i, (size_t)i);
	}
	ok(aligned, "1,000 allocations, all aligned to 16");
	p = kw_arena_calloc(&a, 100, 3);
	for (int i = 0; p && i < 300; i++)
		filled = filled && p[i] == 0;
	ok(filled, "calloc is zero");
	ok(!kw_arena_calloc(&a, SIZE_MAX, 2), "an overflowing product fails");
	ok(!kw_arena_alloc(&a, SIZE_MAX), "SIZE_MAX fails");
	ok(!kw_arena_alloc(&a, 1 << 20), "over the maximum fails");
	first = kw_arena_printf(&a, "%s/%d", "dir", 7);
	is_str(first, "dir/7", "printf");
	is_str(kw_arena_strndup(&a, "abcdef", 3), "abc", "strndup cuts");
	is_str(kw_arena_str(&a, KW_STR("view")), "view", "a view");
	kw_arena_reset(&a);
	is_int(a.used_bytes, 0, "reset forgets all");
	ok(kw_arena_alloc(&a, 500000) != NULL, "and the room is there again");
	kw_arena_release(&a);
	kw_arena_release(&a);
	kw_arena_init(&a, 64);
	ok(kw_arena_alloc(&a, 64) != NULL, "the whole of a small arena");
	ok(!kw_arena_alloc(&a, 1), "and nothing more");
	kw_arena_release(&a);
}

static void test_status(void)
{
	is_str(kw_status_name(KW_ERR_IO), "KW_ERR_IO", "a name");
	is_str(kw_status_text(KW_OK), "ok", "a text");
	is_int(kw_status_exit(KW_NO), 1, "no is exit code 1");
	is_int(kw_status_exit(KW_ERR_NOT_FOUND), 2, "not found is 2");
	is_int(kw_status_exit(KW_ERR_STORE), 3, "the store is 3");
	is_int(kw_status_exit(KW_ERR_INTERRUPTED), 4, "interrupted is 4");
	is_int(kw_status_exit(KW_ERR_BUG), 5, "a bug is 5");
	is_int(kw_status_exit((enum kw_status)999), 5, "an unknown status is a bug");
	ok(kw_status_name((enum kw_status)999) != NULL, "with a name");
}

static void test_error(void)
{
	struct kw_error e = { 0 };
	char line[64], longer[4000];

	is_int(kw_fail(&e, KW_ERR_INPUT, "a.yaml:3", "no '%s'", "x"), KW_ERR_INPUT, "returns it");
	is_str(kw_error_line(&e, line, sizeof(line)), "a.yaml:3: no 'x'", "place and text");
	is_int(kw_error_while(&e, "reading %s", "tasks"), KW_ERR_INPUT, "while keeps the status");
	is_str(e.text, "no 'x' (while reading tasks)", "and says what was done");
	kw_fail(&e, KW_ERR_IO, e.where, "again: %s", e.text);
	is_str(e.text, "again: no 'x' (while reading tasks)", "may quote itself");
	is_str(e.where, "a.yaml:3", "and keep its place");
	kw_fail(&e, KW_ERR_INPUT, "k.c:1:1", "bad\n  x\n  ^");
	kw_error_while(&e, "reading");
	is_str(e.text, "bad (while reading)\n  x\n  ^", "lines that show a place stay last");
	is_int(kw_fail(NULL, KW_ERR_IO, NULL, "dropped"), KW_ERR_IO, "NULL drops the text");
	kw_fail(&e, KW_ERR_IO, NULL, "bare");
	is_str(kw_error_line(&e, line, sizeof(line)), "bare", "no place");
	memset(longer, 'x', sizeof(longer));
	memcpy(longer + 1534, "\xc3\xa9", 2); /* would be cut in the middle */
	longer[sizeof(longer) - 1] = '\0';
	kw_fail(&e, KW_ERR_IO, longer, "%s", longer);
	is_int(strlen(e.where), sizeof(e.where) - 1, "a long place is cut");
	is_int(strlen(e.text), sizeof(e.text) - 2, "a long text before the letter it would halve");
	kw_error_reset(&e);
	is_str(kw_error_line(&e, line, sizeof(line)), "", "reset");
}

static int scenario(void *unused)
{
	struct kw_arena a;
	int rc = 0;

	(void)unused;
	kw_arena_init(&a, 64 << 20);
	for (int i = 0; i < 200 && rc == 0; i++)
		rc = kw_arena_alloc(&a, 10000) ? 0 : 1;
	kw_arena_release(&a);
	return rc;
}

int main(void)
{
	test_alloc();
	test_arena();
	test_status();
	test_error();
	fails_cleanly("KW_FAIL_ALLOC", 100, scenario, NULL, "an arena");
	return done();
}
