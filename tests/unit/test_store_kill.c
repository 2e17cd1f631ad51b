/* kill -9 at any moment loses no verdict that was acknowledged; two writers lose nothing. */
#include <signal.h>

#include "base/clock.h"
#include "store/db.h"
#include "store_help.h"
#include "tap.h"
#include "temp.h"

enum { KILLS = 20, WRITERS = 3, EACH = 60 };

static struct kw_error err;

/* Writes verdicts until it is killed; tells each number on the pipe once the store has it. */
static void write_forever(const char *dir, int out)
{
	struct kw_store *s;
	int64_t run, id = 0;

	if (kw_store_open(dir, false, &s, &err) != KW_OK || (run = new_run(s)) < 0)
		_exit(1);
	for (int i = 0; put(s, run, "c", "", "screen", 1 + i, &id, &err) == KW_OK; i++)
		if (write(out, &id, sizeof(id)) != sizeof(id))
			break;
	_exit(1);
}

static bool is_there(struct kw_store *s, int64_t id)
{
	int64_t got = 0;
	bool found = false;

	kw_db_one_i64(s, NULL, &got, &found, "SELECT id FROM verdicts WHERE id = ?", "i", id);
	return found;
}

static void test_kill(void)
{
	char dir[PATH_MAX];
	struct kw_store *s;
	struct kw_chain_report chain = { 0 };
	int64_t id, acknowledged = 0, lost = 0, dirty = 0;

	snprintf(dir, sizeof(dir), "%s", temp_file("kill"));
	for (int i = 0; i < KILLS; i++) {
		int fds[2];
		pid_t pid;

		if (pipe(fds) != 0 || (pid = fork()) < 0)
			exit(2);
		if (pid == 0) {
			close(fds[0]);
			write_forever(dir, fds[1]);
		}
		close(fds[1]);
		/* At a random moment: the first ones while it makes the store. */
		kw_sleep_ns((int64_t)(kw_random_u64() % (i < 5 ? 6000000 : 40000000)));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (kw_store_open(dir, false, &s, &err) != KW_OK) {
			dirty++;
			diag("%s: %s", err.where, err.text);
			continue;
		}
		while (read(fds[0], &id, sizeof(id)) == sizeof(id)) {
			acknowledged++;
			lost += !is_there(s, id);
		}
		close(fds[0]);
		if (kw_store_chain_check(s, &chain, &err) != KW_OK || chain.first_bad)
			dirty++;
		kw_store_close(s);
	}
	diag("%lld acknowledged, %lld stored", (long long)acknowledged, (long long)chain.links);
	is_int(dirty, 0, "the store opens clean after each kill, with a whole chain");
	is_int(lost, 0, "no acknowledged verdict is lost");
	ok(chain.links >= acknowledged, "none is counted twice");
}

static void test_writers(void)
{
	char dir[PATH_MAX];
	struct kw_store *s;
	struct kw_chain_report chain;
	int bad = 0, status;

	snprintf(dir, sizeof(dir), "%s", temp_file("writers"));
	/* They also make the store, all at once. */
	for (int w = 0; w < WRITERS; w++) {
		if (fork() == 0) {
			int64_t id, run;

			if (kw_store_open(dir, false, &s, &err) != KW_OK || (run = new_run(s)) < 0) {
				fprintf(stderr, "# %s: %s\n", err.where, err.text);
				_exit(1);
			}
			for (int i = 0; i < EACH; i++) {
				if (put(s, run, "c", "", "screen", 1 + i, &id, &err) == KW_OK)
					continue;
				fprintf(stderr, "# %s: %s\n", err.where, err.text);
				_exit(1);
			}
			kw_store_close(s);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		bad += status != 0;
	is_int(bad, 0, "several writers at once: none fails");
	kw_store_open(dir, true, &s, &err);
	kw_store_chain_check(s, &chain, &err);
	is_int(chain.links, WRITERS * EACH, "nothing is lost");
	is_int(chain.first_bad, 0, "and the chain is whole");
	kw_store_close(s);
}

int main(void)
{
	test_kill();
	test_writers();
	return done();
}
