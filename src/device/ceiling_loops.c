#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-tree-loop-distribute-patterns") /* a copy loop is to stay one, no call of memcpy */
#endif

#include "device/ceiling_loops.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* ---- memory ---- */

INLINE uint64_t read_body(const void *src, size_t bytes)
{
	const uint64_t *p = src;
	uint64_t sum[32] = { 0 }, all = 0;

	for (size_t i = 0; i < bytes / 8; i += 32)
		for (int k = 0; k < 32; k++)
			sum[k] += p[i + k];
	for (int k = 0; k < 32; k++)
		all += sum[k];
	return all;
}

INLINE void write_body(void *dst, size_t bytes)
{
	uint64_t *p = dst;

	for (size_t i = 0; i < bytes / 8; i += 32)
		for (int k = 0; k < 32; k++)
			p[i + k] = 0x3ff0000000000000u;
}

#if defined(__x86_64__)
#define AVX __attribute__((target("avx")))
#define AVX2 __attribute__((target("avx2")))

AVX2 static uint64_t read_avx2(const void *src, size_t bytes)
{
	return read_body(src, bytes);
}

AVX2 static void write_avx2(void *dst, size_t bytes)
{
	write_body(dst, bytes);
}

AVX static void write_stream(void *dst, size_t bytes)
{
	float *p = dst;
	const __m256 one = _mm256_set1_ps(1.875f);

	for (size_t i = 0; i < bytes / 4; i += 16) {
		_mm256_stream_ps(p + i, one);
		_mm256_stream_ps(p + i + 8, one);
	}
	_mm_sfence();
}

AVX static void copy_stream(void *dst, const void *src, size_t bytes)
{
	float *p = dst;
	const float *q = src;

	for (size_t i = 0; i < bytes / 4; i += 16) {
		__m256 a = _mm256_load_ps(q + i), b = _mm256_load_ps(q + i + 8);

		_mm256_stream_ps(p + i, a);
		_mm256_stream_ps(p + i + 8, b);
	}
	_mm_sfence();
}
#define HAS(feature) __builtin_cpu_supports(feature)
#endif

uint64_t kw_loop_read(const void *src, size_t bytes)
{
#if defined(__x86_64__)
	if (HAS("avx2"))
		return read_avx2(src, bytes);
#endif
	return read_body(src, bytes);
}

void kw_loop_write(void *dst, size_t bytes)
{
#if defined(__x86_64__)
	if (HAS("avx2")) {
		write_avx2(dst, bytes);
		return;
	}
#endif
	write_body(dst, bytes);
}

void kw_loop_write_stream(void *dst, size_t bytes)
{
#if defined(__x86_64__)
	if (HAS("avx")) {
		write_stream(dst, bytes);
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

void kw_loop_copy_stream(void *dst, const void *src, size_t bytes)
{
#if defined(__x86_64__)
	if (HAS("avx")) {
		copy_stream(dst, src, bytes);
		return;
	}
#endif
	kw_loop_copy(dst, src, bytes);
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
#define PICK(type, rounds)                                                                               \
	(HAS("avx512f")		    ? fma_##type##_avx512(rounds) :                                      \
	 HAS("avx2") && HAS("fma") ? fma_##type##_avx2(rounds) :                                         \
				     fma_##type##_sse(rounds))
#else
INLINE double fma_plain(int64_t rounds, double lanes)
{
	double c[CHAINS] = { 0 };

	for (int64_t r = 0; r < rounds; r++)
		for (int k = 0; k < CHAINS; k++)
			c[k] = c[k] * 0.999 + 0.001;
	for (int k = 0; k < CHAINS; k++)
		__asm__ volatile("" : : "m"(c[k]));
	return 2.0 * CHAINS * lanes * (double)rounds;
}
#define PICK(type, rounds) fma_plain(rounds, 1)
#endif

double kw_loop_fma_f32(int64_t rounds)
{
	return PICK(f32, rounds);
}

double kw_loop_fma_f64(int64_t rounds)
{
	return PICK(f64, rounds);
}
