/* hash.h - SHA-256 (libcrypto) for records and keys that are proof; xxh64 for caches only. */
#ifndef KW_BASE_HASH_H
#define KW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define KW_SHA256_HEX 65 /* 64 digits and NUL */

void kw_sha256(const void *p, size_t len, uint8_t out[32]);
void kw_sha256_hex(const void *p, size_t len, char out[KW_SHA256_HEX]);

/* Canonical hashing of several fields: each is length-prefixed, so that ("ab","c") and
 * ("a","bc") differ (STYLE 17). */
struct kw_hasher {
	void *state;
};
int kw_hasher_init(struct kw_hasher *h);                     /* 0, or -1 out of memory */
void kw_hasher_add(struct kw_hasher *h, const char *name, const void *p, size_t len);
void kw_hasher_addz(struct kw_hasher *h, const char *name, const char *z);
void kw_hasher_addi(struct kw_hasher *h, const char *name, int64_t v);
void kw_hasher_final(struct kw_hasher *h, char out[KW_SHA256_HEX]); /* releases h; "" if init failed */

uint64_t kw_xxh64(const void *p, size_t len, uint64_t seed);

/* A small generator, splitmix64: the next of a sequence that its state decides alone. */
uint64_t kw_next_u64(uint64_t *state);

#endif
