/* The ledger of predictions: what is added is there, and what two processes add at once is all there. */
#include <sys/wait.h>
#include <unistd.h>

#include "explain/ledger.h"
#include "explain/rule.h"
#include "tap.h"
#include "temp.h"

enum { WRITERS = 4, EACH = 25 };
static struct kw_arena arena;
static struct kw_error err;

static int writer(const char *dir, int number)
{
	struct kw_store *s = NULL;
	struct kw_arena own;
	int bad = kw_store_open(dir, false, &s, &err) != KW_OK;

	kw_arena_init(&own, 16 << 20);
	for (int i = 0; i < EACH && !bad; i++)
		bad = kw_ledger_add(s, "spills", 0.5, 0.1 * number, &own, &err) != KW_OK;
	kw_arena_release(&own);
	kw_store_close(s);
	return bad;
}

static void test_at_once(const char *dir)
{
	pid_t pid[WRITERS];
	int bad = 0;

	for (int i = 0; i < WRITERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(writer(dir, i));
	}
	for (int i = 0; i < WRITERS; i++) {
		int status = 1;

		bad += pid[i] < 0 || waitpid(pid[i], &status, 0) < 0 || status != 0;
	}
	is_int(bad, 0, "%d processes add %d times each", WRITERS, EACH);
}

int main(void)
{
	static const struct kw_rule rules[] = { { .name = "other" }, { .name = "spills" } };
	const char *dir = temp_file("ledger");
	struct kw_rule_record *records;
	struct kw_store *s = NULL;
	size_t n = 0;

	kw_arena_init(&arena, 16 << 20);
	is_int(kw_store_open(dir, false, &s, &err), KW_OK, "a store");
	is_int(kw_ledger_read(s, rules, 2, &arena, &records, &n, &err), KW_OK, "an empty ledger");
	is_int(n, 0, "has no record");
	kw_store_close(s);
	test_at_once(dir);
	is_int(kw_store_open(dir, false, &s, &err), KW_OK, "and again");
	is_int(kw_ledger_read(s, rules, 2, &arena, &records, &n, &err), KW_OK, "what they added");
	is_int(n, 1, "is one rule's");
	is_str(records[0].rule, "spills", "by its name");
	is_int(records[0].tried, WRITERS * EACH, "and nothing is lost");
	is_int(kw_store_kv_put(s, "rule", "spills", "{ no JSON", &err), KW_OK, "a record that is damaged");
	ok(kw_ledger_add(s, "spills", 0.5, 0.4, &arena, &err) != KW_OK, "is not written over");
	kw_error_reset(&err);
	is_int(kw_ledger_add(s, "other", 0, 0.4, &arena, &err), KW_OK, "and the next one works");
	kw_store_close(s);
	kw_arena_release(&arena);
	return done();
}
