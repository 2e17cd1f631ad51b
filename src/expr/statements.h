/* statements.h - an expression of several operations as statements, and groups of them as tasks of their own.
 *
 *     kw_expr_statements(task, arena, &s, err);        // one operation of weight a line: mid1 = linear(x, w1, b1)
 *     kw_statements_divide(&s, part, &count);          // what can be fused stays together
 *     kw_statements_task(&s, part, 0, arena, &yaml, err);
 *
 * The text of a statement is the user's own, but that what stands inside another operation has a name here and each name is
 * assigned once. A value that passes from one part to another (a *joint*) is an input of the one task and an output of
 * the other. Sizes, and what depends on no input, belong to no part: every part that needs them has a copy.
 *
 * Everything lives in the given arena. Thread rule: none needed. */
#ifndef KW_EXPR_STATEMENTS_H
#define KW_EXPR_STATEMENTS_H

#include "expr/expr.h"

enum { KW_STATEMENTS_MAX = 256, KW_STATEMENT_TARGETS = 8, KW_NO_PART = -1 };

struct kw_statement {
	const char *text;                 /* "mid1 = linear(x, w1, b1)" */
	const char *target[KW_STATEMENT_TARGETS];
	const struct kw_node *value[KW_STATEMENT_TARGETS]; /* NULL: no tensor */
	int target_count;
	bool copied;                      /* belongs to no part */
	bool heavy, reduces;              /* a product, a convolution, attention ...; a reduction or normalisation over rows */
	const struct kw_node *reduced;    /* where it reduces: what is read, along which axes */
	const struct kw_node *reducer;
	bool *reads;                      /* by statement */
	double flops;                     /* in the first timed case; 0: not known */
};
struct kw_statements {
	const struct kw_task *task;
	struct kw_statement *at;
	size_t count;
};
/* KW_NO: the task is none that can be divided; err says why. */
enum kw_status kw_expr_statements(const struct kw_task *t, struct kw_arena *a, struct kw_statements *out, struct kw_error *err);
/* part[i]: of the i-th statement, from 0, or KW_NO_PART where it is copied. One heavy operation a part with the elementwise ones
 * behind it; reductions over the same rows together. A part reads only what parts before it make. */
void kw_statements_divide(const struct kw_statements *s, int part[KW_STATEMENTS_MAX], size_t *count);
/* Whether a division by somebody else is one: each statement that is not copied has a part, and no part needs itself through
 * another. Numbers the parts in an order that they can run in. KW_ERR_INPUT with a sentence. */
enum kw_status kw_statements_check(const struct kw_statements *s, int part[KW_STATEMENTS_MAX], size_t *count, struct kw_error *err);
/* Whether a value is read by another part, or by nobody but the user. */
bool kw_statement_is_joint(const struct kw_statements *s, const int *part, size_t statement, int target);
/* The task file of a part. KW_NO: it cannot be one (a joint of whole numbers, whose range nobody knows). */
enum kw_status kw_statements_task(const struct kw_statements *s, const int *part, int which, struct kw_arena *a, const char **yaml,
				  struct kw_error *err);
/* "1. `mid1 = x @ w`: f32[rows, cols], 1.2e+06 flops" a line; "PART: 1 2" a line. NULL: out of memory. */
const char *kw_statements_text(const struct kw_statements *s, struct kw_arena *a);
const char *kw_division_text(const struct kw_statements *s, const int *part, size_t count, struct kw_arena *a);

#endif
