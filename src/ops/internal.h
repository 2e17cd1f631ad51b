/* internal.h - what the files of ops/ share. */
#ifndef KW_OPS_INTERNAL_H
#define KW_OPS_INTERNAL_H

#include "judge/judge.h"
#include "ops/ops.h"

/* task_torch.c: TASK as a file of Python, PROBLEM.py or MODULE.py:NAME@ARGS.pt; such a task without what it says itself, and with it. */
bool kw_op_is_torch_word(const char *word);
enum kw_status kw_op_torch_stub(const char *word, struct kw_buf *out, struct kw_arena *a, const char **file, struct kw_error *err);
enum kw_status kw_op_torch_complete(struct kw_op_task *t, struct kw_error *err);
/* Whether a task's text, and the expression in it, can be read; else why not. */
bool kw_op_torch_can_be_read(const char *file, const char *text, size_t len, struct kw_error *why);
/* A description's text with the file as its reference in place of an expression that cannot be read. */
enum kw_status kw_op_torch_drop_expr(const char *text, const char *path, bool eval, const struct kw_error *why, struct kw_buf *out,
				     struct kw_error *err);
/* task_kept.c: what describing a problem's file gave, kept where the file alone decides that. key: "" where it cannot be kept; get: the caller's
 * to free, NULL where nothing is kept. */
bool kw_op_kept_key(const struct kw_task *t, char key[KW_SHA256_HEX]);
char *kw_op_kept_get(const char *key);
void kw_op_keep(const char *key, const char *text);
/* A process with the task's reference loaded, to be given back (python/python.h); and its answer, where what is wrong is the task's. */
struct kw_python;
struct kw_python_answer;
enum kw_status kw_op_torch_loaded(const struct kw_task *t, struct kw_python **out, struct kw_error *err);
enum kw_status kw_op_torch_ask(struct kw_python *p, const struct kw_task *t, json_t *request, int timeout_ms, struct kw_python_answer *a,
			       struct kw_error *err);

/* The index of a case by its label or its number from 1; -1 for NULL. */
enum kw_status kw_op_find_case(const struct kw_task *t, const char *name, int *out, struct kw_error *err);
/* A judge on the device that runs a backend's code; unknown names get the nearest. */
enum kw_status kw_op_judge_for(const char *backend, struct kw_judge **out, struct kw_error *err);
/* KW_ERR_ENV for a backend whose kernels can only be built here. */
enum kw_status kw_op_has_device(const struct kw_backend *b, struct kw_error *err);
enum kw_status kw_op_backend(const char *name, const struct kw_backend **out, struct kw_error *err);
/* The user's experience; where there is no place for it a warning and NULL, which whoever reads or adds takes for nothing: it helps, and
 * nothing depends on it. */
struct kw_store *kw_op_memory(void);
/* The tuner's reports of a run as its fact "tune". */
json_t *kw_op_tune_json(const struct kw_candidate *c, const struct kw_tune_report *r);

/* import.c: for a task that is loaded; writes no file, out is its name in messages. */
enum kw_status kw_op_import_for(const struct kw_op_import_opts *o, const struct kw_task *t, struct kw_op_import *out, struct kw_error *err);
/* A kernel to start from: a candidate's file, or one without plan lines, which are made as `import` makes them. */
enum kw_status kw_op_kernel_load(struct kw_candidate *c, const char *path, const char *backend, const struct kw_task *t, struct kw_arena *a,
				 struct kw_error *err);
/* import_triton.c: fills out's texts from a file in Triton. */
enum kw_status kw_op_import_triton(const struct kw_op_import_opts *o, const struct kw_task *t, const char *text, struct kw_op_import *out,
				   struct kw_error *err);
/* KW_ERR_INPUT unless some perf case has work that can be timed. */
enum kw_status kw_op_check_perf(const struct kw_op_task *t, struct kw_error *err);
enum kw_status kw_op_put_reasons(struct kw_store *s, int64_t run_id, const char *const *reasons, size_t count,
				 struct kw_error *err);
/* wanted: KW_OK only where kernels of this backend can be run under a sanitizer here. */
enum kw_status kw_op_check_sanitizer(const char *backend, bool wanted, struct kw_error *err);
bool kw_op_has_model(const struct kw_agent_opts *o);
/* What the user asked for, over the search's defaults. */
void kw_op_search_defaults(struct kw_search_opts *so, const struct kw_op_search_opts *o);
/* The same for a run that is resumed: its own options, over them a new budget or number of threads. */
enum kw_status kw_op_search_again(struct kw_search_opts *so, const struct kw_run_row *row,
				  const struct kw_op_search_opts *o, struct kw_arena *a, struct kw_error *err);

enum kw_status kw_op_tune_resume(struct kw_store *s, const struct kw_run_row *row, const struct kw_op_search_opts *o,
				 struct kw_op_search *out, struct kw_error *err);

#endif
