/* cmd.h - what the commands share. A command parses its options, calls an operation, prints text or JSON on standard
 * output, and returns a status; main prints the error and exits. KW_NO: done, and the answer is no. */
#ifndef KW_CMD_CMD_H
#define KW_CMD_CMD_H

#include "cmd/options.h"

#define COMMAND(name, function, help) \
	enum kw_status function(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err);
#include "cmd/commands.def"
#undef COMMAND

/* bench.c: the resident process of a benchmark; not in the list, as nobody calls it. */
enum kw_status kw_cmd_bench_serve(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err);
/* Prints a tree as text for people's eyes and programs, and drops it; NULL: out of memory. */
enum kw_status kw_print_json(json_t *j, struct kw_error *err);
/* Prints a buffer and releases it. Progress ends here, so that no result is written into its line. */
/* Writes it, and keeps why that failed: what is done afterwards may change errno. */
void kw_put(const char *text, size_t len);
extern int kw_put_errno;                                 /* 0: nothing failed */
enum kw_status kw_print_buf(struct kw_buf *b, struct kw_error *err);
/* A run's number, or the newest run's for NULL. */
enum kw_status kw_run_number(const struct kw_cmd *cmd, const char *text, int64_t *id, struct kw_error *err);

/* report.c: what a run or a benchmark did and found; the newest for NULL. */
enum kw_status kw_print_report(const struct kw_cmd *cmd, const char *number, struct kw_error *err);

/* Whom to ask, in the options of a command (model.c). */
struct kw_model_words {
	const char *model, *base_url, *key_file;
	struct kw_texts role_models, role_temperatures;
	int max_tokens, retries;
	int64_t timeout_ns;
	double temperature;
};
#define KW_MODEL_WORDS_DEFAULT { .temperature = -1.0, .retries = -1 } /* what parsing starts from: the model's own */
#define KW_MODEL_OPTIONS(type, member)                                                                                      \
	{ "model", KW_OPT_TEXT, offsetof(type, member.model), "PROVIDER:NAME", "whom to ask; kwright prompt list names providers" }, \
	{ "role-model", KW_OPT_TEXTS, offsetof(type, member.role_models), "ROLE=MODEL", "another model for one role (planner, ...)" }, \
	{ "base-url", KW_OPT_TEXT, offsetof(type, member.base_url), "URL", "of a server that speaks the provider's protocol" }, \
	{ "key-file", KW_OPT_TEXT, offsetof(type, member.key_file), "FILE", "the key, in a file that only you can read" },   \
	{ "temperature", KW_OPT_NUMBER, offsetof(type, member.temperature), "T", "of the model; else its own" },             \
	{ "role-temperature", KW_OPT_TEXTS, offsetof(type, member.role_temperatures), "ROLE=T", "another temperature for one role" }, \
	{ "max-tokens", KW_OPT_COUNT, offsetof(type, member.max_tokens), "N", "of one answer, its reasoning included" },     \
	{ "model-retries", KW_OPT_COUNT_OR_NONE, offsetof(type, member.retries), "N", "of a request that failed for a while (5)" },   \
	{ "model-timeout", KW_OPT_TIME, offsetof(type, member.timeout_ns), "TIME", "without a sign of life from the model" }
enum kw_status kw_model_words(const struct kw_model_words *w, struct kw_agent_opts *o, struct kw_error *err);

/* progress.c: to be given to operations. */
void kw_show_search(void *arg, const struct kw_progress *p);
void kw_show_case(void *arg, const char *label);

/* optimize.c: the task and the options of judging for optimize and tune; what they and resume print at their end. */
void kw_search_words(const struct kw_cmd *cmd, struct kw_op_search_opts *o);
enum kw_status kw_print_search(const struct kw_cmd *cmd, struct kw_op_search *r, enum kw_status status,
			       struct kw_error *err);

#endif
