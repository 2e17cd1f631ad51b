/* triton.h - fills Triton patterns: whole blocks of values at once, where the other languages have loops over elements.
 *
 * A pattern fixes a block of indices, one name an axis of it (`row`, `at`, ...), each with a mask of what is inside. The text that
 * fills it is straight-line code over such blocks: a value is a block of the axes that it varies over, and broadcasting does the
 * rest. Lanes outside hold rubbish until a reduction replaces them by its neutral element, or a store leaves them out.
 *
 * A pattern with a slot `pass` reads memory once for each reduction, piece by piece; one without keeps its block in registers. */
#ifndef KW_AUTHOR_TRITON_H
#define KW_AUTHOR_TRITON_H

#include "author/emit_internal.h"

/* Every slot, the plan too. KW_NO with e->why when something does not fit. */
enum kw_status kw_au_triton_loops(struct kw_au_emit *e, const char *kernel, struct kw_fill *f);

/* --- for matmul.c: one operand or the result --- */
/* A value that goes into a matrix unit: zero outside of `edge`; plain: a tensor as it lies in memory. lines: statements that
 * come before it. e->index and e->limit say where the block stands. */
const char *kw_au_triton_operand(struct kw_au_emit *e, const struct kw_node *n, bool plain, const char *edge, const char **lines);
/* Arguments of the tensors and params that are used; of the strides. */
void kw_au_triton_args(struct kw_au_emit *e, struct kw_au_args *a);
void kw_au_triton_strides(struct kw_au_emit *e, struct kw_au_args *a);
/* Stores every output. */
const char *kw_au_triton_stores(struct kw_au_emit *e);
/* "import ..." of what the text uses besides. */
const char *kw_au_triton_imports(struct kw_au_emit *e, const char *text);

#endif
