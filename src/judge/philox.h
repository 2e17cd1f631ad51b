/* philox.h - blocks of random words and of base values, the inner loops of inputs.c.
 *
 * Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11. A block is
 * KW_BLOCK consecutive elements of one stream: it takes KW_BLOCK / 4 counters, and element e of it is word
 * e / (KW_BLOCK / 4) of counter e % (KW_BLOCK / 4), so that the words come out in order without shuffling.
 *
 * Same bits with AVX-512, AVX2 and without: only operations that IEEE 754 defines exactly, never fused. Thread rule: pure. */
#ifndef KW_JUDGE_PHILOX_H
#define KW_JUDGE_PHILOX_H

#include <stdbool.h>
#include <stdint.h>

enum { KW_BLOCK = 256 };

/* What a stream is for; part of the counter, so that streams never overlap. */
enum kw_stream { KW_STREAM_VALUES, KW_STREAM_LOW_BITS, KW_STREAM_PLACES, KW_STREAM_SHUFFLE };

/* One stream of one tensor. */
struct kw_philox_id {
	uint64_t seed;
	uint32_t tensor;
	enum kw_stream stream;
};
void kw_philox_block(const struct kw_philox_id *id, uint64_t block, uint32_t words[KW_BLOCK]);
/* Standard normals by Box and Muller (1958) on pairs of 24-bit uniforms: |z| < 5.9. */
void kw_normal_block(const struct kw_philox_id *id, uint64_t block, float z[KW_BLOCK]);
/* 24-bit uniforms in [0, 1). */
void kw_uniform_block(const struct kw_philox_id *id, uint64_t block, float u[KW_BLOCK]);
/* For tests: leave AVX2 and AVX-512 alone. */
void kw_philox_portable(bool only);

#endif
