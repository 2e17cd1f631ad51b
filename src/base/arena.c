#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { ALIGN = 16, FIRST_BLOCK_BYTES = 4096, LAST_BLOCK_BYTES = 1 << 20 };

struct kw_arena_block {
	struct kw_arena_block *before;
	size_t cap, used; /* bytes of data[] */
	_Alignas(ALIGN) unsigned char data[];
};

void kw_arena_init(struct kw_arena *a, size_t max_bytes)
{
	a->head = NULL;
	a->used_bytes = 0;
	a->max_bytes = max_bytes;
}

void kw_arena_release(struct kw_arena *a)
{
	while (a->head) {
		struct kw_arena_block *b = a->head;

		a->head = b->before;
		kw_free(b);
	}
	a->used_bytes = 0;
}

void kw_arena_reset(struct kw_arena *a)
{
	struct kw_arena_block *keep = a->head;

	if (!keep)
		return;
	a->head = keep->before;
	kw_arena_release(a);
	keep->before = NULL;
	keep->used = 0;
	a->head = keep;
}

static struct kw_arena_block *grow(struct kw_arena *a, size_t bytes)
{
	size_t cap = a->head ? a->head->cap * 2 : FIRST_BLOCK_BYTES;
	struct kw_arena_block *b;

	if (cap > LAST_BLOCK_BYTES)
		cap = LAST_BLOCK_BYTES;
	if (cap < bytes)
		cap = bytes;
	b = kw_alloc(sizeof(*b) + cap);
	if (!b)
		return NULL;
	b->before = a->head;
	b->cap = cap;
	b->used = 0;
	a->head = b;
	return b;
}

void *kw_arena_alloc(struct kw_arena *a, size_t bytes)
{
	struct kw_arena_block *b = a->head;
	size_t rounded;
	void *p;

	if (bytes > PTRDIFF_MAX - 2 * sizeof(*b))
		return NULL;
	rounded = (bytes + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
	if (rounded == 0)
		rounded = ALIGN;
	if (rounded > a->max_bytes || a->used_bytes > a->max_bytes - rounded)
		return NULL;
	if (!b || b->cap - b->used < rounded)
		b = grow(a, rounded);
	if (!b)
		return NULL;
	p = b->data + b->used;
	b->used += rounded;
	a->used_bytes += rounded;
	return p;
}

void *kw_arena_calloc(struct kw_arena *a, size_t count, size_t bytes)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(count, bytes, &total))
		return NULL;
	p = kw_arena_alloc(a, total);
	if (p)
		memset(p, 0, total);
	return p;
}

void *kw_arena_copy(struct kw_arena *a, const void *p, size_t bytes)
{
	void *copy = kw_arena_alloc(a, bytes);

	if (copy && bytes)
		memcpy(copy, p, bytes);
	return copy;
}

char *kw_arena_strndup(struct kw_arena *a, const char *s, size_t n)
{
	char *copy = n < SIZE_MAX ? kw_arena_alloc(a, n + 1) : NULL;

	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

char *kw_arena_strdup(struct kw_arena *a, const char *s)
{
	return kw_arena_strndup(a, s, strlen(s));
}

char *kw_arena_str(struct kw_arena *a, struct kw_str s)
{
	return kw_arena_strndup(a, s.ptr, s.len);
}

char *kw_arena_printf(struct kw_arena *a, const char *fmt, ...)
{
	va_list ap;
	char *out;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	out = kw_arena_alloc(a, (size_t)n + 1);
	if (!out)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(out, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return out;
}
