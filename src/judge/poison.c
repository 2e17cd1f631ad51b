#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#include "judge/inputs.h"

#include <string.h>

/* Finaliser of splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Floats: a quiet NaN with a payload of the seed's, which an operation
 * never makes by itself (x86 makes negative ones without payload) but hands on. */
uint64_t kw_poison_word(enum kw_dtype d, uint64_t seed)
{
	uint64_t r = mix(seed + 0x9e3779b97f4a7c15u), one;

	switch (d) {
	case KW_F64: return 0x7ff8000000000000u | (r & 0x7ffffffffffffu) | 1;
	case KW_F32: one = 0x7fc00000u | (r & 0x3fffffu) | 1; break;
	case KW_F16: one = 0x7e00u | (r & 0x1ffu) | 1; break;
	case KW_BF16: one = 0x7fc0u | (r & 0x3fu) | 1; break;
	case KW_F8E4M3: one = 0x7fu; break;
	case KW_F8E5M2: one = 0x7du | (r & 2u); break;
	case KW_I64: return 0xa5a5000000000000u | (r & 0xffffffffffffu);
	case KW_I32: one = 0xa5000000u | (r & 0xffffffu); break;
	case KW_I16: one = 0xa500u | (r & 0xffu); break;
	case KW_BOOL: one = 0xa5u; break; /* neither 0 nor 1 */
	default: one = 0x81u + r % 0x7du; break;
	}
	for (unsigned bits = (unsigned)kw_dtype_info(d)->bits; bits >= 8 && bits < 64; bits *= 2)
		one |= one << bits;
	return one;
}

void kw_poison(void *p, size_t bytes, enum kw_dtype d, uint64_t seed)
{
	uint64_t word = kw_poison_word(d, seed);
	unsigned char *out = p;
	size_t at = 0;

	for (; at + sizeof(word) <= bytes; at += sizeof(word))
		memcpy(out + at, &word, sizeof(word));
	if (at < bytes)
		memcpy(out + at, &word, bytes - at);
}

bool kw_is_poison(const void *p, int64_t i, enum kw_dtype d, uint64_t seed)
{
	uint64_t word = kw_poison_word(d, seed);
	size_t bytes = kw_dtype_bytes(d);

	return bytes && memcmp((const char *)p + i * (int64_t)bytes, &word, bytes) == 0;
}

#define COUNT_EQUAL(type)                                                                                \
	do {                                                                                             \
		const char *e = (const char *)p + first * (int64_t)sizeof(type);                         \
		type one, v;                                                                             \
                                                                                                         \
		memcpy(&one, &word, sizeof(one));                                                        \
		for (int64_t i = 0; i < n; i++) {                                                        \
			memcpy(&v, e + i * (int64_t)sizeof(type), sizeof(v));                            \
			found += v == one;                                                               \
		}                                                                                        \
	} while (0)

int64_t kw_count_poison(const void *p, int64_t first, int64_t n, enum kw_dtype d, uint64_t seed)
{
	uint64_t word = kw_poison_word(d, seed);
	int64_t found = 0;

	switch (kw_dtype_bytes(d)) {
	case 8: COUNT_EQUAL(uint64_t); break;
	case 4: COUNT_EQUAL(uint32_t); break;
	case 2: COUNT_EQUAL(uint16_t); break;
	case 1: COUNT_EQUAL(uint8_t); break;
	default: break;
	}
	return found;
}
