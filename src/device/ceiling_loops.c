#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-tree-loop-distribute-patterns") /* a copy loop is to stay one, no call of memcpy */
#endif

#include "device/ceiling_loops.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS(feature) __builtin_cpu_supports(feature)
#endif

/* ---- reads ----
 *
 * One core has a limited number of lines under way, and the processor's prefetcher follows one stream only so far: loads that go
 * through several streams at once, or ask for what comes later, are often faster than the plain loop. */

enum { UNROLL = 4, STREAMS = 4, PAIR = 2, AHEAD = 1024 };

#define READ_LOOP(name, vector, streams, ahead, attribute)                                              \
	attribute static uint64_t name(const void *src, size_t bytes)                                   \
	{                                                                                               \
		const size_t part = bytes / (streams);                                                  \
		const char *p = src;                                                                    \
		vector sum[(streams) * UNROLL] = { 0 }, all = { 0 };                                    \
		uint64_t out = 0;                                                                       \
                                                                                                        \
		for (size_t i = 0; i < part; i += UNROLL * sizeof(vector))                              \
			for (int s = 0; s < (streams); s++) {                                           \
				const char *at = p + (size_t)s * part + i;                              \
                                                                                                        \
				for (size_t k = 0; (ahead) && k < UNROLL * sizeof(vector); k += 64)     \
					__builtin_prefetch(at + (ahead) + k);                           \
				for (int k = 0; k < UNROLL; k++)                                        \
					sum[s * UNROLL + k] +=                                          \
						*(const vector *)(const void *)(at + (size_t)k * sizeof(vector)); \
			}                                                                               \
		for (int k = 0; k < (streams) * UNROLL; k++)                                            \
			all += sum[k];                                                                  \
		for (size_t k = 0; k < sizeof(vector) / sizeof(out); k++)                               \
			out += all[k];                                                                  \
		return out;                                                                             \
	}
#define READ_LOOPS(isa, vector, attribute)                                                              \
	READ_LOOP(read_##isa, vector, 1, 0, attribute)                                                  \
	READ_LOOP(read_streams_##isa, vector, STREAMS, 0, attribute)                                    \
	READ_LOOP(read_ahead_##isa, vector, PAIR, AHEAD, attribute)

#define WRITE_LOOP(name, vector, attribute)                                                             \
	attribute static void name(void *dst, size_t bytes)                                             \
	{                                                                                               \
		const vector one = (vector){ 0 } + 0x3ff0000000000000u;                                 \
		char *p = dst;                                                                          \
                                                                                                        \
		for (size_t i = 0; i < bytes; i += UNROLL * sizeof(vector))                             \
			for (int k = 0; k < UNROLL; k++)                                                \
				*(vector *)(void *)(p + i + (size_t)k * sizeof(vector)) = one;          \
	}

typedef uint64_t u64x2 __attribute__((vector_size(16), may_alias));
READ_LOOPS(base, u64x2, )
WRITE_LOOP(write_base, u64x2, )

#if defined(__x86_64__)
typedef uint64_t u64x4 __attribute__((vector_size(32), may_alias));
typedef uint64_t u64x8 __attribute__((vector_size(64), may_alias));
#define AVX __attribute__((target("avx")))
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f")))
READ_LOOPS(avx2, u64x4, AVX2)
READ_LOOPS(avx512, u64x8, AVX512)
WRITE_LOOP(write_avx2, u64x4, AVX2)
WRITE_LOOP(write_avx512, u64x8, AVX512)
#define PICK(what, ...)                                                                                 \
	(HAS("avx512f") ? what##_avx512(__VA_ARGS__) :                                                  \
	 HAS("avx2")	? what##_avx2(__VA_ARGS__) :                                                    \
			  what##_base(__VA_ARGS__))

/* ---- streaming stores: past the caches, so that no line is read before it is written ---- */

#define STREAM_LOOPS(isa, vector, load, store, ones, attribute)                                         \
	attribute static void write_stream_##isa(void *dst, size_t bytes)                               \
	{                                                                                               \
		char *p = dst;                                                                          \
                                                                                                        \
		for (size_t i = 0; i < bytes; i += sizeof(vector))                                      \
			store((void *)(p + i), ones(1.875f));                                           \
		_mm_sfence();                                                                           \
	}                                                                                               \
	attribute static void copy_stream_##isa(void *dst, const void *src, size_t bytes, int streams)  \
	{                                                                                               \
		const size_t part = bytes / (size_t)streams;                                            \
		const char *q = src;                                                                    \
		char *p = dst;                                                                          \
                                                                                                        \
		for (size_t i = 0; i < part; i += 2 * sizeof(vector))                                   \
			for (int s = 0; s < streams; s++) {                                             \
				const size_t at = (size_t)s * part + i, next = at + sizeof(vector);     \
				const vector a = load((const void *)(q + at)), b = load((const void *)(q + next)); \
                                                                                                        \
				store((void *)(p + at), a);                                             \
				store((void *)(p + next), b);                                           \
			}                                                                               \
		_mm_sfence();                                                                           \
	}
STREAM_LOOPS(avx, __m256, _mm256_load_ps, _mm256_stream_ps, _mm256_set1_ps, AVX)
STREAM_LOOPS(avx512, __m512, _mm512_load_ps, _mm512_stream_ps, _mm512_set1_ps, AVX512)
#else
#define PICK(what, ...) what##_base(__VA_ARGS__)
#endif

uint64_t kw_loop_read(const void *src, size_t bytes)
{
	return PICK(read, src, bytes);
}

uint64_t kw_loop_read_streams(const void *src, size_t bytes)
{
	return PICK(read_streams, src, bytes);
}

uint64_t kw_loop_read_ahead(const void *src, size_t bytes)
{
	return PICK(read_ahead, src, bytes);
}

void kw_loop_write(void *dst, size_t bytes)
{
	PICK(write, dst, bytes);
}

void kw_loop_write_stream(void *dst, size_t bytes)
{
#if defined(__x86_64__)
	if (HAS("avx512f")) {
		write_stream_avx512(dst, bytes);
		return;
	}
	if (HAS("avx")) {
		write_stream_avx(dst, bytes);
		return;
	}
#endif
	kw_loop_write(dst, bytes);
}

/* The C library's own copy is the best plain one there is. */
void kw_loop_copy(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
}

static void copy_stream(void *dst, const void *src, size_t bytes, int streams)
{
#if defined(__x86_64__)
	if (HAS("avx512f")) {
		copy_stream_avx512(dst, src, bytes, streams);
		return;
	}
	if (HAS("avx")) {
		copy_stream_avx(dst, src, bytes, streams);
		return;
	}
#endif
	(void)streams;
	kw_loop_copy(dst, src, bytes);
}

void kw_loop_copy_stream(void *dst, const void *src, size_t bytes)
{
	copy_stream(dst, src, bytes, 1);
}

void kw_loop_copy_streams(void *dst, const void *src, size_t bytes)
{
	copy_stream(dst, src, bytes, STREAMS);
}

/* ---- arithmetic: 12 chains hide a latency of up to 6 with two units ---- */

enum { CHAINS = 12 };
typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x2 __attribute__((vector_size(16)));

#define CHAIN_LOOP(name, vector, scalar, attribute)                                                      \
	attribute static double name(int64_t rounds)                                                     \
	{                                                                                                \
		vector c[CHAINS], a = (vector){ 0 } + (scalar)0.999, b = (vector){ 0 } + (scalar)0.001;  \
		const double lanes = sizeof(vector) / sizeof(scalar);                                    \
                                                                                                         \
		for (int k = 0; k < CHAINS; k++)                                                         \
			c[k] = b;                                                                        \
		for (int64_t r = 0; r < rounds; r++) {                                                   \
			for (int k = 0; k < CHAINS; k++)                                                 \
				c[k] = c[k] * a + b;                                                     \
			__asm__ volatile("" : "+x"(a)); /* every round happens */                        \
		}                                                                                        \
		for (int k = 0; k < CHAINS; k++)                                                         \
			__asm__ volatile("" : : "x"(c[k]));                                              \
		return 2.0 * CHAINS * lanes * (double)rounds;                                            \
	}

#if defined(__x86_64__)
typedef float f32x8 __attribute__((vector_size(32)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef double f64x8 __attribute__((vector_size(64)));
CHAIN_LOOP(fma_f32_sse, f32x4, float, )
CHAIN_LOOP(fma_f64_sse, f64x2, double, )
CHAIN_LOOP(fma_f32_avx2, f32x8, float, __attribute__((target("avx2,fma"))))
CHAIN_LOOP(fma_f64_avx2, f64x4, double, __attribute__((target("avx2,fma"))))
CHAIN_LOOP(fma_f32_avx512, f32x16, float, __attribute__((target("avx512f"))))
CHAIN_LOOP(fma_f64_avx512, f64x8, double, __attribute__((target("avx512f"))))
#define PICK_FMA(type, rounds)                                                                               \
	(HAS("avx512f")		    ? fma_##type##_avx512(rounds) :                                      \
	 HAS("avx2") && HAS("fma") ? fma_##type##_avx2(rounds) :                                         \
				     fma_##type##_sse(rounds))
#else
static double fma_plain(int64_t rounds, double lanes)
{
	double c[CHAINS] = { 0 };

	for (int64_t r = 0; r < rounds; r++)
		for (int k = 0; k < CHAINS; k++)
			c[k] = c[k] * 0.999 + 0.001;
	for (int k = 0; k < CHAINS; k++)
		__asm__ volatile("" : : "m"(c[k]));
	return 2.0 * CHAINS * lanes * (double)rounds;
}
#define PICK_FMA(type, rounds) fma_plain(rounds, 1)
#endif

double kw_loop_fma_f32(int64_t rounds)
{
	return PICK_FMA(f32, rounds);
}

double kw_loop_fma_f64(int64_t rounds)
{
	return PICK_FMA(f64, rounds);
}
