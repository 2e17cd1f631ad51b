/* module_outputs.c - a module's outputs: what it says of them, whether that is acceptable, and their copy into the judge's slots. */
#include "device/module_inside.h"

#include "base/alloc.h"
#include "device/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

static void refuse(struct kw_play_result *r, enum kw_subclass sub)
{
	r->end = KW_PLAY_FAULT;
	r->fault = sub;
}

static const char *name_of(const struct kw_module *m, size_t output)
{
	return m->specs[m->inputs + output].name;
}

/* Whether what is reported can be the output at all; else r says what it is. */
static bool acceptable(const struct kw_module *m, size_t output, const struct reported *x, struct kw_play_result *r)
{
	const struct kw_view *want = &m->want[output];
	struct kw_shape got = { .rank = (int)x->rank };
	char text[200], a[128], b[128];

	kw_module_text(m, text, sizeof(text));
	if (x->dtype == NO_TENSOR || x->dtype == UNREADABLE) {
		snprintf(r->detail, sizeof(r->detail), "%s is %.100s and not a tensor in memory", name_of(m, output), text);
		refuse(r, KW_S_DTYPE);
	} else if (x->dtype == ELSEWHERE) {
		snprintf(r->detail, sizeof(r->detail), "%s is on device %.60s and not on %s", name_of(m, output), text,
			 m->slots ? "cpu" : "cuda");
		refuse(r, KW_S_DTYPE);
	} else if (x->dtype == COUNT) {
		snprintf(r->detail, sizeof(r->detail), "it returns %.20s tensors instead of %zu", text, m->outputs);
		refuse(r, KW_S_SHAPE);
	} else if ((int)x->dtype != want->dtype) {
		snprintf(r->detail, sizeof(r->detail), "%s has dtype %s instead of %s", name_of(m, output),
			 x->dtype > 0 && x->dtype < KW_DTYPE_COUNT ? kw_dtype_name((enum kw_dtype)x->dtype) : text,
			 kw_dtype_name((enum kw_dtype)want->dtype));
		refuse(r, KW_S_DTYPE);
	} else {
		if (x->rank <= KW_MAX_RANK)
			memcpy(got.dim, x->dim, sizeof(got.dim));
		if (x->rank <= KW_MAX_RANK && kw_shape_eq(&got, &want->shape))
			return true;
		snprintf(r->detail, sizeof(r->detail), "%s has shape %s instead of %s", name_of(m, output),
			 x->rank <= KW_MAX_RANK ? kw_shape_text(&got, a, sizeof(a)) : "of too many dims",
			 kw_shape_text(&want->shape, b, sizeof(b)));
		refuse(r, KW_S_SHAPE);
	}
	return false;
}

static void scatter(const struct kw_view *v, const uint8_t *from, const int64_t *to_stride, uint8_t *to, size_t unit)
{
	int64_t n = kw_shape_count(&v->shape), index[KW_MAX_RANK] = { 0 };

	for (int64_t i = 0; i < n; i++) {
		int64_t at = 0, to_at = 0;

		for (int d = 0; d < v->shape.rank; d++) {
			at += index[d] * v->stride[d];
			to_at += index[d] * to_stride[d];
		}
		memcpy(to + (size_t)to_at * unit, from + (size_t)at * unit, unit);
		for (int d = v->shape.rank - 1; d >= 0 && ++index[d] == v->shape.dim[d]; d--)
			index[d] = 0;
	}
}

static bool fetch(struct kw_module *m, struct kw_child *c, int slot, size_t output, const struct reported *x, uint64_t *end)
{
	struct kw_view v = { .dtype = (int)x->dtype, .shape = m->want[output].shape };
	size_t unit = kw_dtype_bytes((enum kw_dtype)x->dtype), span;
	uint8_t *to = kw_slots_ptr(&m->slots->base, slot, (int)(m->inputs + output)), *part;
	int64_t count = kw_shape_count(&v.shape), extent;
	bool ok;

	*end = x->address;
	if (count == 0)
		return true;
	for (int d = 0; d < v.shape.rank; d++) {
		v.stride[d] = x->stride[d];
		if (x->stride[d] < 0 || x->stride[d] > INT64_MAX / 16)
			return false;
	}
	extent = kw_view_extent(&v);
	if (extent < 0 || extent > SPARSE * count + 4096 || (uint64_t)extent > PTRDIFF_MAX / unit)
		return false;
	span = (size_t)extent * unit;
	*end = x->address + span;
	if (kw_view_is_contiguous(&v) && kw_view_is_contiguous(&m->want[output]))
		return kw_module_read(c, x->address, to, span);
	part = span <= SPAN_MAX ? kw_alloc(span) : NULL;
	ok = part && kw_module_read(c, x->address, part, span);
	if (ok)
		scatter(&v, part, m->want[output].stride, to, unit);
	kw_free(part);
	return ok;
}

struct range {
	uint64_t from, to;
	int call;
};

static int by_address(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static bool shared(struct range *all, size_t n)
{
	uint64_t end = 0;
	int call = -1;

	qsort(all, n, sizeof(*all), by_address);
	for (size_t i = 0; i < n; i++) {
		if (all[i].from < end && all[i].to > all[i].from && all[i].call != call)
			return true;
		if (all[i].to > end) {
			end = all[i].to;
			call = all[i].call;
		}
	}
	return false;
}

static struct reported at(const struct kw_module *m, size_t i)
{
	struct reported x;

	memcpy(&x, m->report + TEXT_BYTES + i * sizeof(x), sizeof(x));
	return x;
}

void kw_module_collect(struct kw_module *m, struct kw_child *c, const int32_t *order, int n, bool watched, struct kw_play_result *r)
{
	struct range *ranges = kw_calloc((size_t)n * m->outputs + 1, sizeof(*ranges));
	size_t count = 0;

	memcpy(m->order, order, (size_t)n * sizeof(order[0]));
	m->count = n;
	for (size_t i = 0; i < (size_t)n * m->outputs && r->end == KW_PLAY_DONE; i++) {
		struct reported x = at(m, i);
		size_t output = i % m->outputs;
		int64_t offset;
		int slot, buffer;
		uint64_t end = 0;

		if (!acceptable(m, output, &x, r))
			break;
		if (!m->copies && !fetch(m, c, order[i / m->outputs], output, &x, &end)) {
			snprintf(r->detail, sizeof(r->detail), "%s lies at an address that is not in its memory", name_of(m, output));
			refuse(r, KW_S_FORGED);
		}
		if (m->slots && kw_slots_find(m->slots, x.address, &slot, &buffer, &offset) && m->slots->specs[buffer].read_only)
			r->alias = buffer + 1;
		if (m->copies && x.address > 0 && x.address <= m->inputs) /* its addresses are its own: it says which input */
			r->alias = (int)x.address;
		if (ranges && !m->copies)
			ranges[count++] = (struct range){ x.address, end, (int)(i / m->outputs) };
	}
	if (r->end == KW_PLAY_DONE && watched)
		kw_module_text(m, r->detail, sizeof(r->detail)); /* what it computed with */
	r->shared_outputs = ranges && shared(ranges, count);
	kw_free(ranges);
}

void kw_module_collect_again(struct kw_module *m, struct kw_child *c)
{
	for (size_t i = 0; i < (size_t)m->count * m->outputs && !m->copies; i++) {
		struct reported x = at(m, i);
		struct kw_play_result ignored = { .end = KW_PLAY_DONE };
		uint64_t end;

		if (acceptable(m, i % m->outputs, &x, &ignored))
			fetch(m, c, m->order[i / m->outputs], i % m->outputs, &x, &end);
	}
}
