/* Jobs over resident processes: who is free gets the next few; a step that takes too long ends its process, and the rest of what
 * that one had goes to the next. A job whose process died by itself is tried once more. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "ops/bench_internal.h"

enum { WORKERS_MAX = 64, POLL_MS = 100, TRIES = 2 };
#define GPU "nvidia"

struct seat {
	struct kw_bench_worker worker;
	struct kw_bench_job *batch[KW_BENCH_BATCH];
	size_t count;                     /* 0: free */
	struct kw_bench_job *at;          /* NULL: none of them alone */
	int64_t deadline_ns;
};

struct hall {
	struct kw_bench_pool *p;
	struct seat seat[WORKERS_MAX];
	size_t seats;
	struct kw_error *err;
};

static struct kw_bench_job *next_job(struct kw_bench_pool *p, const struct hall *h)
{
	for (size_t i = 0; i < p->count; i++) {
		bool taken = p->jobs[i].done;

		for (size_t s = 0; s < h->seats && !taken; s++)
			for (size_t k = 0; k < h->seat[s].count && !taken; k++)
				taken = h->seat[s].batch[k] == &p->jobs[i];
		if (!taken)
			return &p->jobs[i];
	}
	return NULL;
}

static enum kw_status finish(struct hall *h, struct kw_bench_job *job, const json_t *message, const char *fate)
{
	job->done = true;
	return h->p->done(h->p->arg, job, message, fate, h->err);
}

/* Small batches where several processes share the rest. */
static size_t batch_size(const struct hall *h)
{
	size_t left = 0, share;

	for (size_t i = 0; i < h->p->count; i++)
		left += !h->p->jobs[i].done;
	share = left / (2 * h->seats) + 1;
	share = h->seats == 1 ? h->p->batch : share;
	return share < h->p->batch ? share : h->p->batch;
}

static enum kw_status give(struct hall *h, struct seat *s)
{
	size_t most = batch_size(h);
	json_t *items = json_array(), *batch;
	enum kw_status status = KW_OK;
	struct kw_bench_job *job;

	s->count = 0;
	s->at = NULL;
	while (items && s->count < most && s->count < KW_BENCH_BATCH && (job = next_job(h->p, h))) {
		/* What ended a process may do it again: alone then, so that no other is lost with it. */
		if (job->tries && s->count)
			break;
		s->batch[s->count++] = job;
		json_array_append(items, job->item);
		if (job->tries)
			break;
	}
	if (s->count == 0) {
		json_decref(items);
		return KW_OK;
	}
	if (s->worker.pid <= 0)
		status = kw_bench_worker_start(&s->worker, h->p->args, h->p->config, h->err);
	batch = json_pack("{s:o}", "items", items);
	if (status == KW_OK && !batch)
		status = kw_fail(h->err, KW_ERR_NOMEM, "", "out of memory for the benchmark");
	if (status == KW_OK)
		kw_bench_worker_tell(&s->worker, batch);
	json_decref(batch);
	s->deadline_ns = kw_now_ns() + h->p->limit_ns;
	return status;
}

static struct kw_bench_job *job_of(const struct seat *s, const char *key)
{
	for (size_t k = 0; key && k < s->count; k++)
		if (strcmp(s->batch[k]->key, key) == 0)
			return s->batch[k];
	return NULL;
}

static enum kw_status hear(struct hall *h, struct seat *s, const json_t *j)
{
	const char *at = kw_json_get_str(j, "at", NULL), *done = kw_json_get_str(j, "done", NULL);
	struct kw_bench_job *job = job_of(s, at ? kw_json_get_str(j, "key", NULL) : done);

	s->deadline_ns = kw_now_ns() + h->p->limit_ns;
	if (at) {
		s->at = job;
		if (h->p->step)
			h->p->step(h->p->arg, job, at);
		return KW_OK;
	}
	if (done) {
		s->at = NULL;
		return job && !job->done ? finish(h, job, j, NULL) : KW_OK;
	}
	if (kw_json_get_str(j, "batch", NULL)) {
		s->count = 0;
		return KW_OK;
	}
	return kw_fail(h->err, KW_ERR_BUG, "", "the benchmark's process said something unknown");
}

/* The process is gone, or is ended now. fate NULL: at its limit. */
static enum kw_status lose(struct hall *h, struct seat *s, const char *fate)
{
	struct kw_bench_job *job = s->at;
	enum kw_status status = KW_OK;

	kw_bench_worker_end(&s->worker);
	if (job && !job->done && !fate)
		status = finish(h, job, NULL, NULL);
	/* Without a job of its own the fault may be any one's of the batch. */
	for (size_t k = 0; status == KW_OK && k < s->count; k++) {
		struct kw_bench_job *b = s->batch[k];

		if (!b->done && (job ? b == job : true) && ++b->tries >= TRIES)
			status = finish(h, b, NULL, fate);
	}
	s->count = 0;
	s->at = NULL;
	return status;
}

static enum kw_status listen(struct hall *h, struct seat *s)
{
	enum kw_status read = kw_bench_worker_read(&s->worker, h->err), status = KW_OK;
	char fate[80];

	if (read != KW_OK && read != KW_NO)
		return read;
	while (status == KW_OK) {
		json_t *j;

		status = kw_bench_worker_next(&s->worker, &j, h->err);
		if (status == KW_OK && !j)
			break;
		if (status == KW_OK)
			status = hear(h, s, j);
		json_decref(j);
	}
	if (status == KW_OK && read == KW_NO)
		status = lose(h, s, kw_bench_worker_fate(&s->worker, fate, sizeof(fate)));
	return status;
}

static enum kw_status wait_for(struct hall *h)
{
	struct pollfd fds[WORKERS_MAX];
	struct seat *who[WORKERS_MAX];
	nfds_t n = 0;
	int64_t now;
	enum kw_status status = KW_OK;

	for (size_t i = 0; i < h->seats; i++)
		if (h->seat[i].count) {
			who[n] = &h->seat[i];
			fds[n++] = (struct pollfd){ .fd = h->seat[i].worker.from, .events = POLLIN };
		}
	poll(fds, n, POLL_MS);
	now = kw_now_ns();
	for (nfds_t i = 0; status == KW_OK && i < n; i++) {
		if (fds[i].revents)
			status = listen(h, who[i]);
		if (status == KW_OK && who[i]->count && now > who[i]->deadline_ns)
			status = lose(h, who[i], NULL);
	}
	return status;
}

static bool is_busy(const struct hall *h)
{
	for (size_t i = 0; i < h->seats; i++)
		if (h->seat[i].count)
			return true;
	return false;
}

static bool has_gpu(void)
{
	const char *named = getenv("CUDA_VISIBLE_DEVICES");
	char path[64];

	for (int i = 0; i < WORKERS_MAX; i++) {
		snprintf(path, sizeof(path), "/dev/nvidia%d", i);
		if (kw_path_exists(path))
			return !named || *named;
	}
	return false;
}

const char *kw_bench_device_of(const char *backend)
{
	const struct kw_backend *b = backend ? kw_backend_find(backend) : NULL;

	if (b && b->checker && strcmp(b->checker, GPU) == 0 && has_gpu())
		return GPU;
	return b && kw_device_find(b->device) ? b->device : "cpu";
}

/* Those that the environment names, else those that have a device file. */
enum kw_status kw_bench_gpus(const char *device, int most, struct kw_arena *a, const char *const **out, size_t *count,
			     struct kw_error *err)
{
	const char *named = getenv("CUDA_VISIBLE_DEVICES");
	const char **list = kw_arena_calloc(a, WORKERS_MAX, sizeof(*list));
	struct kw_str rest = kw_str_from(named), part;
	size_t n = 0;
	char path[64];
	bool good = list != NULL;

	*out = NULL;
	*count = 0;
	if (!good)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (strcmp(device, GPU) != 0)
		return KW_OK;
	while (named && n < WORKERS_MAX && kw_str_split(&rest, ',', &part))
		if (kw_str_trim(part).len)
			good = (list[n++] = kw_arena_str(a, kw_str_trim(part))) != NULL && good;
	for (int i = 0; !named && n < WORKERS_MAX && i < WORKERS_MAX; i++) {
		snprintf(path, sizeof(path), "/dev/nvidia%d", i);
		if (kw_path_exists(path)) {
			list[n] = kw_arena_printf(a, "%zu", n);
			good = list[n++] != NULL && good;
		}
	}
	if (!good)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	n = most > 0 && (size_t)most < n ? (size_t)most : n;
	*out = n > 1 || (most > 0 && n) ? list : NULL; /* one alone is what everybody gets */
	*count = *out ? n : 0;
	return KW_OK;
}

enum kw_status kw_bench_pool_run(struct kw_bench_pool *p, struct kw_error *err)
{
	struct hall h = { .p = p, .err = err, .seats = p->gpu_count ? p->gpu_count : 1 };
	enum kw_status status = KW_OK;

	h.seats = h.seats < WORKERS_MAX ? h.seats : WORKERS_MAX;
	h.seats = h.seats < p->count ? h.seats : p->count;
	for (size_t i = 0; i < h.seats; i++)
		h.seat[i].worker.gpu = p->gpus ? p->gpus[i] : NULL;
	while (status == KW_OK) {
		for (size_t i = 0; status == KW_OK && i < h.seats; i++)
			if (!h.seat[i].count)
				status = give(&h, &h.seat[i]);
		if (status != KW_OK || !is_busy(&h))
			break;
		status = wait_for(&h);
		if (status == KW_OK && kw_interrupted())
			status = kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	}
	for (size_t i = 0; i < h.seats; i++)
		kw_bench_worker_end(&h.seat[i].worker);
	return status;
}
