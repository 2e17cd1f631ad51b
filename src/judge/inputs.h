/* inputs.h - input generation: counter-based (Philox 4x32-10, Salmon et al. SC'11), so that element i of a tensor
 * depends on (seed, tensor, i) only: any part can be made by any thread, at 1 GB/s a core or more for normals. */
#ifndef KW_JUDGE_INPUTS_H
#define KW_JUDGE_INPUTS_H

#include "core/task.h"

/* Special trials (design 6.8). */
#define KW_FILL_LIST(X)                                                             \
	X(DECLARED, "declared")     /* the task's own distribution */                \
	X(LARGE, "large")           /* declared x 100 (norms of big activations, case B15) */ \
	X(TINY, "tiny")             /* declared x 1e-3 */                            \
	X(CONSTANT, "constant")     /* one value everywhere */                       \
	X(ZEROS, "zeros")                                                            \
	X(OUTLIER, "outlier")       /* declared, one element a row 1000 x */         \
	X(NEG_INF_ROWS, "neg_inf")  /* some -inf elements, a whole row too (case B03) */ \
	X(NEGATIVE, "negative")     /* all negative (case B11) */                    \
	X(WHOLE, "whole")           /* small whole numbers: sums are exact */
enum kw_fill {
#define X(e, name) KW_FILL_##e,
	KW_FILL_LIST(X)
#undef X
	KW_FILL_COUNT
};
const char *kw_fill_name(enum kw_fill f);
/* Whether a fill makes sense for this input (floats only for most; index inputs keep DECLARED). */
bool kw_fill_fits(enum kw_fill f, const struct kw_tensor_decl *d);

/* Fills a view (any layout; expanded strides write each element once). Between the elements of a strided
 * view the buffer keeps `poison` NaN patterns. env: the case's dims (integer ranges). threads >= 1. */
enum kw_status kw_fill_input(const struct kw_tensor_decl *d, const struct kw_view *v, enum kw_fill f, uint64_t seed,
			     uint32_t tensor, const struct kw_intenv *env, int threads, struct kw_error *err);
/* A fill that one formula makes, for devices that make it themselves: element by element of a contiguous tensor, the same
 * counters as kw_fill_input. */
struct kw_simple_fill {
	enum kw_dist dist;                /* NORMAL: lo + hi z, cut to +-max; UNIFORM: [lo, hi); INTEGERS */
	double lo, hi, max;
	int64_t int_lo;
	uint64_t int_span;                /* below 2^32 */
};
/* false: not such a fill, or an error that kw_fill_input reports. */
bool kw_fill_is_simple(const struct kw_tensor_decl *d, const struct kw_view *v, enum kw_fill f, const struct kw_intenv *env,
		       struct kw_simple_fill *out);
/* One element's poison, repeated to 64 bits. */
uint64_t kw_poison_word(enum kw_dtype d, uint64_t seed);
/* The poison: a NaN pattern for floats (payload marks it ours), 0xA5… for integers; whole buffer. */
void kw_poison(void *p, size_t bytes, enum kw_dtype d, uint64_t seed);
/* Whether element i still holds poison. */
bool kw_is_poison(const void *p, int64_t i, enum kw_dtype d, uint64_t seed);
/* How many of the elements first..first+n do; at memory speed. */
int64_t kw_count_poison(const void *p, int64_t first, int64_t n, enum kw_dtype d, uint64_t seed);
/* Raw generator for tests: four 32-bit words for a counter and key. */
void kw_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
