/* task_internal.h - what the task_*.c files share; nobody else includes it.
 *
 * A reader holds a task while it is being filled from YAML. Every function returns the first
 * failure with the place of the node that caused it. */
#ifndef KW_CORE_TASK_INTERNAL_H
#define KW_CORE_TASK_INTERNAL_H

#include "base/yaml.h"
#include "core/task.h"

enum {
	KW_TASK_MAX_DIMS = 32,
	KW_TASK_MAX_TENSORS = 1024, /* inputs, and outputs: a deep network has hundreds of weights */
	KW_TASK_MAX_PARAMS = 32,
	KW_TASK_MAX_CASES = 256,
	KW_TASK_MAX_ALIGN = 4096,   /* bytes: a page, which every device can give */
	KW_CORE_MAX_NAME = 48
};

struct kw_task_reader {
	struct kw_task *task;
	struct kw_arena *arena;     /* the task's */
	const struct kw_yaml *root;
	const char *text;           /* the whole file */
	const struct kw_yaml *layout; /* top-level layout map, or NULL */
	struct kw_error *err;
};

/* Fails at the key of a node instead of at its value. */
enum kw_status kw_task_fail_key(const struct kw_yaml *n, struct kw_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
enum kw_status kw_task_nomem(const struct kw_task_reader *r);
/* A map with 1 to max children (0 to max when it may be empty). */
enum kw_status kw_task_check_map(const struct kw_yaml *n, size_t max, bool may_be_empty,
				 struct kw_error *err);
/* A key that names a dim, tensor or param: an identifier, no word of C, not used before. */
enum kw_status kw_task_check_name(const struct kw_task_reader *r, const struct kw_yaml *n);
/* Parses the text of a scalar as an integer expression over the task's dims. */
enum kw_status kw_task_read_intexpr(const struct kw_task_reader *r, const struct kw_yaml *n,
				    struct kw_intexpr **out);
/* Words that no dim, tensor, param, tune or define may be called: they go into generated C. */
bool kw_core_is_reserved(const char *name);
bool kw_core_is_identifier(const char *name);
/* The n-th name of a list of words that a scalar spells, or a failure with the nearest word. */
enum kw_status kw_task_read_word(const struct kw_yaml *n, const char *what, const char *const *words,
				 size_t count, int *out, struct kw_error *err);
/* Leaves *out alone when the key is absent. */
enum kw_status kw_task_read_dtype(const struct kw_yaml *map, const char *key, enum kw_dtype *out,
				  struct kw_error *err);
int kw_task_find_input(const struct kw_task *t, const char *name); /* -1: none */

enum kw_status kw_task_read_inputs(struct kw_task_reader *r, const struct kw_yaml *map);
enum kw_status kw_task_read_outputs(struct kw_task_reader *r, const struct kw_yaml *map);
enum kw_status kw_task_read_reference(struct kw_task_reader *r, const struct kw_yaml *map);
enum kw_status kw_task_read_cases(struct kw_task_reader *r);
/* task_layout.c: `layout: { x: sliced }` of a case; and what a check case has that does not say: where no layout is promised,
 * the number-th of those that fit. */
enum kw_status kw_task_read_layout(const struct kw_task_reader *r, const struct kw_yaml *map, struct kw_case *c);
void kw_task_vary_layouts(const struct kw_task *t, size_t number, struct kw_case *c);

#endif
