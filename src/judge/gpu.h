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
/* Fills input i of a slot; *done false: not a fill that the device can make. */
enum kw_status kw_gpu_fill(struct stage *s, int slot, int i, enum kw_fill fill, uint64_t seed, bool *done, struct kw_error *err);
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

#endif
