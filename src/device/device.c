#include "device/device.h"

#include "base/alloc.h"

#include <string.h>

enum { TOLD_COPY_BYTES = 64 << 20 };

#define X(symbol) extern const struct kw_device_ops symbol;
#include "device/devices.def"
#undef X

static const struct kw_device_ops *const all[] = {
#define X(symbol) &symbol,
#include "device/devices.def"
#undef X
};

const struct kw_device_ops *kw_device_find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}

const struct kw_device_ops *kw_device_at(size_t i)
{
	return i < sizeof(all) / sizeof(all[0]) ? all[i] : NULL;
}

int kw_device_count(const char *name)
{
	const struct kw_device_ops *ops = kw_device_find(name);
	int n = ops && ops->count ? ops->count() : 1;

	return n < 1 ? 1 : n;
}

/* "nvidia:1" */
static enum kw_status open_numbered(const char *name, const char *colon, struct kw_device **out, struct kw_error *err)
{
	struct kw_str kind = { name, (size_t)(colon - name) };
	int64_t i;

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		if (!kw_str_eqz(kind, all[k]->name))
			continue;
		if (!kw_str_to_i64(kw_str_from(colon + 1), &i) || i < 0 || i > 1023)
			return kw_fail(err, KW_ERR_USAGE, "", "\"%s\" is not the number of a device", colon + 1);
		if (i == 0)
			return all[k]->open(out, err);
		if (i < kw_device_count(all[k]->name) && all[k]->open_at)
			return all[k]->open_at((int)i, out, err);
		return kw_fail(err, KW_ERR_ENV, "", "there %s %d of device %s here, counted from 0, so none is %s",
			       kw_device_count(all[k]->name) == 1 ? "is" : "are", kw_device_count(all[k]->name), all[k]->name, colon + 1);
	}
	return kw_fail(err, KW_ERR_USAGE, "", "no device \"%s\"", name);
}

enum kw_status kw_device_open_begin(const char *name, struct kw_device **out, struct kw_error *err)
{
	const struct kw_device_ops *ops = kw_device_find(name);
	const char *names[sizeof(all) / sizeof(all[0])], *near;

	*out = NULL;
	if (!ops && strchr(name, ':'))
		return open_numbered(name, strchr(name, ':'), out, err);
	if (ops)
		return ops->open(out, err);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		names[i] = all[i]->name;
	near = kw_str_nearest(name, names, sizeof(all) / sizeof(all[0]));
	return kw_fail(err, KW_ERR_USAGE, "", "no device \"%s\"%s%s%s", name, near ? " (did you mean " : "",
		       near ? near : "", near ? "?)" : "");
}

enum kw_status kw_device_open(const char *name, struct kw_device **out, struct kw_error *err)
{
	enum kw_status st = kw_device_open_begin(name, out, err);

	if (st == KW_OK && (*out)->ops->ready && (st = (*out)->ops->ready(*out, err)) != KW_OK) {
		kw_device_close(*out);
		*out = NULL;
	}
	return st;
}

void kw_device_close(struct kw_device *d)
{
	if (d && d->ops->close)
		d->ops->close(d);
	kw_free(d);
}

bool kw_device_state(struct kw_device *d, struct kw_device_state *out)
{
	*out = (struct kw_device_state){ .programs = -1 };
	return d->ops->state && d->ops->state(d, out);
}

json_t *kw_device_state_json(struct kw_device *d)
{
	struct kw_device_state s;

	if (!kw_device_state(d, &s))
		return NULL;
	return json_pack("{s:s,s:i,s:i,s:i,s:b}", "driver", s.driver, "clock_mhz", s.clock_mhz, "memory_clock_mhz", s.memory_clock_mhz,
			 "programs", s.programs, "slowed", s.slowed);
}

int64_t kw_device_memory_available(struct kw_device *d)
{
	int64_t host = kw_memory_available(), own = d->ops->memory_free ? d->ops->memory_free(d) : -1;

	return own >= 0 && own < host ? own : host;
}

void *kw_session_ptr(struct kw_session *s, int slot, int buffer)
{
	return s->device->ops->ptr(s, slot, buffer);
}

void *kw_session_room(struct kw_session *s, int slot, int buffer)
{
	const struct kw_device_ops *ops = s->device->ops;

	return ops->room ? ops->room(s, slot, buffer) : ops->ptr(s, slot, buffer);
}

enum kw_status kw_session_push(struct kw_session *s, int slot, int buffer, struct kw_error *err)
{
	return s->device->ops->push ? s->device->ops->push(s, slot, buffer, err) : KW_OK;
}

enum kw_status kw_session_pull(struct kw_session *s, int slot, int buffer, struct kw_error *err)
{
	return s->device->ops->pull ? s->device->ops->pull(s, slot, buffer, err) : KW_OK;
}

bool kw_session_canary_ok(struct kw_session *s, int slot, int buffer, int64_t *offset_bytes)
{
	return s->device->ops->canary_ok(s, slot, buffer, offset_bytes);
}

void kw_session_flush(struct kw_session *s, int slot, int part, int parts)
{
	s->device->ops->flush(s, slot, part, parts);
}

bool kw_session_huge_pages(const struct kw_session *s)
{
	return !s->device->ops->huge_pages || s->device->ops->huge_pages(s);
}

uint64_t kw_session_player_address(struct kw_session *s, int slot, int buffer)
{
	return s->device->ops->player_address(s, slot, buffer);
}

int64_t kw_player_linger(struct kw_player *p, int64_t ns)
{
	return p->session->device->ops->linger(p, ns);
}

const char *kw_player_layers(const struct kw_player *p)
{
	return p->session->device->ops->layers(p);
}

static void add_rate(struct kw_device *d, enum kw_ceiling_kind kind, int64_t bytes, enum kw_measure measure, double *rate)
{
	struct kw_ceiling c = { 0 };
	struct kw_error err;

	kw_error_reset(&err);
	if (*rate <= 0 && d->ops->ceiling(d, kind, bytes, measure, &c, &err) == KW_OK)
		*rate = c.per_s;
}

void kw_device_told(struct kw_device *d, enum kw_measure measure, struct kw_hardware *out)
{
	int64_t beyond_caches = 4 * d->hardware.last_level_cache_bytes;

	*out = d->hardware;
	if (d->untimed || !d->ops->ceiling)
		return;
	add_rate(d, KW_CEILING_COPY, beyond_caches > TOLD_COPY_BYTES ? beyond_caches : TOLD_COPY_BYTES, measure, &out->memory_bytes_per_s);
	add_rate(d, KW_CEILING_FLOPS_F32, 0, measure, &out->flops_f32);
	add_rate(d, KW_CEILING_FLOPS_F64, 0, measure, &out->flops_f64);
}
