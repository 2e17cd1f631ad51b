/* Readers: everything once and in order, not too far ahead, and no wait for what was not begun. */
#include "tap.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "ops/bench_internal.h"

enum { COUNT = 40, AHEAD = 3 };

static _Atomic int reads[COUNT];
static _Atomic size_t at, farthest;       /* who works is at; the most that a reader was ahead of that */

static void read_one(void *arg, size_t i)
{
	size_t before = atomic_load(&at), far = i > before ? i - before : 0, most = atomic_load(&farthest);

	(void)arg;
	while (far > most && !atomic_compare_exchange_weak(&farthest, &most, far))
		;
	kw_sleep_ns(200000);
	atomic_fetch_add(&reads[i], 1);
}

int main(void)
{
	struct kw_bench_readers *r = kw_bench_readers_new(3, COUNT, AHEAD, read_one, NULL);
	bool good = r != NULL;
	int sum = 0;

	ok(r != NULL, "readers begin");
	for (size_t i = 0; r && i < COUNT; i++) {
		atomic_store(&at, i);
		kw_bench_readers_wait(r, i);
		good = good && atomic_load(&reads[i]) == 1;
	}
	kw_bench_readers_free(r);
	ok(good, "each is read once before the wait for it ends");
	/* A reader may have begun just before `at` was moved on. */
	ok(farthest <= AHEAD + 2, "none was read %zu ahead", (size_t)farthest);

	for (int i = 0; i < COUNT; i++)
		atomic_store(&reads[i], 0);
	r = kw_bench_readers_new(2, COUNT, AHEAD, read_one, NULL);
	if (r)
		kw_bench_readers_wait(r, 0);
	kw_bench_readers_free(r);
	for (int i = 0; i < COUNT; i++)
		sum += atomic_load(&reads[i]);
	ok(sum >= 1 && sum <= AHEAD + 3, "what is given up is not read to its end: %d", sum);
	ok(kw_bench_readers_new(0, COUNT, AHEAD, read_one, NULL) == NULL, "no threads, no readers");
	kw_bench_readers_free(NULL);
	return done();
}
