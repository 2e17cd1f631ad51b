#include "device/slots.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/huge.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, GAP_PAGES = 512, POPULATE_THREADS = 2 };
#define GUARD_BYTES ((uint64_t)1 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define POPULATE_BYTES ((size_t)4 << 20)
#define HUGE_MIN_BYTES (2 * HUGE_PAGE_BYTES)
/* Between the usual places of programs and of libraries on x86-64 and aarch64 with 47 or 48 bits, and outside the
 * shadow memory of the sanitizers. */
#define ARENA_LOW 0x200000000000ull
#define ARENA_SPAN (0x200000000000ull / HUGE_PAGE_BYTES)

static size_t round_up(size_t v, size_t to)
{
	return (v + to - 1) / to * to;
}

struct slots *kw_slots_of(const struct kw_session *s)
{
	return (struct slots *)(uintptr_t)s;
}

struct slot_buffer *kw_slots_get(struct slots *s, int slot, int buffer)
{
	return &s->buffers[(size_t)slot * s->buffer_count + (size_t)buffer];
}

static size_t file_size(const struct slots *s, const struct kw_buffer_spec *b)
{
	size_t zone = s->base.device->red_zone_bytes;

	if (zone)
		return round_up(zone + b->bytes + zone, PAGE_BYTES);
	/* Room for the misalignment in front and for rounding down at the end. */
	return round_up(b->misalign_bytes + b->bytes + (b->bytes ? b->align_bytes - 1 : 0) + 1, PAGE_BYTES);
}

/* An empty buffer always touches the guard behind it: any access is a fault. A buffer that is copied to a device begins
 * where the device can have one begin, better aligned than promised. */
static size_t place(const struct slots *s, const struct kw_buffer_spec *b, size_t file_bytes, enum kw_placement p)
{
	size_t room;

	if (s->base.device->red_zone_bytes)
		return s->base.device->red_zone_bytes;
	if (b->bytes == 0)
		return file_bytes;
	if (p == KW_PLACE_START)
		return b->misalign_bytes;
	room = file_bytes - b->bytes - b->misalign_bytes;
	return room / b->align_bytes * b->align_bytes + b->misalign_bytes;
}

static uint8_t canary(uint64_t seed, size_t i)
{
	uint64_t v = (seed ^ i) * 0x9e3779b97f4a7c15ull;

	return (uint8_t)(v >> 56);
}

static void fill_canaries(const struct slots *s, struct slot_buffer *b, size_t bytes)
{
	for (size_t i = 0; i < b->offset; i++)
		b->map[i] = canary(s->canary_seed, i);
	for (size_t i = b->offset + bytes; i < b->file_bytes; i++)
		b->map[i] = canary(s->canary_seed, i);
}

bool kw_slots_canary_ok(struct kw_session *session, int slot, int buffer, int64_t *offset_bytes)
{
	struct slots *s = kw_slots_of(session);
	struct slot_buffer *b = kw_slots_get(s, slot, buffer);
	size_t end = b->offset + s->specs[buffer].bytes;

	/* The nearest one counts: an overrun that reached further began there. */
	for (size_t i = end; i < b->file_bytes; i++)
		if (b->map[i] != canary(s->canary_seed, i)) {
			*offset_bytes = (int64_t)(i - b->offset);
			return false;
		}
	for (size_t i = b->offset; i-- > 0;)
		if (b->map[i] != canary(s->canary_seed, i)) {
			*offset_bytes = (int64_t)i - (int64_t)b->offset;
			return false;
		}
	return true;
}

static int64_t read_number(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int64_t v;

	if (fd >= 0)
		close(fd);
	if (n <= 0 || !kw_str_to_i64(kw_str_trim((struct kw_str){ text, (size_t)n }), &v))
		return -1;
	return v;
}

static int64_t cgroup_available(void)
{
	static const char *const pairs[][2] = {
		{ "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current" },
		{ "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes" },
	};

	for (size_t i = 0; i < 2; i++) {
		int64_t max = read_number(pairs[i][0]), now = read_number(pairs[i][1]);

		if (max > 0 && now >= 0)
			return max > now ? max - now : 0;
	}
	return INT64_MAX;
}

int64_t kw_memory_available(void)
{
	int64_t kib = -1, limit = cgroup_available();
	char line[256];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kib = strtoll(line + 13, NULL, 10);
	if (f)
		fclose(f);
	if (kib < 0)
		kib = (int64_t)sysconf(_SC_AVPHYS_PAGES) * (PAGE_BYTES / 1024);
	return kib * 1024 < limit ? kib * 1024 : limit;
}

static int make_file(size_t bytes, bool *huge)
{
	int fd = bytes >= HUGE_MIN_BYTES ? kw_huge_file() : -1;

	*huge = fd >= 0;
	return fd >= 0 ? fd : memfd_create("kw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static enum kw_status make_buffer(struct slots *s, int slot, int index, enum kw_placement p,
				  struct kw_error *err)
{
	const struct kw_buffer_spec *spec = &s->specs[index];
	struct slot_buffer *b = kw_slots_get(s, slot, index);

	b->file_bytes = file_size(s, spec);
	b->offset = place(s, spec, b->file_bytes, p);
	b->fd = make_file(b->file_bytes, &b->huge);
	/* Only memfds can be sealed; the other kind is safe because the player keeps no descriptor. */
	if (b->fd < 0 || ftruncate(b->fd, (off_t)b->file_bytes) < 0 ||
	    (!b->huge && fcntl(b->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0))
		return kw_fail(err, errno == ENOMEM || errno == ENOSPC ? KW_ERR_NOMEM : KW_ERR_ENV, spec->name,
			       "cannot make a buffer of %zu bytes: %s", b->file_bytes, strerror(errno));
	b->map = mmap(NULL, b->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (b->map == MAP_FAILED) {
		b->map = NULL;
		return kw_fail(err, KW_ERR_NOMEM, spec->name, "cannot map %zu bytes: %s", b->file_bytes,
			       strerror(errno));
	}
	return KW_OK;
}

/* Each slot has its buffers in another order and with other gaps: no address repeats and no distance does. */
static void draw_addresses(struct slots *s)
{
	size_t n = s->buffer_count, total = (size_t)s->slots * n;
	uint64_t at = GUARD_BYTES;

	for (int slot = 0; slot < s->slots; slot++) {
		size_t first = n ? (size_t)(kw_random_u64() % n) : 0;

		for (size_t k = 0; k < n; k++) {
			struct slot_buffer *b = kw_slots_get(s, slot, (int)((first + k) % n));

			at += (kw_random_u64() % GAP_PAGES) * PAGE_BYTES;
			if (b->file_bytes >= HUGE_MIN_BYTES)
				at = round_up(at, HUGE_PAGE_BYTES);
			b->address = at;
			at += b->file_bytes + GUARD_BYTES;
		}
	}
	s->arena_bytes = at;
	s->arena_base = ARENA_LOW + (kw_random_u64() % ARENA_SPAN) * HUGE_PAGE_BYTES;
	for (size_t i = 0; i < total; i++)
		s->buffers[i].address += s->arena_base;
}

/* Pages are made here, once, by two threads: neither the first fill nor the player pays for them. */
struct populate {
	struct slots *s;
	size_t first, step;
};
/* In parts: a call holds the lock of the address space, and other threads want to unmap things. */
static void populate_part(uint8_t *p, size_t bytes)
{
	if (madvise(p, bytes, 23 /* MADV_POPULATE_WRITE */) < 0)
		for (size_t at = 0; at < bytes; at += PAGE_BYTES)
			((volatile uint8_t *)p)[at] = 0;
}

static void *populate_run(void *arg)
{
	struct populate *p = arg;
	size_t total = (size_t)p->s->slots * p->s->buffer_count;

	for (size_t i = p->first; i < total; i += p->step) {
		struct slot_buffer *b = &p->s->buffers[i];

		for (size_t at = 0; at < b->file_bytes; at += POPULATE_BYTES)
			populate_part(b->map + at, b->file_bytes - at < POPULATE_BYTES ? b->file_bytes - at : POPULATE_BYTES);
	}
	return NULL;
}

static void populate(struct slots *s)
{
	struct populate p[POPULATE_THREADS];
	pthread_t thread;
	bool started;

	for (size_t i = 0; i < POPULATE_THREADS; i++)
		p[i] = (struct populate){ s, i, POPULATE_THREADS };
	started = pthread_create(&thread, NULL, populate_run, &p[1]) == 0;
	populate_run(&p[0]);
	if (started)
		pthread_join(thread, NULL);
	else
		populate_run(&p[1]);
}

static enum kw_status copy_specs(struct slots *s, const struct kw_session_opts *o, struct kw_error *err)
{
	s->specs = kw_calloc(o->buffer_count ? o->buffer_count : 1, sizeof(*s->specs));
	s->buffers = kw_calloc((size_t)o->slots * o->buffer_count + 1, sizeof(*s->buffers));
	if (!s->specs || !s->buffers)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a session");
	s->buffer_count = o->buffer_count;
	s->tensor_count = o->tensor_count;
	s->slots = o->slots;
	for (size_t i = 0; i < (size_t)o->slots * o->buffer_count; i++)
		s->buffers[i].fd = -1;
	for (size_t i = 0; i < o->buffer_count; i++) {
		s->specs[i] = o->buffers[i];
		s->specs[i].name = kw_strdup(o->buffers[i].name ? o->buffers[i].name : "");
		if (!s->specs[i].name)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a session");
		if (s->specs[i].align_bytes == 0)
			s->specs[i].align_bytes = 64;
		if (s->specs[i].align_bytes > PAGE_BYTES || s->specs[i].misalign_bytes >= PAGE_BYTES)
			return kw_fail(err, KW_ERR_LIMIT, s->specs[i].name,
				       "alignment over %d bytes is not supported", PAGE_BYTES);
	}
	return KW_OK;
}

static enum kw_status check_memory(struct slots *s, struct kw_error *err)
{
	int64_t have = kw_memory_available();
	char need[32], free_text[32];

	for (size_t i = 0; i < s->buffer_count; i++) {
		size_t one = file_size(s, &s->specs[i]);

		if (s->specs[i].bytes > SIZE_MAX / 4 || one > SIZE_MAX / 2 / (size_t)s->slots)
			return kw_fail(err, KW_ERR_LIMIT, s->specs[i].name, "a buffer of %zu bytes",
				       s->specs[i].bytes);
		s->total_bytes += one * (size_t)s->slots;
	}
	if (s->total_bytes > (size_t)(have / 10 * 9))
		return kw_fail(err, KW_ERR_LIMIT, "", "needs %s of working buffers, and %s of memory are free",
			       kw_human_bytes((double)s->total_bytes, need, sizeof(need)),
			       kw_human_bytes((double)have, free_text, sizeof(free_text)));
	return KW_OK;
}

enum kw_status kw_slots_new(struct kw_device *d, const struct kw_session_opts *o, struct kw_session **out,
			    struct kw_error *err)
{
	struct slots *s = kw_calloc(1, sizeof(*s));
	enum kw_status st;

	*out = NULL;
	if (!s)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a session");
	s->base.device = d;
	s->canary_seed = kw_random_u64();
	st = o->slots < 1 ? kw_fail(err, KW_ERR_BUG, "", "a session without slots") : copy_specs(s, o, err);
	if (st == KW_OK)
		st = check_memory(s, err);
	for (int slot = 0; st == KW_OK && slot < s->slots; slot++) {
		enum kw_placement p = o->placement != KW_PLACE_ALTERNATE ? o->placement :
				      slot % 2 ? KW_PLACE_END : KW_PLACE_START;

		for (size_t i = 0; st == KW_OK && i < s->buffer_count; i++)
			st = make_buffer(s, slot, (int)i, p, err);
	}
	if (st != KW_OK) {
		kw_slots_free(&s->base);
		return st;
	}
	populate(s);
	for (size_t i = 0; i < (size_t)s->slots * s->buffer_count; i++)
		fill_canaries(s, &s->buffers[i], s->specs[i % s->buffer_count].bytes);
	draw_addresses(s);
	*out = &s->base;
	return KW_OK;
}

void kw_slots_free(struct kw_session *session)
{
	struct slots *s = kw_slots_of(session);

	if (!s)
		return;
	for (size_t i = 0; s->buffers && i < (size_t)s->slots * s->buffer_count; i++) {
		if (s->buffers[i].map)
			munmap(s->buffers[i].map, s->buffers[i].file_bytes);
		if (s->buffers[i].fd >= 0)
			close(s->buffers[i].fd);
	}
	for (size_t i = 0; s->specs && i < s->buffer_count; i++)
		kw_free((void *)(uintptr_t)s->specs[i].name);
	kw_free(s->specs);
	kw_free(s->buffers);
	kw_free(s);
}

bool kw_slots_huge_pages(const struct kw_session *session)
{
	const struct slots *s = kw_slots_of(session);
	bool all = true;

	for (size_t i = 0; i < (size_t)s->slots * s->buffer_count; i++)
		all = all && (s->buffers[i].huge || s->buffers[i].file_bytes < HUGE_MIN_BYTES);
	return all;
}

void *kw_slots_ptr(struct kw_session *s, int slot, int buffer)
{
	struct slot_buffer *b = kw_slots_get(kw_slots_of(s), slot, buffer);

	return b->map + b->offset;
}

uint64_t kw_slots_player_address(struct kw_session *s, int slot, int buffer)
{
	struct slot_buffer *b = kw_slots_get(kw_slots_of(s), slot, buffer);

	return b->address + b->offset;
}

bool kw_slots_find(const struct slots *s, uint64_t address, int *slot, int *buffer, int64_t *offset_bytes)
{
	uint64_t best = UINT64_MAX;

	if (address < s->arena_base || address >= s->arena_base + s->arena_bytes)
		return false;
	for (size_t i = 0; i < (size_t)s->slots * s->buffer_count; i++) {
		const struct slot_buffer *b = &s->buffers[i];
		uint64_t from = b->address + b->offset, to = from + s->specs[i % s->buffer_count].bytes;
		uint64_t away = address < from ? from - address : address >= to ? address - to + 1 : 0;

		if (away >= best)
			continue;
		best = away;
		*slot = (int)(i / s->buffer_count);
		*buffer = (int)(i % s->buffer_count);
		*offset_bytes = (int64_t)(address - from);
	}
	return best < GUARD_BYTES; /* further away it was aimed at no buffer */
}
