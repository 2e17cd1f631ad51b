/* explain_internal.h - what the explain*.c files of ops/ share. */
#ifndef KW_OPS_EXPLAIN_INTERNAL_H
#define KW_OPS_EXPLAIN_INTERNAL_H

#include "ops/ops.h"

/* --- explain_build.c: what a compiler adds to what the text says; what it cannot is noted --- */
/* NVRTC where it is: registers, spills, shared memory, and opcodes where a disassembler is. */
void kw_explain_compile_cuda(const char *text, size_t len, struct kw_launches *l);
/* Which loops the C compiler vectorises. */
void kw_explain_compile_c(const char *text, size_t len, struct kw_launches *l);
/* Opcodes of an object into its launches. */
void kw_explain_disassemble(const void *cubin, size_t bytes, struct kw_launches *l);

/* --- explain_candidate.c: a task and a candidate --- */
enum kw_status kw_explain_candidate(const struct kw_op_env *env, const struct kw_op_explain_opts *o, struct kw_op_explain *out,
				    struct kw_error *err);

#endif
