/* emit_internal.h - what emit.c, loops.c and interface.c share. */
#ifndef KW_AUTHOR_EMIT_INTERNAL_H
#define KW_AUTHOR_EMIT_INTERNAL_H

#include "author/emit.h"

/* Never NULL; sets e->failed when memory is out. */
const char *kw_au_printf(struct kw_au_emit *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum kw_au_level kw_au_level(const struct kw_au_emit *e, const struct kw_node *n);
const char *kw_au_row_offset(struct kw_au_emit *e, const struct kw_au_tensor *t);
const char *kw_au_seg_offset(struct kw_au_emit *e, const struct kw_au_tensor *t);
bool kw_au_is_vector(struct kw_au_emit *e, const struct kw_au_tensor *t);
const char *kw_au_cached(struct kw_au_emit *e, int at);
const char *kw_au_for_each(struct kw_au_emit *e, const char *count, const char *brace);
const char *kw_au_element(struct kw_au_emit *e, const struct kw_au_tensor *t);
const char *kw_au_expression(struct kw_au_emit *e, const struct kw_node *n);
const char *kw_au_bare(struct kw_au_emit *e, const char *text);
void kw_au_cone(struct kw_au_emit *e, const struct kw_node *n, enum kw_au_level level);
void kw_au_cone_reset(struct kw_au_emit *e);
const char *kw_au_store(struct kw_au_emit *e, const struct kw_au_tensor *t, const char *to,
			const char *value);
const char *kw_au_wrap(struct kw_au_emit *e, const char *text);
/* Replaces $NAME by its value; the list ends with a NULL. */
const char *kw_au_put(struct kw_au_emit *e, const char *text, const char *const (*words)[2]);
bool kw_au_is_mean(const struct kw_node *n);
/* reduce.c */
bool kw_au_list_reds(struct kw_au_emit *e);
int kw_au_red_kind(const struct kw_node *n); /* -1: none that we know */
const char *kw_au_red_init(const struct kw_au_red *r);
const char *kw_au_take_in(struct kw_au_emit *e, const struct kw_au_red *r, const char *into,
			  const char *value);
const char *kw_au_lanes(struct kw_au_emit *e, int pass);
const char *kw_au_accumulate(struct kw_au_emit *e, const struct kw_au_red *r);
const char *kw_au_fold(struct kw_au_emit *e, int pass);
const char *kw_au_combine(struct kw_au_emit *e, int pass);
/* What a group of threads has of `value`, joined as the language says (`how`); on a CPU a thread is
 * alone. */
const char *kw_au_join(struct kw_au_emit *e, const struct kw_au_red *r, const char *how,
		       const char *value);
/* ", "-separated lists of a kernel line and of a C signature. */
struct kw_au_args {
	const char *plan, *c;
};
void kw_au_arg(struct kw_au_emit *e, struct kw_au_args *a, const char *plan, const char *c);
void kw_au_arg_tensor(struct kw_au_emit *e, struct kw_au_args *a, const struct kw_au_tensor *t);
void kw_au_arg_strides(struct kw_au_emit *e, struct kw_au_args *a, const struct kw_au_tensor *t);
/* "restrict ", or nothing where an input and an output are one buffer. */
const char *kw_au_restricted(struct kw_au_emit *e);
/* Plan lines that keep the kernel from inputs whose strides it does not take. */
const char *kw_au_require_strides(struct kw_au_emit *e);
void kw_au_arg_size(struct kw_au_emit *e, struct kw_au_args *a, const char *size, const char *name);
void kw_au_arg_scalars(struct kw_au_emit *e, struct kw_au_args *a);
const char *kw_au_arg_workspace(struct kw_au_emit *e, struct kw_au_args *a, const char *lines,
				const char *name, enum kw_dtype d, const char *shape);
/* The pattern's own plan lines (its slot `plan`), in the task's sizes and without its workspaces;
 * fills the kernels' heads in. */
const char *kw_au_plan(struct kw_au_emit *e, const char *kernel, const struct kw_au_args *a,
		       struct kw_fill *f);
/* `define NAME = …`: how many elements of the tensors marked can be moved at once, where rows have
 * `cols` of them. */
const char *kw_au_vector_lines(struct kw_au_emit *e, const char *name, const char *cols,
			       const bool *tensors);
const char *kw_au_section(struct kw_au_emit *e, int pass);
void kw_au_forget(struct kw_au_emit *e, int pass);
void kw_au_forget_segment_names(struct kw_au_emit *e);
const char *kw_au_outer(struct kw_au_emit *e, enum kw_au_level level, int stage);
/* Notes a variable that a pass gave to its row. */
void kw_au_note_value(struct kw_au_emit *e, const char *type, const char *name);
/* late: whether the k-th cached value needs a buffer of its own for the row that is written,
 * because a pass before the last one of the next row fills it again too early. */
bool kw_au_cached_twice(const struct kw_au_emit *e, int k);
bool kw_au_word_in(struct kw_str text, const char *word);
void kw_au_close_named(struct kw_au_emit *e);

#endif
