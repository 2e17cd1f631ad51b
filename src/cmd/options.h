/* options.h - the command line of one command, from a table: parsing, help, "did you mean".
 *
 *     static const struct kw_option options[] = {
 *             { "trials", KW_OPT_COUNT, offsetof(struct mine, trials), "N", "checked trials (5)" },
 *     };
 *     static const struct kw_syntax syntax = { "eval", "TASK FILE", 2, 2, "Judges one candidate.",
 *                                              "kwright eval softmax my.c --json", options, 1, true };
 *     status = kw_options_parse(cmd, &syntax, argc, argv, &mine, err);
 *     if (status != KW_OK || cmd->helped)
 *             return status;
 *
 * --json, --quiet, --verbose, --store DIR, --data DIR and --help are every command's. Options may stand anywhere;
 * `--name=value` and `--name value` are the same; `--` ends them. */
#ifndef KW_CMD_OPTIONS_H
#define KW_CMD_OPTIONS_H

#include <limits.h>

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "ops/ops.h"

enum kw_option_kind {
	KW_OPT_FLAG,                      /* bool */
	KW_OPT_TEXT,                      /* const char * */
	KW_OPT_TEXTS,                     /* struct kw_texts, may repeat */
	KW_OPT_COUNT,                     /* int, 1 or more: what is not given is 0, and means the usual or no limit */
	KW_OPT_COUNT_OR_NONE,             /* int, 0 or more */
	KW_OPT_THREADS,                   /* int, 1 to 1024: more than that no runtime starts reliably */
	KW_OPT_SEED,                      /* uint64_t */
	KW_OPT_NUMBER,                    /* double, 0 or more */
	KW_OPT_AMOUNT,                    /* double, more than 0 */
	KW_OPT_TIME                       /* int64_t ns: 500ms, 60s, 2m, 1h; a plain number is seconds */
};
struct kw_option {
	const char *name;
	enum kw_option_kind kind;
	size_t offset;                    /* of the target in the command's struct */
	const char *value, *help;         /* value: its name in the help */
};
enum { KW_TEXTS_MAX = 64, KW_ARGS_MAX = 16 };
struct kw_texts {
	const char *text[KW_TEXTS_MAX];
	size_t count;
};
struct kw_syntax {
	const char *name, *args;          /* "eval", "TASK FILE" */
	size_t least, most;               /* how many arguments */
	const char *about, *example;      /* lines */
	const struct kw_option *options;
	size_t option_count;
	bool judges;                      /* takes the options of struct kw_judging too */
};
/* What every command takes that judges candidates of a task. */
struct kw_judging {
	struct kw_texts inputs;           /* of the one-line form */
	const char *torch, *args;         /* MODULE.py:NAME and a file of arguments, instead of TASK */
	const char *backend;
	int threads, timings;
	uint64_t seed;
	bool large, sanitize, original;
	const char *input_values;
	const char *baselines;
	unsigned baseline_kinds;          /* of that; 0: as usual */
};
struct kw_cmd {
	bool json, quiet, verbose, helped;
	const char *store_dir, *data_dir, *python; /* NULL: not given */
	struct kw_op_env env;
	struct kw_judging judging;
	const char *args[KW_ARGS_MAX];
	char torch_task[2 * PATH_MAX];    /* one of args, made of --torch and --args */
	size_t arg_count;
};

/* Fills cmd and the command's own struct; applies --store, --data, --quiet, --verbose. Prints the help for --help. */
enum kw_status kw_options_parse(struct kw_cmd *cmd, const struct kw_syntax *syntax, int argc, char **argv, void *own,
				struct kw_error *err);
/* --torch and --args, both or neither, as one TASK: the argument at that place. */
enum kw_status kw_torch_task(struct kw_cmd *cmd, const char *torch, const char *args, size_t place, struct kw_error *err);
/* "no command 'evla'; did you mean 'eval'?" */
enum kw_status kw_unknown_word(const char *what, const char *word, const char *const *words, size_t count,
			       struct kw_error *err);

#endif
