/* torch_values.h - the values of a reference in PyTorch, as a stage has them, and asking for them again (reference_torch.c,
 * torch_rounding.c). For the judge alone. */
#ifndef KW_TORCH_VALUES_H
#define KW_TORCH_VALUES_H

#include "judge/internal.h"

struct shared {
	int fd;
	char *at;
	size_t bytes;
};
enum { EXACT, PLAIN, WAYS };
struct torch_values {
	struct stage *s;
	struct shared in, out;
	double *values[WAYS][KW_MAX_OUTPUTS]; /* per output */
	bool valid[WAYS], checked;        /* checked: two runs agreed */
	double longest;                   /* sum behind the plain values */
	double *own;                      /* kw_torch_own_error; NULL: not asked yet */
	int own_output;                   /* that it is of; -1: of other inputs */
	bool steady[KW_MAX_OUTPUTS];      /* for this case */
};
/* All of these under the lock of the judge's process. */
void kw_torch_lock(const struct torch_values *v, bool on);
/* The values of a way are there for these inputs. */
enum kw_status kw_torch_have(struct torch_values *v, int way, const struct kw_view *inputs, struct kw_error *err);
/* One more evaluation, plain (f32) or exact, of inputs changed as `how` says: "moved" in the last place of an f32, "disturbed" in the last
 * place of what is computed in, NULL not at all. *got: an output's values, until kw_torch_clear. */
enum kw_status kw_torch_again(struct torch_values *v, const struct kw_view *inputs, bool plain, const char *how, uint64_t seed, int output,
			      const double **got, struct kw_error *err);
void kw_torch_clear(struct torch_values *v); /* values are not left lying about */

#endif
