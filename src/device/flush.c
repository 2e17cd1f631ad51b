#include "device/flush.h"

#include "device/slots.h"

enum { PAGE_BYTES = 4096 }; /* a file is whole pages */

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum { LINE_BYTES = 64 };

__attribute__((target("clflushopt"))) static void flush_fast(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += LINE_BYTES)
		_mm_clflushopt((void *)(uintptr_t)(p + i));
}

void kw_flush_range(const void *at, size_t bytes)
{
	const uint8_t *p = at;
	unsigned a, b = 0, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 23))
		flush_fast(p, bytes);
	else
		for (size_t i = 0; i < bytes; i += LINE_BYTES)
			_mm_clflush(p + i);
	_mm_sfence();
}
#elif defined(__aarch64__)
void kw_flush_range(const void *at, size_t bytes)
{
	const uint8_t *p = at;
	uint64_t type;
	size_t line;

	/* CTR_EL0.DminLine: log2 of the words in the smallest data cache line. */
	__asm__ volatile("mrs %0, ctr_el0" : "=r"(type));
	line = (size_t)4 << ((type >> 16) & 15);
	for (size_t i = 0; i < bytes; i += line)
		__asm__ volatile("dc civac, %0" ::"r"(p + i) : "memory");
	__asm__ volatile("dsb ish" ::: "memory");
}
#endif

/* Caches are tagged by physical address, so the judge's map stands for the player's. 8 ms for 128 MiB by one thread. */
void kw_slots_flush(struct kw_session *session, int slot, int part, int parts)
{
	struct slots *s = kw_slots_of(session);

	for (size_t i = 0; i < s->buffer_count; i++) {
		const struct slot_buffer *b = kw_slots_get(s, slot, (int)i);
		size_t pages = b->file_bytes / PAGE_BYTES, n = (size_t)parts, p = (size_t)part;
		size_t first = pages / n * p + (p < pages % n ? p : pages % n), count = pages / n + (p < pages % n);

		kw_flush_range(b->map + first * PAGE_BYTES, count * PAGE_BYTES);
	}
}
