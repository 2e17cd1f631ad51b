/* niche.h - what kind of kernel a kernel is, for strategies that keep different ones. Pure functions. */
#ifndef KW_SEARCH_NICHE_H
#define KW_SEARCH_NICHE_H

#include "core/candidate.h"
#include "core/verdict.h"

/* Technique by bottleneck, as a number below KW_NICHES: whether it passes over its data once or in several launches, keeps some of it
 * in fast memory, works on vectors; and what its first timed case is bound by. */
enum { KW_NICHES = 32 };
int kw_niche_of(const struct kw_candidate *c, const struct kw_verdict *v);
/* "several launches, vectors; bound by memory" */
const char *kw_niche_text(int niche, struct kw_arena *a);
/* The hash of a source without comments (but plan lines) and without blanks that do not matter: kernels that are the same but for
 * these have one. */
void kw_niche_shape(const char *source, char sha[KW_SHA256_HEX]);

#endif
