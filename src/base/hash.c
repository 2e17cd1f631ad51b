/* SHA-256 by libcrypto's low-level calls: unlike EVP they cannot fail, allocate nothing and load
 * no provider or configuration file (EVP costs some milliseconds at its first use). */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"

#include <openssl/sha.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"

static void to_hex(const uint8_t digest[32], char out[KW_SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 32; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[64] = '\0';
}

void kw_sha256(const void *p, size_t len, uint8_t out[32])
{
	SHA256_CTX c;

	SHA256_Init(&c);
	if (len)
		SHA256_Update(&c, p, len);
	SHA256_Final(out, &c);
}

void kw_sha256_hex(const void *p, size_t len, char out[KW_SHA256_HEX])
{
	uint8_t digest[32];

	kw_sha256(p, len, digest);
	to_hex(digest, out);
}

int kw_hasher_init(struct kw_hasher *h)
{
	h->state = kw_alloc(sizeof(SHA256_CTX));
	if (!h->state)
		return -1;
	SHA256_Init(h->state);
	return 0;
}

/* Little-endian, whatever the machine. */
static void add_u64(struct kw_hasher *h, uint64_t v)
{
	uint8_t b[8];

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(v >> (8 * i));
	SHA256_Update(h->state, b, sizeof(b));
}

void kw_hasher_add(struct kw_hasher *h, const char *name, const void *p, size_t len)
{
	size_t name_len = strlen(name);

	if (!h->state)
		return;
	add_u64(h, name_len);
	SHA256_Update(h->state, name, name_len);
	add_u64(h, len);
	if (len)
		SHA256_Update(h->state, p, len);
}

void kw_hasher_addz(struct kw_hasher *h, const char *name, const char *z)
{
	kw_hasher_add(h, name, z, z ? strlen(z) : 0);
}

void kw_hasher_addi(struct kw_hasher *h, const char *name, int64_t v)
{
	uint8_t b[8];

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)((uint64_t)v >> (8 * i));
	kw_hasher_add(h, name, b, sizeof(b));
}

void kw_hasher_final(struct kw_hasher *h, char out[KW_SHA256_HEX])
{
	uint8_t digest[32];

	out[0] = '\0';
	if (!h->state)
		return;
	SHA256_Final(digest, h->state);
	kw_free(h->state);
	h->state = NULL;
	to_hex(digest, out);
}

uint64_t kw_xxh64(const void *p, size_t len, uint64_t seed)
{
	return XXH64(p, len, seed);
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
uint64_t kw_next_u64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
