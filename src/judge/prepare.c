#include "judge/internal.h"

#include "base/alloc.h"

#include <pthread.h>

#define AHEAD_SHARE 0.25 /* of the available memory that waiting stages may take together */

struct prepare {
	pthread_t thread;
	struct stage **stages;
	size_t count;
	enum kw_status status;
	struct kw_error err;
};

static void *run(void *arg)
{
	struct prepare *p = arg;
	bool started = false;
	double left = p->count ? (double)kw_device_memory_available(p->stages[0]->w->j->dev) * AHEAD_SHARE : 0;

	for (size_t i = 0; i < p->count && p->status == KW_OK; i++) {
		struct stage *s = p->stages[i];
		double bytes = s->plan.applicable ? kw_stage_bytes(s) : 0;

		if (!s->plan.applicable || bytes > left)
			continue; /* opened when its turn comes */
		left -= bytes;
		p->status = kw_stage_open(s, !started || !s->w->j->dev->players_are_dear, &p->err);
		started = true;
	}
	return NULL;
}

struct prepare *kw_prepare_begin(struct stage **stages, size_t count)
{
	struct prepare *p = kw_calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->stages = stages;
	p->count = count;
	if (pthread_create(&p->thread, NULL, run, p) == 0)
		return p;
	kw_free(p);
	return NULL;
}

enum kw_status kw_prepare_end(struct prepare *p, struct kw_error *err)
{
	enum kw_status st;

	if (!p)
		return KW_OK;
	pthread_join(p->thread, NULL);
	st = p->status;
	if (st != KW_OK && err)
		*err = p->err;
	kw_free(p);
	return st;
}
