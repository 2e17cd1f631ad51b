/* import_kernel.h - a kernel of somebody's file while it becomes a candidate: what import.c and import_template.c share.
 *
 * Texts are parts of the file, whose tokens they were read from. */
#ifndef KW_OPS_IMPORT_KERNEL_H
#define KW_OPS_IMPORT_KERNEL_H

#include "core/task.h"
#include "ops/ops.h"
#include "profile/tokens.h"

enum { KW_IMPORT_PARAMS = 64, KW_IMPORT_CONFIG = 4, KW_IMPORT_TEMPLATE = 8 };

struct kw_import_param {
	struct kw_str text, name;
	bool pointer, constant, floating, wide;
};
/* One parameter of a template, and what the launch gives for it. */
struct kw_import_template {
	struct kw_str name, given;        /* given.len 0: nothing */
	bool type, has_default;
	const char *value;                /* as it stands in the wrapper */
};
struct kw_import_kernel {
	struct kw_str name;
	const char *entry;                /* NULL: name; of a template: its wrapper's */
	struct kw_import_param params[KW_IMPORT_PARAMS];
	size_t param_count;
	struct kw_str config[KW_IMPORT_CONFIG], args[KW_IMPORT_PARAMS]; /* of its launch, as written */
	size_t config_count, arg_count;
	struct kw_import_template templates[KW_IMPORT_TEMPLATE];
	size_t template_count;
	size_t first, at;                 /* tokens: where its declaration begins, and its name */
};

/* The parts between commas of [from, to), brackets kept together: {first, end} each. */
size_t kw_import_split(const struct kw_tokens *t, size_t from, size_t to, size_t parts[][2], size_t most);
struct kw_str kw_import_span(const struct kw_tokens *t, size_t from, size_t to);

/* --- templates (import_template.c): a plan line can only name a function, so that a template is called by one with a plain name --- */
/* Reads "template <...>" in front of the kernel, if there is one. */
void kw_import_template_read(const struct kw_tokens *t, struct kw_import_kernel *k);
/* The "<...>" between the kernel's name and "<<<", whose last token is `end`; the token of the name. */
size_t kw_import_template_launch(const struct kw_tokens *t, size_t end, size_t parts[][2], size_t most, size_t *count);
/* The C++ type that a type parameter stands for: as the launch says, or that of the task's first input where it is the caller's (scalar_t).
 * NULL: out of memory. */
const char *kw_import_template_type(const struct kw_import_template *x, const struct kw_task *task, struct kw_arena *a);
/* Makes the template a device function in `body`, a copy of the file's text, and gives the wrapper to put behind it. NULL: out of memory. */
const char *kw_import_template_wrap(const struct kw_tokens *t, const struct kw_import_kernel *k, char *body, struct kw_arena *a);

#endif
