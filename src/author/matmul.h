/* matmul.h - fills the matmul pattern: one matrix product, any elementwise work on its operands and
 * on its result.
 *
 * Three index spaces, each analysed on its own: the left operand (batch, i, k), the right one
 * (batch, k, j) and the result (batch, i, j), where the product is a value given from elsewhere.
 * Slots: types plan signature pack_a pack_b body. */
#ifndef KW_AUTHOR_MATMUL_H
#define KW_AUTHOR_MATMUL_H

#include "author/fill.h"
#include "core/pattern.h"
#include "expr/expr.h"

/* KW_NO with *why when the expression is no such product. */
enum kw_status kw_au_matmul(const struct kw_expr *lowered, const struct kw_pattern *p,
			    const char *kernel, struct kw_arena *a, struct kw_fill *f,
			    const char **why, struct kw_error *err);

#endif
