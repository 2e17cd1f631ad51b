#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
/* Vectorise, and never fuse: the values are part of the record. */
#pragma GCC optimize("O3,no-trapping-math,fp-contract=off")
#endif
#define KW_NO_FMA

#include "judge/philox.h"

#include "backend/builtin/kw.h"
#include "judge/inputs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
enum { COUNTERS = KW_BLOCK / 4 };

/* One round; multipliers of the paper's table 2. The high half of a product of 32 bits comes from a 64-bit one. */
#define ROUND(n)                                                                                         \
	do {                                                                                             \
		uint64_t p0 = (uint64_t)c0 * 0xd2511f53u, p1 = (uint64_t)c2 * 0xcd9e8d57u;               \
                                                                                                         \
		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ (k0 + (n) * 0x9e3779b9u);                               \
		c1 = (uint32_t)p1;                                                                       \
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ (k1 + (n) * 0xbb67ae85u);                               \
		c3 = (uint32_t)p0;                                                                       \
	} while (0)

/* Ten rounds on `count` counters in place. */
INLINE void ten_rounds(uint32_t *restrict w0, uint32_t *restrict w1, uint32_t *restrict w2, uint32_t *restrict w3,
		       int count, uint32_t k0, uint32_t k1)
{
	for (int i = 0; i < count; i++) {
		uint32_t c0 = w0[i], c1 = w1[i], c2 = w2[i], c3 = w3[i];

		ROUND(0u);
		ROUND(1u);
		ROUND(2u);
		ROUND(3u);
		ROUND(4u);
		ROUND(5u);
		ROUND(6u);
		ROUND(7u);
		ROUND(8u);
		ROUND(9u);
		w0[i] = c0;
		w1[i] = c1;
		w2[i] = c2;
		w3[i] = c3;
	}
}

INLINE void block_any(const struct kw_philox_id *id, uint64_t block, uint32_t c[4][COUNTERS])
{
	uint64_t first = block * COUNTERS;

	for (int i = 0; i < COUNTERS; i++) {
		c[0][i] = (uint32_t)first + (uint32_t)i; /* no carry: COUNTERS divides 2^32 */
		c[1][i] = (uint32_t)(first >> 32);
		c[2][i] = id->tensor;
		c[3][i] = (uint32_t)id->stream;
	}
	ten_rounds(c[0], c[1], c[2], c[3], COUNTERS, (uint32_t)id->seed, (uint32_t)(id->seed >> 32));
}

#if defined(__x86_64__)
/* Four counters in the low halves of 64-bit lanes: the multiplication ignores the upper halves, so no shuffle is
 * needed until the end. */
struct four {
	__m256i c0, c1, c2, c3;
};
#define AVX2 __attribute__((target("avx2")))

AVX2 INLINE struct four four_rounds(struct four v, uint32_t k0, uint32_t k1)
{
	const __m256i m0 = _mm256_set1_epi64x(0xd2511f53), m1 = _mm256_set1_epi64x(0xcd9e8d57);

	for (int r = 0; r < 10; r++) {
		__m256i p0 = _mm256_mul_epu32(v.c0, m0), p1 = _mm256_mul_epu32(v.c2, m1);
		__m256i x0 = _mm256_xor_si256(v.c1, _mm256_set1_epi64x(k0));
		__m256i x1 = _mm256_xor_si256(v.c3, _mm256_set1_epi64x(k1));

		v.c0 = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), x0);
		v.c1 = p1;
		v.c2 = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), x1);
		v.c3 = p0;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	return v;
}

/* Even counters in the low halves, odd ones in the high halves. */
AVX2 INLINE void store_both(uint32_t *out, __m256i even, __m256i odd)
{
	_mm256_storeu_si256((__m256i *)(void *)out, _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa));
}

AVX2 INLINE void block_avx2(const struct kw_philox_id *id, uint64_t block, uint32_t c[4][COUNTERS])
{
	uint64_t first = block * COUNTERS;
	uint32_t low = (uint32_t)first, k0 = (uint32_t)id->seed, k1 = (uint32_t)(id->seed >> 32);
	struct four even = { .c1 = _mm256_set1_epi64x((int64_t)(first >> 32)),
			     .c2 = _mm256_set1_epi64x(id->tensor), .c3 = _mm256_set1_epi64x(id->stream) };

	for (int i = 0; i < COUNTERS; i += 8, low += 8) {
		struct four a = even, b = even;

		a.c0 = _mm256_setr_epi64x(low, low + 2, low + 4, low + 6);
		b.c0 = _mm256_setr_epi64x(low + 1, low + 3, low + 5, low + 7);
		a = four_rounds(a, k0, k1);
		b = four_rounds(b, k0, k1);
		store_both(&c[0][i], a.c0, b.c0);
		store_both(&c[1][i], a.c1, b.c1);
		store_both(&c[2][i], a.c2, b.c2);
		store_both(&c[3][i], a.c3, b.c3);
	}
}
/* The same with eight counters a vector. */
#if defined(__clang__)
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"), min_vector_width(512)))
#else
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
#endif
struct eight {
	__m512i c0, c1, c2, c3;
};

AVX512 INLINE struct eight eight_rounds(struct eight v, uint32_t k0, uint32_t k1)
{
	const __m512i m0 = _mm512_set1_epi64(0xd2511f53), m1 = _mm512_set1_epi64(0xcd9e8d57);

	for (int r = 0; r < 10; r++) {
		__m512i p0 = _mm512_mul_epu32(v.c0, m0), p1 = _mm512_mul_epu32(v.c2, m1);
		__m512i x0 = _mm512_xor_si512(v.c1, _mm512_set1_epi64(k0));
		__m512i x1 = _mm512_xor_si512(v.c3, _mm512_set1_epi64(k1));

		v.c0 = _mm512_xor_si512(_mm512_srli_epi64(p1, 32), x0);
		v.c1 = p1;
		v.c2 = _mm512_xor_si512(_mm512_srli_epi64(p0, 32), x1);
		v.c3 = p0;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	return v;
}

AVX512 INLINE void store_all(uint32_t *out, __m512i even, __m512i odd)
{
	_mm512_storeu_si512(out, _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32)));
}

AVX512 INLINE void block_avx512(const struct kw_philox_id *id, uint64_t block, uint32_t c[4][COUNTERS])
{
	uint64_t first = block * COUNTERS;
	uint32_t low = (uint32_t)first, k0 = (uint32_t)id->seed, k1 = (uint32_t)(id->seed >> 32);
	const __m512i steps = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
	struct eight even = { .c1 = _mm512_set1_epi64((int64_t)(first >> 32)), .c2 = _mm512_set1_epi64(id->tensor),
			      .c3 = _mm512_set1_epi64(id->stream) };

	for (int i = 0; i < COUNTERS; i += 16, low += 16) {
		struct eight a = even, b = even;

		a.c0 = _mm512_add_epi64(_mm512_set1_epi64(low), steps);
		b.c0 = _mm512_add_epi64(_mm512_set1_epi64(low + 1), steps);
		a = eight_rounds(a, k0, k1);
		b = eight_rounds(b, k0, k1);
		store_all(&c[0][i], a.c0, b.c0);
		store_all(&c[1][i], a.c1, b.c1);
		store_all(&c[2][i], a.c2, b.c2);
		store_all(&c[3][i], a.c3, b.c3);
	}
}
#endif

/* sqrt(x), 2^-25 < x: y near 1/sqrt(x) from the exponent, three steps of Newton. The machine's own instruction is as exact,
 * but compilers keep it scalar for the sake of errno. */
INLINE float square_root(float x)
{
	float y = kw_f32_bits(0x5f375a86u - (kw_bits_f32(x) >> 1)), h = 0.5f * x;

	y *= 1.5f - h * y * y;
	y *= 1.5f - h * y * y;
	y *= 1.5f - h * y * y;
	return x * y;
}

/* z0 = r cos a, z1 = r sin a with r = sqrt(-2 log u). The angle's two upper bits are the quadrant. */
INLINE void normal_pair(uint32_t w0, uint32_t w1, float *z0, float *z1)
{
	float u = ((float)(int32_t)(w0 >> 8) + 0.5f) * 0x1p-24f, r;
	uint32_t t = kw_bits_f32(u) - 0x3f3504f3u;
	float e = (float)((int32_t)t >> 23), f = kw_f32_bits((t & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
	float a = (float)((int32_t)(w1 & 0x3fffffffu) - 0x20000000) * (1.57079633f * 0x1p-30f);
	int32_t quadrant = (int32_t)(w1 >> 30);

	r = -2.0f * kw_log_parts_(e, f);
	r = square_root(r > 0x1p-24f ? r : 0x1p-24f);
	*z0 = r * kw_sin_parts_(a, quadrant + 1);
	*z1 = r * kw_sin_parts_(a, quadrant);
}

INLINE void normal_of(uint32_t c[4][COUNTERS], float *restrict z)
{
	for (int i = 0; i < COUNTERS; i++)
		normal_pair(c[0][i], c[1][i], &z[i], &z[COUNTERS + i]);
	for (int i = 0; i < COUNTERS; i++)
		normal_pair(c[2][i], c[3][i], &z[2 * COUNTERS + i], &z[3 * COUNTERS + i]);
}

INLINE void uniform_of(uint32_t c[4][COUNTERS], float *restrict u)
{
	for (int w = 0; w < 4; w++)
		for (int i = 0; i < COUNTERS; i++)
			u[w * COUNTERS + i] = (float)(int32_t)(c[w][i] >> 8) * 0x1p-24f;
}

INLINE void words_of(uint32_t c[4][COUNTERS], uint32_t *restrict words)
{
	memcpy(words, c, KW_BLOCK * sizeof(*words));
}

/* Each compiled for any machine, for AVX2 and for AVX-512; never fused. */
#define VERSION(name, block, body, type, attribute)                                                      \
	attribute static void name(const struct kw_philox_id *id, uint64_t at, type out[KW_BLOCK])       \
	{                                                                                                \
		uint32_t c[4][COUNTERS];                                                                 \
                                                                                                         \
		block(id, at, c);                                                                        \
		body(c, out);                                                                            \
	}
VERSION(words_any, block_any, words_of, uint32_t, )
VERSION(normal_any, block_any, normal_of, float, )
VERSION(uniform_any, block_any, uniform_of, float, )
#if defined(__x86_64__)
VERSION(words_avx2, block_avx2, words_of, uint32_t, AVX2)
VERSION(normal_avx2, block_avx2, normal_of, float, AVX2)
VERSION(uniform_avx2, block_avx2, uniform_of, float, AVX2)
VERSION(words_avx512, block_avx512, words_of, uint32_t, AVX512)
VERSION(normal_avx512, block_avx512, normal_of, float, AVX512)
VERSION(uniform_avx512, block_avx512, uniform_of, float, AVX512)

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#define PICK(name, id, at, out)                                                                          \
	(!portable_only && has_avx512()			     ? name##_avx512(id, at, out) :              \
	 !portable_only && __builtin_cpu_supports("avx2") ? name##_avx2(id, at, out) :                   \
							    name##_any(id, at, out))
#else
#define PICK(name, id, at, out) name##_any(id, at, out)
#endif

static bool portable_only;

void kw_philox_portable(bool only)
{
	portable_only = only;
}

void kw_philox_block(const struct kw_philox_id *id, uint64_t block, uint32_t words[KW_BLOCK])
{
	PICK(words, id, block, words);
}

void kw_normal_block(const struct kw_philox_id *id, uint64_t block, float z[KW_BLOCK])
{
	PICK(normal, id, block, z);
}

void kw_uniform_block(const struct kw_philox_id *id, uint64_t block, float u[KW_BLOCK])
{
	PICK(uniform, id, block, u);
}

void kw_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	memcpy(out, counter, 4 * sizeof(*out));
	ten_rounds(out, out + 1, out + 2, out + 3, 1, key[0], key[1]);
}
