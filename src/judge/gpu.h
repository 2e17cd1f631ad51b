/* gpu.h - the judge's data on a device whose memory it cannot touch: inputs are made, outputs poisoned and compared there, by
 * kernels of our own (gpu.cu) in the judge's own context. What they cannot do is done on a copy in the host's memory, as on
 * the cpu. Private to judge/.
 *
 *     kw_gpu_open(j, err);                      // once; builds gpu.cu for the device; any failure: the host does it all
 *     if (kw_gpu_fill(s, slot, i, fill, seed, &done, err) == KW_OK && !done) ... on the host
 *
 * Thread rule: one evaluation at a time. */
#ifndef KW_JUDGE_GPU_H
#define KW_JUDGE_GPU_H

#include "judge/internal.h"

struct kw_gpu;
/* NULL in *out: the device needs none, or there is no compiler for it; that is no error. */
enum kw_status kw_gpu_open(struct kw_device *dev, struct kw_gpu **out, struct kw_error *err);
void kw_gpu_close(struct kw_gpu *g);
/* Code of ours ("src/judge/gpu.cu") built for a device that computes, and loaded. KW_ERR_ENV: there is no compiler. */
enum kw_status kw_gpu_program(struct kw_device *dev, const char *source, struct kw_program **out, struct kw_error *err);
/* Fills input i of a slot; *done false: not a fill that the device can make. */
enum kw_status kw_gpu_fill(struct stage *s, int slot, int i, enum kw_fill fill, uint64_t seed, bool *done, struct kw_error *err);
/* What was launched has ended: a player that is told nothing else may read it. */
enum kw_status kw_gpu_wait(struct stage *s, struct kw_error *err);
/* Poisons tensor i of a slot. */
enum kw_status kw_gpu_poison(struct stage *s, int slot, int i, uint64_t seed, struct kw_error *err);
/* Compares elements first..first+n of an output with the f64 values at `want` on the device; adds to *st (not finished). */
enum kw_status kw_gpu_compare(struct stage *s, int slot, int output, uint64_t want, int64_t first, int64_t n, bool any_nan,
			      struct kw_compare_stats *st, struct kw_error *err);
/* The plain evaluation's n values (f64) against the reference's. */
struct kw_gpu_plain {
	double worst, squares;            /* largest |plain - want|; sum of want^2 */
	int64_t n, nan, ill;              /* both finite; NaN wanted; finite only in f64 */
};
enum kw_status kw_gpu_plain(struct stage *s, uint64_t want, uint64_t plain, int64_t n, struct kw_gpu_plain *out,
			    struct kw_error *err);

/* Whether gpu.cu reads this type. */
bool kw_gpu_knows(enum kw_dtype d);
/* Elements of an output that still hold poison. */
enum kw_status kw_gpu_unwritten(struct stage *s, int slot, int output, int64_t *found, struct kw_error *err);
/* A number of all bytes of a tensor, the same for the same bytes and seed: whether it changed is told without bringing it to the host. */
enum kw_status kw_gpu_hash(struct stage *s, int slot, int tensor, uint64_t seed, uint64_t *out, struct kw_error *err);

/* --- gpu_reference.c: the expression as device code of our own, once in f64 and once as a plain f32 kernel computes it --- */
/* What they are for a task: NULL in w->references where the expression has no such form, an output is not compared by value,
 * or the device has no compute. */
enum kw_status kw_references_new(struct work *w, struct kw_error *err);
void kw_references_free(struct work *w);
enum kw_status kw_references_bind(struct stage *s, struct kw_error *err);
void kw_references_close(struct stage *s);
/* Checks all outputs of a slot on the device: tolerance from this slot's own data, then every element (a random sample where
 * the reference is dear). *right true: they are, and stats[output] say how well. False: not, or it could not be told here;
 * then the host decides. */
enum kw_status kw_references_check(struct stage *s, int slot, enum kw_fill fill, struct kw_compare_stats *stats, bool *right,
				   struct kw_error *err);

#endif
