/* signature.h - whether the functions of a C candidate take what its plan lines pass.
 *
 * A kernel is called with the plan's arguments, whatever its parameters are: a float in the place of a double, or inputs and
 * outputs the wrong way round, are garbage or faults at run time, far from the cause. So a declaration of our own stands
 * behind the source in the same compilation (kw_signature_suffix): it costs nothing, and a warning at it tells that the
 * parameters are not the plan's to the letter. Then the compiler is asked what they are (kw_signature_probe, whose output
 * kw_signature_fits reads), and only what cannot work is refused: another number of parameters, a number in the place of a
 * pointer, elements of another kind, an output that is const wherever it is passed. Missing const and restrict, void, typedefs, vectors, structs
 * and whole numbers of another width are the author's business.
 *
 * Messages at KW_SIGNATURE_FILE are ours and never shown. Pure functions; any thread. */
#ifndef KW_BACKEND_SIGNATURE_H
#define KW_BACKEND_SIGNATURE_H

#include "base/str.h"
#include "core/candidate.h"

#define KW_SIGNATURE_FILE "kw-signature"

struct kw_signature_fault {
	int line, column;                 /* in the candidate; of the parameter, or of the plan line */
	char message[480];
};
/* Nothing when the plan names no kernels. Of the bound plan only what an argument is counts, no value. */
void kw_signature_suffix(const struct kw_candidate *c, const struct kw_bound_plan *bound, struct kw_buf *out);
/* Text that never compiles: each message tells a parameter. To be compiled with -fsyntax-only, without a limit of errors. */
void kw_signature_probe(const struct kw_candidate *c, const struct kw_bound_plan *bound, struct kw_buf *out);
/* path: of the file that was compiled. log: gcc's or clang's text. What it does not tell is taken to fit. */
bool kw_signature_fits(const struct kw_candidate *c, const struct kw_bound_plan *bound, const char *path, struct kw_str log,
		       struct kw_signature_fault *out);

#endif
