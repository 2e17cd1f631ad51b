/* arena.h - one arena per unit of work; everything in it dies together.
 *
 *     struct kw_arena a;
 *     kw_arena_init(&a, 64 << 20);              // at most 64 MiB
 *     char *s = kw_arena_printf(&a, "%s/%d", dir, n);
 *     kw_arena_release(&a);
 *
 * Allocation returns NULL when the maximum is reached or memory is out; results are
 * 16-byte aligned, never empty. reset keeps one block. Thread rule: one owner. */
#ifndef KW_BASE_ARENA_H
#define KW_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/str.h"

struct kw_arena_block;
struct kw_arena {
	struct kw_arena_block *head;
	size_t used_bytes, max_bytes;
};

void kw_arena_init(struct kw_arena *a, size_t max_bytes);
void kw_arena_release(struct kw_arena *a);
void kw_arena_reset(struct kw_arena *a);
void *kw_arena_alloc(struct kw_arena *a, size_t bytes);                 /* uninitialised */
void *kw_arena_calloc(struct kw_arena *a, size_t count, size_t bytes);  /* zeroed */
char *kw_arena_strdup(struct kw_arena *a, const char *s);
char *kw_arena_strndup(struct kw_arena *a, const char *s, size_t n);
char *kw_arena_str(struct kw_arena *a, struct kw_str s);
char *kw_arena_printf(struct kw_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A copy of bytes (align 16). */
void *kw_arena_copy(struct kw_arena *a, const void *p, size_t bytes);

#endif
