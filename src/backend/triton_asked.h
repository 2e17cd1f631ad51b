/* triton_asked.h - compiles the Triton kernels that a Python module launches, when its player asks
 * for them.
 *
 *     kw_triton_asked_new("sm_90a", &t, err);           // its process starts meanwhile
 *     kw_triton_asked(t, question, len, &answer, &end, err);  // as struct kw_module_host has it
 *     kw_triton_asked_free(t);
 *
 * kw_triton_asked_ahead has some started that kw_triton_asked_new will take.
 *
 * One for each candidate. The question is a candidate's: text of functions and plain values
 * (python/triton_asked.py), bounded, and read as nothing but JSON. It is compiled in the compiler's
 * box by a process that serves no other candidate. Objects are cached by all that they depend on;
 * what was refused is remembered as long as this lives. The answer: a line of JSON, {"kernels":
 * [{"metadata", "bytes"} or
 * {"errors"}]}, and the objects one after the other. Not thread-safe. */
#ifndef KW_BACKEND_TRITON_ASKED_H
#define KW_BACKEND_TRITON_ASKED_H

#include "device/device.h"

struct kw_triton_asked;
enum kw_status kw_triton_asked_new(const char *arch, struct kw_triton_asked **out,
				   struct kw_error *err);
void kw_triton_asked_free(struct kw_triton_asked *t);
/* So that count of them are there, which know nothing yet; each is taken once. What fails is met with the one that is made then. Ready: when
 * they have started. Any thread. */
void kw_triton_asked_ahead(const char *arch, int count);
void kw_triton_asked_ready(void);
void kw_triton_asked_dismiss(void);
enum kw_status kw_triton_asked(void *t, const char *question, size_t len, struct kw_buf *answer,
			       struct kw_ask_end *end, struct kw_error *err);

int kw_triton_asked_sm(const struct kw_triton_asked *t); /* 90 */
struct kw_triton_asked_count {
	int asked, different, compiled; /* kernels: all; of which this has not seen before, nor the
					   cache; and those that could be compiled */
	int64_t wall_ns;		/* that players waited */
};
struct kw_triton_asked_count kw_triton_asked_count(const struct kw_triton_asked *t);

#endif
