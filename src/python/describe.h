/* describe.h - what a problem in KernelBench's form is: a Python file with `Model`, `get_inputs` and `get_init_inputs`.
 *
 *     struct kw_describe_opts o = { .eval = false };
 *     json_t *d = NULL;
 *     if (kw_python_describe(NULL, "problem.py", &o, &d, err) == KW_OK)
 *             puts(json_string_value(json_object_get(d, "yaml")));
 *     json_decref(d);
 *
 * No tensor of it is made (python/describe.py), so gigabytes of inputs cost nothing. The object:
 *
 *     name, mode ("train", "eval"), torch
 *     inputs      [{ name, kind: "tensor", dtype, shape, dist, range, strides?, constant?, structure?, values?, sampled? }
 *                  or { name, kind: "number", dtype, value }: a param of the task
 *                  or { name, kind: "fixed", value }: sizes, flags, strings, which are part of the expression]
 *     parameters  [the same, and path (of the state dict), role ("parameter", "buffer", "attribute"), used]
 *     outputs     [{ name, dtype, shape }]
 *     state       paths of what a call changes; changes: inputs that it changes
 *     expr        an expression of inputs and parameters by name, or null
 *     unknown     [{ op, count, line }]: why there is none; notes: sentences
 *     yaml        a task: its reference is the expression, or else the file
 *
 * constant: the file fills it with that one number, and the range is around it, so that no kernel can leave it out.
 * structure: "triu", "tril" or "symmetric", which no range says. sampled: told from values, and not from the call. */
#ifndef KW_PYTHON_DESCRIBE_H
#define KW_PYTHON_DESCRIBE_H

#include "python/python.h"

struct kw_describe_opts {
	bool eval;                     /* modules as they are used, not as they are trained */
	const char *shown;             /* how a task names the file; NULL: by path */
	int timeout_ms;                /* 0: 300 s */
};
/* keep: a process that stays for the next file, NULL in it at first, kw_python_stop() by the caller; or NULL. KW_ERR_INPUT: what
 * is wrong with the file, in a sentence. *out is the caller's. */
enum kw_status kw_python_describe(struct kw_python **keep, const char *path, const struct kw_describe_opts *o, json_t **out,
				  struct kw_error *err);

#endif
