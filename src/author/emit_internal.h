/* emit_internal.h - what emit.c, loops.c and interface.c share. */
#ifndef KW_AUTHOR_EMIT_INTERNAL_H
#define KW_AUTHOR_EMIT_INTERNAL_H

#include "author/emit.h"

/* Never NULL; sets e->failed when memory is out. */
const char *kw_au_printf(struct kw_au_emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum kw_au_level kw_au_level(const struct kw_au_emit *e, const struct kw_node *n);
const char *kw_au_row_offset(struct kw_au_emit *e, const struct kw_au_tensor *t);
const char *kw_au_seg_offset(struct kw_au_emit *e, const struct kw_au_tensor *t);
const char *kw_au_element(struct kw_au_emit *e, const struct kw_au_tensor *t);
const char *kw_au_expression(struct kw_au_emit *e, const struct kw_node *n);
void kw_au_cone(struct kw_au_emit *e, const struct kw_node *n, enum kw_au_level level);
void kw_au_cone_reset(struct kw_au_emit *e);
const char *kw_au_section(struct kw_au_emit *e, int pass);
void kw_au_forget(struct kw_au_emit *e, int pass);
void kw_au_forget_segment_names(struct kw_au_emit *e);
const char *kw_au_outer(struct kw_au_emit *e, enum kw_au_level level, int stage);
bool kw_au_word_in(struct kw_str text, const char *word);
void kw_au_close_named(struct kw_au_emit *e);

#endif
