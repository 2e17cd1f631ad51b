#include "profile/launches.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NOTES = 60, MAX_UNKNOWN = 64, MAX_OUTCOMES = 256, MAX_PLACES = 400 };

const char *kw_outcome_name(enum kw_outcome o)
{
	static const char *const names[] = {
#define X(e, name) name,
		KW_OUTCOME_LIST(X)
#undef X
	};

	return names[o];
}

void kw_launches_init(struct kw_launches *l, struct kw_arena *a, const char *file)
{
	*l = (struct kw_launches){ .arena = a, .file = file, .form = "" };
}

/* Doubles a list of pointers in the arena; what was there before is left behind. */
static void *grown(struct kw_launches *l, const void *old, size_t count, size_t *cap)
{
	size_t n = *cap ? *cap * 2 : 32;
	void **list = kw_arena_calloc(l->arena, n, sizeof(void *));

	if (!list) {
		l->full = true;
		return NULL;
	}
	if (count)
		memcpy(list, old, count * sizeof(void *));
	*cap = n;
	return list;
}

struct kw_launch *kw_launches_add(struct kw_launches *l, struct kw_str kernel, int line)
{
	struct kw_launch *k = kw_arena_calloc(l->arena, 1, sizeof(*k));

	if (k && l->count == l->cap) {
		struct kw_launch **list = grown(l, l->list, l->count, &l->cap);

		if (!list)
			return NULL;
		l->list = list;
	}
	if (!k) {
		l->full = true;
		return NULL;
	}
	k->kernel = kw_launches_intern(l, kernel);
	k->id = k->device = "";
	k->line = line;
	k->owner = l;
	for (int m = 0; m < KW_M_COUNT; m++)
		k->value[m] = NAN;
	l->list[l->count++] = k;
	return k;
}

const char *kw_launches_intern(struct kw_launches *l, struct kw_str s)
{
	char *copy;

	/* Newest first: rows of one launch follow each other. */
	for (size_t i = l->interned_count; i-- > 0;)
		if (kw_str_eqz(s, l->interned[i]))
			return l->interned[i];
	copy = kw_arena_str(l->arena, s);
	if (!copy) {
		l->full = true;
		return "";
	}
	if (l->interned_count == l->interned_cap && l->interned_cap < 4096) {
		const char **list = grown(l, l->interned, l->interned_count, &l->interned_cap);

		if (!list)
			return copy;
		l->interned = list;
	}
	if (l->interned_count < l->interned_cap)
		l->interned[l->interned_count++] = copy;
	return copy;
}

void kw_launches_note(struct kw_launches *l, int line, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < l->note_count; i++)
		if (strcmp(l->notes[i].text, text) == 0) {
			l->notes[i].count++;
			return;
		}
	if (!l->notes)
		l->notes = kw_arena_calloc(l->arena, MAX_NOTES, sizeof(*l->notes));
	if (!l->notes || l->note_count == MAX_NOTES)
		return;
	l->notes[l->note_count] = (struct kw_note){ line, kw_arena_strdup(l->arena, text), 1 };
	if (l->notes[l->note_count].text)
		l->note_count++;
}

void kw_launches_outcome(struct kw_launches *l, enum kw_outcome o)
{
	if (!l->outcomes)
		l->outcomes = kw_arena_calloc(l->arena, MAX_OUTCOMES, sizeof(*l->outcomes));
	if (l->outcomes && l->outcome_count < MAX_OUTCOMES)
		l->outcomes[l->outcome_count++] = o;
}

void kw_launch_set(struct kw_launch *k, int metric, double v)
{
	double *at;

	if (metric < 0 || metric >= KW_M_COUNT || !isfinite(v))
		return;
	at = &k->value[metric];
	if (isnan(*at))
		*at = v;
	else if (fabs(*at - v) > 0.02 * fmax(fabs(*at), fabs(v)) + 0.011)
		kw_launches_note(k->owner, k->line,
				 "two values of %s for one launch (%.6g and %.6g); the first is used",
				 kw_metric_name(metric), *at, v);
}

void kw_launch_set_as(struct kw_launch *k, int metric, struct kw_str name, double v)
{
	int rank;

	if (metric < 0 || metric >= KW_M_COUNT || !isfinite(v))
		return;
	if (kw_metric_is_greatest(metric)) {
		k->value[metric] = fmax(k->value[metric], v);
		return;
	}
	rank = kw_metric_rank(metric, name);
	rank = rank < UINT8_MAX ? rank : UINT8_MAX;
	if (isnan(k->value[metric]) || rank < k->rank[metric]) {
		k->value[metric] = v;
		k->rank[metric] = (uint8_t)rank;
	} else if (rank == k->rank[metric]) {
		kw_launch_set(k, metric, v);
	}
}

void kw_launch_add_count(struct kw_launch *k, int metric, double v)
{
	k->value[metric] = (isnan(k->value[metric]) ? 0 : k->value[metric]) + v;
}

void kw_launch_place_lines(struct kw_launch *k, int metric, int line, int last, struct kw_str text)
{
	struct kw_place *p;
	int n = 0;

	for (const struct kw_place *q = k->places; q; q = q->next)
		if (++n >= MAX_PLACES || (q->metric == metric && q->line == line))
			return;
	p = kw_arena_alloc(k->owner->arena, sizeof(*p));
	if (!p)
		return;
	text = kw_str_trim(text);
	*p = (struct kw_place){ metric, line, last,
				text.len ? kw_arena_strndup(k->owner->arena, text.ptr, text.len < 120 ? text.len : 120)
					 : NULL,
				k->places };
	k->places = p;
}

void kw_launch_place(struct kw_launch *k, int metric, int line, struct kw_str text)
{
	kw_launch_place_lines(k, metric, line, line, text);
}

void kw_launch_unknown(struct kw_launch *k, struct kw_str name)
{
	const char **list;

	if (k->unknown_count == MAX_UNKNOWN)
		return;
	list = kw_arena_calloc(k->owner->arena, k->unknown_count + 1, sizeof(*list));
	if (!list)
		return;
	for (size_t i = 0; i < k->unknown_count; i++)
		list[i] = k->unknown[i];
	list[k->unknown_count++] = kw_launches_intern(k->owner, name);
	k->unknown = list;
}

struct kw_profile *kw_launch_profile(const struct kw_launch *k, const char *tool, struct kw_arena *a)
{
	struct kw_profile *p = kw_arena_calloc(a, 1, sizeof(*p));
	size_t n = 0;

	for (int m = 0; m < KW_M_COUNT; m++)
		n += kw_launch_has(k, m);
	if (!p)
		return NULL;
	p->metrics = kw_arena_calloc(a, n + k->unknown_count + 1, sizeof(*p->metrics));
	if (!p->metrics)
		return NULL;
	p->device = k->device;
	p->kernel = k->kernel;
	p->tool = tool;
	for (int m = 0; m < KW_M_COUNT; m++)
		if (kw_launch_has(k, m))
			p->metrics[p->metric_count++] =
				(struct kw_metric){ kw_metric_name(m), kw_quantity_unit(kw_metric_quantity(m)), tool,
						    KW_METRIC_PRESENT, k->value[m] };
	for (size_t i = 0; i < k->unknown_count; i++)
		p->metrics[p->metric_count++] = (struct kw_metric){ k->unknown[i], "", tool, KW_METRIC_MISSING, 0 };
	return p;
}
