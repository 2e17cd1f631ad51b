#include "profile/device_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_KERNELS = 4096 };

void kw_device_events_init(struct kw_device_events *d, struct kw_launches *out)
{
	*d = (struct kw_device_events){ .out = out, .first = out->count };
	d->device_of = kw_calloc(MAX_KERNELS, sizeof(*d->device_of));
	out->full = out->full || !d->device_of;
}

static bool sizes(const int64_t in[3], int64_t out[3])
{
	bool good = true;

	for (size_t i = 0; i < 3; i++)
		good = good && in[i] > 0 && in[i] <= INT32_MAX;
	for (size_t i = 0; i < 3; i++)
		out[i] = good ? in[i] : 0;
	return good;
}

static struct kw_launch *launch_of(struct kw_device_events *d, const struct kw_device_event *e)
{
	struct kw_launches *l = d->out;
	struct kw_launch *k;
	int64_t grid[3], block[3];
	bool has_grid = sizes(e->grid, grid), has_block = sizes(e->block, block);

	for (size_t i = d->first; i < l->count; i++)
		if (memcmp(l->list[i]->grid, grid, sizeof(grid)) == 0 && memcmp(l->list[i]->block, block, sizeof(block)) == 0 &&
		    strcmp(l->list[i]->kernel, e->name) == 0)
			return l->list[i];
	if (l->count - d->first >= MAX_KERNELS) {
		d->left_out = true;
		return NULL;
	}
	k = kw_launches_add(l, kw_str_from(e->name), 0);
	if (!k)
		return NULL;
	d->device_of[l->count - 1 - d->first] = e->device;
	memcpy(k->grid, grid, sizeof(grid));
	memcpy(k->block, block, sizeof(block));
	k->value[KW_M_GPU] = 1;
	if (has_grid)
		kw_launch_set(k, KW_M_GRID, (double)grid[0] * (double)grid[1] * (double)grid[2]);
	if (has_block)
		kw_launch_set(k, KW_M_BLOCK, (double)block[0] * (double)block[1] * (double)block[2]);
	if (e->registers > 0)
		kw_launch_set(k, KW_M_REGISTERS, e->registers);
	if (e->smem_bytes >= 0)
		kw_launch_set(k, KW_M_DYNAMIC_SMEM, e->smem_bytes);
	return k;
}

static bool add_span(struct kw_device_events *d, double begin, double end)
{
	if (d->span_count == d->span_cap) {
		size_t n = d->span_cap ? d->span_cap * 2 : 1024;
		struct kw_device_span *grown = kw_realloc(d->spans, n * sizeof(*grown));

		if (!grown) {
			d->out->full = true;
			return false;
		}
		d->spans = grown;
		d->span_cap = n;
	}
	d->spans[d->span_count++] = (struct kw_device_span){ begin, end };
	return true;
}

void kw_device_event(struct kw_device_events *d, const struct kw_device_event *e)
{
	double times;
	struct kw_launch *k;

	if (!d->device_of || !(e->us >= 0 && e->us < 1e12) || !(fabs(e->begin_us) < 1e18) || !add_span(d, e->begin_us, e->begin_us + e->us))
		return;
	if (!e->name || !e->name[0] || !(e->us > 0) || !(k = launch_of(d, e)))
		return;
	times = kw_launch_has(k, KW_M_INVOCATIONS) ? k->value[KW_M_INVOCATIONS] : 0;
	k->value[KW_M_DURATION_NS] = ((times > 0 ? k->value[KW_M_DURATION_NS] * times : 0) + e->us * 1e3) / (times + 1);
	k->value[KW_M_INVOCATIONS] = times + 1;
}

static int earlier(const void *x, const void *y)
{
	const struct kw_device_span *p = x, *q = y;

	return p->begin < q->begin ? -1 : p->begin > q->begin;
}

/* How long the device had something to do between its first kernel and its last. */
static void idle(struct kw_device_events *d)
{
	double busy = 0, end, begin;
	struct kw_launch *k;

	if (d->span_count < 10)
		return;
	qsort(d->spans, d->span_count, sizeof(*d->spans), earlier);
	begin = end = d->spans[0].begin;
	for (size_t i = 0; i < d->span_count; i++) {
		if (d->spans[i].end > end)
			busy += d->spans[i].end - fmax(end, d->spans[i].begin);
		end = fmax(end, d->spans[i].end);
	}
	if (!(busy > 0) || !(busy < 0.7 * (end - begin)))
		return;
	k = kw_launches_add(d->out, KW_STR("the device, from its first kernel to its last"), 0);
	if (!k)
		return;
	memmove(d->out->list + 1, d->out->list, (d->out->count - 1) * sizeof(*d->out->list));
	d->out->list[0] = k;
	k->value[KW_M_GPU] = 1;
	kw_launch_set(k, KW_M_DURATION_NS, (end - begin) * 1e3);
	kw_launch_set(k, KW_M_TRACE_BUSY, busy * 1e3);
	kw_launch_set(k, KW_M_TRACE_EVENTS, (double)d->span_count);
}

bool kw_device_events_finish(struct kw_device_events *d)
{
	bool any = d->out->count > d->first;

	if (d->left_out)
		kw_launches_note(d->out, 0, "only the first %d kernels with their grids were read", MAX_KERNELS);
	if (any) {
		kw_launches_note(d->out, 0,
				 "these are times and launches, and no counters; what limits a kernel takes Nsight Compute: ncu --set full --csv -k "
				 "regex:NAME PROGRAM");
		idle(d);
	}
	kw_free(d->spans);
	kw_free(d->device_of);
	d->spans = NULL;
	d->device_of = NULL;
	return any;
}
