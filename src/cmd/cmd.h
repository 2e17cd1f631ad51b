/* cmd.h - what the commands share. A command parses its options, calls an operation, prints text or JSON on standard
 * output, and returns a status; main prints the error and exits. KW_NO: done, and the answer is no. */
#ifndef KW_CMD_CMD_H
#define KW_CMD_CMD_H

#include "cmd/options.h"

#define COMMAND(name, function, help) \
	enum kw_status function(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err);
#include "cmd/commands.def"
#undef COMMAND

/* Prints a tree as text for people's eyes and programs, and drops it; NULL: out of memory. */
enum kw_status kw_print_json(json_t *j, struct kw_error *err);
/* Prints a buffer and releases it. Progress ends here, so that no result is written into its line. */
enum kw_status kw_print_buf(struct kw_buf *b, struct kw_error *err);
/* A run's number, or the newest run's for NULL. */
enum kw_status kw_run_number(const struct kw_cmd *cmd, const char *text, int64_t *id, struct kw_error *err);

/* progress.c: to be given to operations. */
void kw_show_search(void *arg, const struct kw_progress *p);
void kw_show_case(void *arg, const char *label);

/* optimize.c: the task and the options of judging for optimize and tune; what they and resume print at their end. */
void kw_search_words(const struct kw_cmd *cmd, struct kw_op_search_opts *o);
enum kw_status kw_print_search(const struct kw_cmd *cmd, struct kw_op_search *r, enum kw_status status,
			       struct kw_error *err);

#endif
