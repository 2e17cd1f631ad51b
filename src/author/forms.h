/* forms.h - cheaper C for operations whose arguments the author knows something about.
 *
 *     exp(a) where a is never positive        kw_exp_negf(a)
 *     1 + erf(a), all outputs narrow          the language's own, where nothing cancels
 *     a / d where d stays the same for a row  kw_overf(a, by_d), with by_d made once a row
 *
 * Both are as exact as a float kernel has to be (kw.h has their errors). A quotient that decides
 * something - is rounded, compared, made a whole number - or that a difference may magnify stays
 * one. */
#ifndef KW_AUTHOR_FORMS_H
#define KW_AUTHOR_FORMS_H

#include "author/emit.h"

/* Notes which values become divisors. Once, before any text is made. */
void kw_au_find_divisors(struct kw_au_emit *e);
/* What to declare behind the variable `name` that holds n: its divisor, or "". */
const char *kw_au_divisor(struct kw_au_emit *e, const struct kw_node *n, const char *name);
/* The text of n, or NULL when it has no cheaper form. */
const char *kw_au_form(struct kw_au_emit *e, const struct kw_node *n);

#endif
