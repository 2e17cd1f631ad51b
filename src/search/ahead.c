#include "search/ahead.h"

#include <pthread.h>
#include <stdatomic.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "device/device.h"
#include "search/space.h"

enum { THREADS_MAX = 32, BATCHES_OF_CORES = 2, BATCH_MIN = 4, SCRATCH_BYTES = 8 << 20 };

struct batch {
	const struct kw_candidate *const *list;
	size_t count;
	const struct kw_task *task;
	const struct kw_hardware *hw;
	bool large;
	int perf_case;
	const char *compiler;
	_Atomic size_t next;
};

/* Compilers run on this machine's cores, whatever device they compile for: a GPU's units are multiprocessors. */
static int threads_of(const struct kw_hardware *hw)
{
	int n = hw->limits.warp_size ? kw_host_cores() : hw->units;

	return n < 1 ? 1 : n < THREADS_MAX ? n : THREADS_MAX;
}

size_t kw_ahead_batch(const struct kw_hardware *hw)
{
	int n = BATCHES_OF_CORES * threads_of(hw);

	return (size_t)(n > BATCH_MIN ? n : BATCH_MIN);
}

static void build_one(const struct batch *b, const struct kw_candidate *c)
{
	const struct kw_backend *backend = kw_backend_find(c->backend);
	struct kw_build_opts o = { .compiler = b->compiler, .arch = b->hw->arch };
	struct kw_build_result r;
	struct kw_bound_plan bound;
	struct kw_arena scratch;
	int at = b->perf_case >= 0 ? b->perf_case : kw_space_case(c, b->task, b->hw, b->large, 0);

	kw_arena_init(&scratch, SCRATCH_BYTES);
	if (backend && at >= 0 &&
	    kw_space_bind(c, b->task, &b->task->cases[at], b->hw, c->tune_values, &scratch, &bound) &&
	    kw_build(backend, c, &bound, &o, &r, NULL) == KW_OK)
		kw_build_result_release(&r);
	kw_arena_release(&scratch);
}

void kw_ahead_build_one(const struct kw_candidate *c, const struct kw_task *t, int perf_case, const struct kw_hardware *hw, bool large,
			const char *compiler)
{
	struct batch b = { .task = t, .hw = hw, .large = large, .perf_case = perf_case, .compiler = compiler };

	build_one(&b, c);
}

static void *drain(void *arg)
{
	struct batch *b = arg;
	size_t i;

	while (!kw_interrupted() && (i = atomic_fetch_add(&b->next, 1)) < b->count)
		build_one(b, b->list[i]);
	return NULL;
}

void kw_ahead_build(const struct kw_candidate *const *list, size_t count, const struct kw_task *t, int perf_case,
		    const struct kw_hardware *hw, bool large, const char *compiler)
{
	struct batch b = { .list = list, .count = count, .task = t, .hw = hw, .large = large,
			   .perf_case = perf_case, .compiler = compiler };
	pthread_t id[THREADS_MAX];
	int started = 0, threads = threads_of(hw);

	if (count < 2 || threads < 2)
		return; /* nothing would be gained */
	while (started < threads - 1 && (size_t)started + 1 < count &&
	       pthread_create(&id[started], NULL, drain, &b) == 0)
		started++;
	drain(&b); /* this thread works too */
	for (int i = 0; i < started; i++)
		pthread_join(id[i], NULL);
}
