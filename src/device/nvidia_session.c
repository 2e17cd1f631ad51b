/* Slots in device memory. Each buffer is an allocation of its own that the judge made; a player gets it by descriptor, inputs
 * read-only, between granules that are mapped to nothing. What is left of an allocation beside its buffer holds canaries. */
#include "device/nvidia.h"
#include "device/nvidia_ptx.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PIN_MIN_BYTES ((size_t)1 << 20)

struct gpu_session *kw_gpu_session_of(const struct kw_session *s)
{
	return (struct gpu_session *)(uintptr_t)s;
}

struct gpu_buffer *kw_gpu_buffer(const struct gpu_session *s, int slot, int buffer)
{
	return &s->buffers[(size_t)slot * s->buffer_count + (size_t)buffer];
}

static size_t round_up(size_t v, size_t to)
{
	return (v + to - 1) / to * to;
}

static enum kw_status keep(struct gpu_session *s, enum kw_status st, struct kw_error *mine, struct kw_error *err)
{
	if (st == KW_OK)
		return st;
	if (s->failed == KW_OK) {
		s->failed = st;
		s->failure = *mine;
	}
	if (err)
		*err = *mine;
	return st;
}

/* ---- making ---- */

static enum kw_status make_buffer(struct gpu_session *s, int slot, int index, enum kw_placement p, struct kw_error *err)
{
	const struct kw_buffer_spec *spec = &s->specs[index];
	struct nvidia *n = s->device;
	const struct kw_cuda *cu = n->cu;
	struct cuda_allocation_prop prop = { .type = 1, .handle_types = 1, .location = { 1, n->device } };
	struct cuda_access access = { .location = { 1, n->device }, .flags = 3 };
	struct gpu_buffer *b = kw_gpu_buffer(s, slot, index);
	size_t room;
	enum kw_status st;

	b->allocation_bytes = round_up(spec->misalign_bytes + spec->bytes + spec->align_bytes, n->granule_bytes);
	room = b->allocation_bytes - spec->bytes - spec->misalign_bytes;
	b->offset = (p == KW_PLACE_START ? 0 : room / spec->align_bytes * spec->align_bytes) + spec->misalign_bytes;
	st = kw_cuda_status(cu, cu->MemCreate(&b->handle, b->allocation_bytes, &prop, 0), "cuMemCreate", err);
	if (st == KW_OK)
		st = kw_cuda_status(cu, cu->MemReserve(&b->map, b->allocation_bytes, 0, 0, 0), "cuMemAddressReserve", err);
	if (st == KW_OK)
		st = kw_cuda_status(cu, cu->MemMap(b->map, b->allocation_bytes, 0, b->handle, 0), "cuMemMap", err);
	if (st == KW_OK)
		st = kw_cuda_status(cu, cu->MemSetAccess(b->map, b->allocation_bytes, &access, 1), "cuMemSetAccess", err);
	if (st == KW_OK)
		st = kw_cuda_status(cu, cu->MemsetD32(b->map, s->canary, b->allocation_bytes / 4), "cuMemsetD32", err);
	return st;
}

static enum kw_status make_mirror(struct gpu_session *s, size_t i, struct kw_error *err)
{
	struct gpu_mirror *m = &s->mirrors[i];

	m->slot = -1;
	m->host_bytes = round_up(s->specs[i].bytes + 1, 4096);
	m->host = mmap(NULL, m->host_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);
	if (m->host == MAP_FAILED) {
		m->host = NULL;
		return kw_fail(err, KW_ERR_NOMEM, s->specs[i].name, "cannot map %zu bytes", m->host_bytes);
	}
	return KW_OK;
}

/* Copies are several times as fast from pinned memory; where it cannot be had they still work. Many sessions never copy, so
 * it is taken (and the pages with it) at the first one. */
static void pin(struct gpu_session *s, struct gpu_mirror *m)
{
	if (m->tried || m->host_bytes < PIN_MIN_BYTES)
		return;
	m->tried = true;
	m->pinned = s->device->cu->HostRegister(m->host, m->host_bytes, 0) == CUDA_SUCCESS;
}

static enum kw_status copy_specs(struct gpu_session *s, const struct kw_session_opts *o, struct kw_error *err)
{
	s->specs = kw_calloc(o->buffer_count + 1, sizeof(*s->specs));
	s->buffers = kw_calloc((size_t)o->slots * o->buffer_count + 1, sizeof(*s->buffers));
	s->mirrors = kw_calloc(o->buffer_count + 1, sizeof(*s->mirrors));
	if (!s->specs || !s->buffers || !s->mirrors)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a session");
	s->buffer_count = o->buffer_count;
	s->tensor_count = o->tensor_count;
	s->slots = o->slots;
	for (size_t i = 0; i < o->buffer_count; i++) {
		s->specs[i] = o->buffers[i];
		s->specs[i].name = kw_strdup(o->buffers[i].name ? o->buffers[i].name : "");
		if (!s->specs[i].name)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a session");
		if (s->specs[i].align_bytes == 0)
			s->specs[i].align_bytes = 64;
	}
	return KW_OK;
}

static enum kw_status check_memory(const struct gpu_session *s, struct kw_error *err)
{
	size_t have = 0, total = 0;
	double need = 0;
	char a[32], b[32];

	for (size_t i = 0; i < s->buffer_count; i++)
		need += (double)s->slots * ((double)s->specs[i].bytes + (double)s->device->granule_bytes);
	if (s->device->cu->MemGetInfo(&have, &total) != CUDA_SUCCESS || need < 0.95 * (double)have)
		return KW_OK;
	return kw_fail(err, KW_ERR_LIMIT, "", "needs %s of device memory, and %s are free", kw_human_bytes(need, a, sizeof(a)),
		       kw_human_bytes((double)have, b, sizeof(b)));
}

enum kw_status kw_nvidia_session_new(struct kw_device *d, const struct kw_session_opts *o, struct kw_session **out,
				     struct kw_error *err)
{
	struct gpu_session *s = kw_calloc(1, sizeof(*s));
	enum kw_status st;

	*out = NULL;
	if (!s)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a session");
	s->base.device = d;
	s->device = kw_nvidia_of(d);
	s->canary = (uint32_t)kw_random_u64();
	st = kw_nvidia_enter(s->device, err);
	if (st == KW_OK)
		st = copy_specs(s, o, err);
	if (st == KW_OK)
		st = check_memory(s, err);
	for (size_t i = 0; i < s->buffer_count && st == KW_OK; i++)
		st = make_mirror(s, i, err);
	for (int slot = 0; slot < s->slots && st == KW_OK; slot++) {
		enum kw_placement p = o->placement != KW_PLACE_ALTERNATE ? o->placement :
				      slot % 2 ? KW_PLACE_END : KW_PLACE_START;

		for (size_t i = 0; i < s->buffer_count && st == KW_OK; i++)
			st = make_buffer(s, slot, (int)i, p, err);
	}
	if (st == KW_OK)
		st = kw_nvidia_wait(s->device, err);
	if (st != KW_OK) {
		kw_nvidia_session_free(&s->base);
		return st;
	}
	*out = &s->base;
	return KW_OK;
}

void kw_nvidia_session_free(struct kw_session *session)
{
	struct gpu_session *s = kw_gpu_session_of(session);
	const struct kw_cuda *cu;

	if (!s)
		return;
	cu = s->device->cu;
	kw_nvidia_enter(s->device, NULL);
	for (size_t i = 0; s->buffers && i < (size_t)s->slots * s->buffer_count; i++) {
		struct gpu_buffer *b = &s->buffers[i];

		if (b->map) {
			cu->MemUnmap(b->map, b->allocation_bytes);
			cu->MemAddressFree(b->map, b->allocation_bytes);
		}
		if (b->handle)
			cu->MemRelease(b->handle);
	}
	for (size_t i = 0; s->mirrors && i < s->buffer_count; i++) {
		if (s->mirrors[i].pinned)
			cu->HostUnregister(s->mirrors[i].host);
		if (s->mirrors[i].host)
			munmap(s->mirrors[i].host, s->mirrors[i].host_bytes);
	}
	for (size_t i = 0; s->specs && i < s->buffer_count; i++)
		kw_free((void *)(uintptr_t)s->specs[i].name);
	kw_free(s->specs);
	kw_free(s->buffers);
	kw_free(s->mirrors);
	kw_free(s);
}

/* ---- contents ---- */

void kw_gpu_session_forget(struct gpu_session *s, bool inputs_too)
{
	for (size_t i = 0; i < s->buffer_count; i++)
		if (inputs_too || !s->specs[i].read_only)
			s->mirrors[i].slot = -1;
}

enum kw_status kw_nvidia_pull(struct kw_session *session, int slot, int buffer, struct kw_error *err)
{
	struct gpu_session *s = kw_gpu_session_of(session);
	struct gpu_mirror *m = &s->mirrors[buffer];
	const struct gpu_buffer *b = kw_gpu_buffer(s, slot, buffer);
	struct kw_error mine = { 0 };
	enum kw_status st = KW_OK;

	if (m->slot == slot)
		return KW_OK;
	st = kw_nvidia_enter(s->device, &mine);
	pin(s, m);
	if (st == KW_OK && s->specs[buffer].bytes)
		st = kw_cuda_status(s->device->cu,
				    s->device->cu->MemcpyDtoH(m->host, b->map + b->offset, s->specs[buffer].bytes), "cuMemcpyDtoH",
				    &mine);
	m->slot = st == KW_OK ? slot : -1;
	return keep(s, st, &mine, err);
}

enum kw_status kw_nvidia_push(struct kw_session *session, int slot, int buffer, struct kw_error *err)
{
	struct gpu_session *s = kw_gpu_session_of(session);
	struct gpu_mirror *m = &s->mirrors[buffer];
	const struct gpu_buffer *b = kw_gpu_buffer(s, slot, buffer);
	struct kw_error mine = { 0 };
	enum kw_status st = kw_nvidia_enter(s->device, &mine);

	pin(s, m);
	if (st == KW_OK && s->specs[buffer].bytes)
		st = kw_cuda_status(s->device->cu,
				    s->device->cu->MemcpyHtoD(b->map + b->offset, m->host, s->specs[buffer].bytes), "cuMemcpyHtoD",
				    &mine);
	if (st == KW_OK) /* a copy from memory that is not pinned may still be under way */
		st = kw_nvidia_wait(s->device, &mine);
	m->slot = st == KW_OK ? slot : -1;
	return keep(s, st, &mine, err);
}

void *kw_nvidia_ptr(struct kw_session *session, int slot, int buffer)
{
	kw_nvidia_pull(session, slot, buffer, NULL); /* the next run returns a failure */
	return kw_gpu_session_of(session)->mirrors[buffer].host;
}

void *kw_nvidia_room(struct kw_session *session, int slot, int buffer)
{
	struct gpu_mirror *m = &kw_gpu_session_of(session)->mirrors[buffer];

	if (m->slot != slot)
		m->slot = -1;
	return m->host;
}

/* ---- canaries ---- */

/* All of an allocation but the buffer, on the device: what a candidate left there would stay until a later call. found: see
 * kw_marks. */
static enum kw_status look_at_marks(struct gpu_session *s, const struct gpu_buffer *b, uint64_t end, uint64_t found[2],
				    struct kw_error *err)
{
	enum { BLOCKS = 128 };
	struct nvidia *n = s->device;
	uint64_t base = b->map, before = b->offset, all = b->allocation_bytes, to = n->found;
	uint32_t mark = s->canary;
	void *args[] = { &base, &before, &end, &all, &mark, &to };
	enum kw_status st = kw_nvidia_enter(n, err);

	if (st == KW_OK)
		st = kw_cuda_status(n->cu, n->cu->LaunchKernel(n->marks, BLOCKS, 1, 1, KW_PTX_THREADS, 1, 1, 0, NULL, args, NULL),
				    "cuLaunchKernel", err);
	if (st == KW_OK) /* waits for it */
		st = kw_cuda_status(n->cu, n->cu->MemcpyDtoH(found, n->found, 2 * sizeof(*found)), "cuMemcpyDtoH", err);
	return st;
}

bool kw_nvidia_canary_ok(struct kw_session *session, int slot, int buffer, int64_t *offset_bytes)
{
	struct gpu_session *s = kw_gpu_session_of(session);
	const struct gpu_buffer *b = kw_gpu_buffer(s, slot, buffer);
	uint64_t end = b->offset + s->specs[buffer].bytes, found[2];
	struct kw_error mine = { 0 };

	if (keep(s, look_at_marks(s, b, end, found, &mine), &mine, NULL) != KW_OK ||
	    memcmp(found, kw_nvidia_nothing_found, sizeof(found)) == 0)
		return true; /* a failure: the next run returns it */
	*offset_bytes = (found[0] != UINT64_MAX ? (int64_t)found[0] : (int64_t)found[1] - 1) - (int64_t)b->offset;
	keep(s, kw_nvidia_forget_found(s->device, &mine), &mine, NULL);
	return false;
}

/* ---- caches ---- */

/* Reads twice the L2: what was there is written back and gone, and nothing dirty is left to be written meanwhile. */
void kw_nvidia_flush(struct kw_session *session, int slot, int part, int parts)
{
	struct gpu_session *s = kw_gpu_session_of(session);
	struct nvidia *n = s->device;
	struct kw_error mine = { 0 };
	cuda_ptr x = n->scratch, sink = n->scratch;
	uint64_t vectors = n->scratch_bytes / 16;
	void *args[] = { &x, &vectors, &sink };
	enum kw_status st = KW_OK;

	(void)slot;
	(void)parts;
	if (part != 0)
		return;
	st = kw_nvidia_enter(n, &mine);
	if (st == KW_OK)
		st = kw_nvidia_sweep(n, n->read, args, vectors, NULL, &mine);
	if (st == KW_OK)
		st = kw_nvidia_wait(n, &mine);
	keep(s, st, &mine, NULL);
}

uint64_t kw_nvidia_player_address(struct kw_session *s, int slot, int buffer)
{
	(void)s;
	(void)slot;
	(void)buffer;
	return 0; /* the player chooses */
}
