#include "cmd/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "python/python.h"

enum { WORDS_MAX = 64, THREADS_MAX = 1024 };
static const double amount_max = 1e15;
static const double time_max_ns = 1e18; /* 31 years */

static const struct kw_option common[] = {
	{ "json", KW_OPT_FLAG, offsetof(struct kw_cmd, json), NULL, "one JSON object on standard output" },
	{ "store", KW_OPT_TEXT, offsetof(struct kw_cmd, store_dir), "DIR",
	  "the store, instead of .kernelwright (and the user's experience)" },
	{ "data", KW_OPT_TEXT, offsetof(struct kw_cmd, data_dir), "DIR",
	  "tasks and knowledge that override the built-in ones" },
	{ "python", KW_OPT_TEXT, offsetof(struct kw_cmd, python), "PATH",
	  "the Python that has torch and triton; else $KWRIGHT_PYTHON, a virtual environment, python3" },
	{ "quiet", KW_OPT_FLAG, offsetof(struct kw_cmd, quiet), NULL, "no progress, no warnings" },
	{ "verbose", KW_OPT_FLAG, offsetof(struct kw_cmd, verbose), NULL, "say more on standard error" },
	{ "help", KW_OPT_FLAG, offsetof(struct kw_cmd, helped), NULL, "this text" },
};
enum { COMMON_COUNT = sizeof(common) / sizeof(common[0]) };

static const struct kw_option judging[] = {
	{ "backend", KW_OPT_TEXT, offsetof(struct kw_cmd, judging.backend), "NAME",
	  "kernel language; else by the file's ending, or c" },
	{ "input", KW_OPT_TEXTS, offsetof(struct kw_cmd, judging.inputs), "SPEC",
	  "TASK is an expression: one of its inputs, x:f32[128,4096]" },
	{ "torch", KW_OPT_TEXT, offsetof(struct kw_cmd, judging.torch), "FILE.py:NAME", "instead of TASK: a function or module of PyTorch" },
	{ "args", KW_OPT_TEXT, offsetof(struct kw_cmd, judging.args), "FILE.pt", "what it is called with, by torch.save" },
	{ "threads", KW_OPT_THREADS, offsetof(struct kw_cmd, judging.threads), "N", "threads of candidates (all cores)" },
	{ "seed", KW_OPT_SEED, offsetof(struct kw_cmd, judging.seed), "N", "of the inputs; else drawn after each build" },
	{ "timings", KW_OPT_COUNT, offsetof(struct kw_cmd, judging.timings), "N", "times of at most so many calls a case; else until one is known to 1%" },
	{ "large", KW_OPT_FLAG, offsetof(struct kw_cmd, judging.large), NULL, "large cases too" },
	{ "sanitize", KW_OPT_FLAG, offsetof(struct kw_cmd, judging.sanitize), NULL,
	  "a right CUDA kernel is run under compute-sanitizer too" },
	{ "inputs", KW_OPT_TEXT, offsetof(struct kw_cmd, judging.input_values), "original",
	  "a problem's own get_inputs as well, in one slot of the judge's" },
	{ "baselines", KW_OPT_TEXT, offsetof(struct kw_cmd, judging.baselines), "LIST",
	  "what it is timed against: naive,eager,compile (default), max-autotune, channels-last, tf32; or none" },
};
enum { JUDGING_COUNT = sizeof(judging) / sizeof(judging[0]) };

/* The tables of a command: its own options, then those that it shares. */
struct table {
	const struct kw_option *rows;
	size_t count;
};
enum { TABLES = 3 };

static void tables_of(const struct kw_syntax *s, struct table out[TABLES])
{
	out[0] = (struct table){ s->options, s->option_count };
	out[1] = (struct table){ judging, s->judges ? JUDGING_COUNT : 0 };
	out[2] = (struct table){ common, COMMON_COUNT };
}

enum kw_status kw_unknown_word(const char *what, const char *word, const char *const *words, size_t count,
			       struct kw_error *err)
{
	const char *near = kw_str_nearest(word, words, count);
	struct kw_buf all;
	enum kw_status status;

	if (near)
		return kw_fail(err, KW_ERR_USAGE, "", "no %s '%.60s'; did you mean '%s'?", what, word, near);
	kw_buf_init(&all, 4096);
	for (size_t i = 0; i < count; i++)
		kw_buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
	status = kw_fail(err, KW_ERR_USAGE, "", "no %s '%.60s'; there %s %s", what, word,
			 count == 1 ? "is" : "are", all.len ? all.ptr : "none");
	kw_buf_release(&all);
	return status;
}

static void help_rows(const struct kw_option *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", o[i].name, o[i].value ? " " : "",
			 o[i].value ? o[i].value : "");
		printf("  %-26s %s\n", left, o[i].help);
	}
}

static void print_help(const struct kw_syntax *s)
{
	struct table tables[TABLES];

	tables_of(s, tables);
	printf("usage: kwright %s %s%s[options]\n\n%s\n\n", s->name, s->args, s->args[0] ? " " : "", s->about);
	for (int i = 0; i < TABLES; i++)
		help_rows(tables[i].rows, tables[i].count);
	printf("\nexample:\n  $ %s\n", s->example);
}

/* The option of that name, and the struct that its value goes to. */
static const struct kw_option *find(const struct kw_syntax *s, struct kw_str name, struct kw_cmd *cmd,
				    void *own, char **target)
{
	struct table tables[TABLES];

	tables_of(s, tables);
	for (int t = 0; t < TABLES; t++)
		for (size_t i = 0; i < tables[t].count; i++)
			if (kw_str_eqz(name, tables[t].rows[i].name)) {
				*target = (t == 0 ? (char *)own : (char *)cmd) + tables[t].rows[i].offset;
				return &tables[t].rows[i];
			}
	return NULL;
}

static enum kw_status unknown_option(const struct kw_syntax *s, struct kw_str name, struct kw_error *err)
{
	struct table tables[TABLES];
	const char *words[WORDS_MAX];
	char word[64];
	size_t n = 0;

	tables_of(s, tables);
	for (int t = 0; t < TABLES; t++)
		for (size_t i = 0; i < tables[t].count && n < WORDS_MAX; i++)
			words[n++] = tables[t].rows[i].name;
	snprintf(word, sizeof(word), KW_STR_FMT, (int)(name.len < 60 ? name.len : 60), name.ptr);
	if (kw_str_nearest(word, words, n))
		return kw_fail(err, KW_ERR_USAGE, "", "%s has no option --%s; did you mean --%s?", s->name, word,
			       kw_str_nearest(word, words, n));
	return kw_fail(err, KW_ERR_USAGE, "", "%s has no option --%s; see kwright %s --help", s->name, word,
		       s->name);
}

/* ns may come out as more than time_max_ns. */
static bool read_time(const char *text, double *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ms", 1e6 }, { "s", 1e9 }, { "m", 6e10 }, { "h", 3.6e12 }, { "", 1e9 } };
	size_t n = strlen(text);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t m = strlen(units[i].unit);
		double v;

		if (n <= m || strcmp(text + n - m, units[i].unit) != 0)
			continue;
		if (!kw_str_to_f64((struct kw_str){ text, n - m }, &v))
			continue;
		*ns = ceil(v * units[i].ns);
		return v > 0;
	}
	return false;
}

static enum kw_status bad_value(const struct kw_option *o, const char *text, const char *want,
				struct kw_error *err)
{
	return kw_fail(err, KW_ERR_USAGE, "", "--%s takes %s, not '%.100s'", o->name, want, text);
}

/* What is refused although it is such a number: beyond what is counted here. */
static bool is_huge(const char *text, double most)
{
	double x;

	return kw_str_to_f64(kw_str_from(text), &x) && x > most;
}

/* Inside, 0 stands for what was not given; said aloud it would look like "none at all". */
static enum kw_status bad_count(const struct kw_option *o, const char *text, const char *want, int64_t v, struct kw_error *err)
{
	if (v != 0)
		return bad_value(o, text, want, err);
	return kw_fail(err, KW_ERR_USAGE, "", "--%s takes %s, not '%.100s'; leave it out for what is usual", o->name, want, text);
}

static enum kw_status set(const struct kw_option *o, const char *text, void *target, struct kw_error *err)
{
	struct kw_texts *list;
	int64_t v;
	double x;

	switch (o->kind) {
	case KW_OPT_FLAG:
		*(bool *)target = true;
		break;
	case KW_OPT_TEXT:
		*(const char **)target = text;
		break;
	case KW_OPT_TEXTS:
		list = target;
		if (list->count == KW_TEXTS_MAX)
			return kw_fail(err, KW_ERR_USAGE, "", "--%s is given more than %d times", o->name,
				       KW_TEXTS_MAX);
		list->text[list->count++] = text;
		break;
	case KW_OPT_COUNT:
		if (!kw_str_to_i64(kw_str_from(text), &v))
			v = -1;
		if (v < 1 || v > INT32_MAX)
			return bad_count(o, text, is_huge(text, INT32_MAX) ? "a whole number from 1 to 2147483647" : "a whole number from 1", v, err);
		*(int *)target = (int)v;
		break;
	case KW_OPT_COUNT_OR_NONE:
		if (!kw_str_to_i64(kw_str_from(text), &v) || v < 0 || v > INT32_MAX)
			return bad_value(o, text, is_huge(text, INT32_MAX) ? "a whole number from 0 to 2147483647" : "a whole number from 0", err);
		*(int *)target = (int)v;
		break;
	case KW_OPT_THREADS:
		if (!kw_str_to_i64(kw_str_from(text), &v))
			v = -1;
		if (v < 1 || v > THREADS_MAX)
			return bad_count(o, text, "a whole number from 1 to 1024", v, err);
		*(int *)target = (int)v;
		break;
	case KW_OPT_SEED:
		if (!kw_str_to_i64(kw_str_from(text), &v) || v < 0)
			return bad_value(o, text, is_huge(text, 9e18) ? "a whole number from 0 to 9223372036854775807" : "a whole number from 0", err);
		*(uint64_t *)target = (uint64_t)v;
		break;
	case KW_OPT_NUMBER:
		if (!kw_str_to_f64(kw_str_from(text), &x) || !(x >= 0 && x < amount_max))
			return bad_value(o, text, is_huge(text, amount_max) ? "a number from 0 and below 1e15" : "a number from 0", err);
		*(double *)target = x;
		break;
	case KW_OPT_AMOUNT:
		if (!kw_str_to_f64(kw_str_from(text), &x))
			x = -1;
		if (!(x > 0 && x < amount_max))
			return bad_count(o, text, is_huge(text, amount_max) ? "a number above 0 and below 1e15" : "a number above 0", x == 0 ? 0 : -1, err);
		*(double *)target = x;
		break;
	case KW_OPT_TIME:
		if (read_time(text, &x) && x > time_max_ns)
			return bad_value(o, text, "a time of 31 years at most", err);
		if (!read_time(text, &x))
			return bad_count(o, text, "a time such as 500ms, 60s, 2m or 1h", strspn(text, "0.msh") == strlen(text) ? 0 : -1, err);
		*(int64_t *)target = (int64_t)x;
	}
	return KW_OK;
}

static enum kw_status one_option(struct kw_cmd *cmd, const struct kw_syntax *s, int argc, char **argv, int *i,
				 void *own, struct kw_error *err)
{
	struct kw_str rest = kw_str_from(argv[*i] + 2), name;
	const struct kw_option *o;
	const char *value = NULL;
	char *target = NULL;

	kw_str_split(&rest, '=', &name);
	o = find(s, name, cmd, own, &target);
	if (!o)
		return unknown_option(s, name, err);
	if (rest.ptr)
		value = rest.ptr;
	if (o->kind == KW_OPT_FLAG && value)
		return kw_fail(err, KW_ERR_USAGE, "", "--%s takes no value", o->name);
	if (o->kind != KW_OPT_FLAG && !value) {
		if (*i + 1 >= argc)
			return kw_fail(err, KW_ERR_USAGE, "", "--%s needs a value: --%s %s", o->name, o->name,
				       o->value);
		value = argv[++*i];
	}
	return set(o, value, target, err);
}

static enum kw_status check_args(const struct kw_cmd *cmd, const struct kw_syntax *s, struct kw_error *err)
{
	if (cmd->arg_count < s->least)
		return kw_fail(err, KW_ERR_USAGE, "", "usage: kwright %s %s; see kwright %s --help", s->name, s->args,
			       s->name);
	if (cmd->arg_count > s->most)
		return kw_fail(err, KW_ERR_USAGE, "", "'%.100s' is one argument too many; usage: kwright %s%s%s",
			       cmd->args[s->most], s->name, s->args[0] ? " " : "", s->args);
	return KW_OK;
}

enum kw_status kw_torch_task(struct kw_cmd *cmd, const char *torch, const char *args, size_t place, struct kw_error *err)
{
	const char *colon = torch ? strstr(torch, ".py:") : NULL;

	if (!torch && !args)
		return KW_OK;
	if (!torch || !args)
		return kw_fail(err, KW_ERR_USAGE, "", "--torch FILE.py:NAME and --args FILE.pt go together");
	if (!colon || !colon[4] || strchr(args, '@'))
		return kw_fail(err, KW_ERR_USAGE, "", "--torch takes FILE.py:NAME, not '%.200s'", torch);
	if (cmd->arg_count < place || cmd->arg_count == KW_ARGS_MAX)
		return kw_fail(err, KW_ERR_USAGE, "", "too %s arguments", cmd->arg_count < place ? "few" : "many");
	if (snprintf(cmd->torch_task, sizeof(cmd->torch_task), "%s@%s", torch, args) >= (int)sizeof(cmd->torch_task))
		return kw_fail(err, KW_ERR_USAGE, "", "--torch and --args are too long");
	memmove(&cmd->args[place + 1], &cmd->args[place], (cmd->arg_count - place) * sizeof(cmd->args[0]));
	cmd->args[place] = cmd->torch_task;
	cmd->arg_count++;
	return KW_OK;
}

static enum kw_status apply(struct kw_cmd *cmd, struct kw_error *err)
{
	kw_log_set_level(cmd->quiet ? KW_LOG_ERROR : cmd->verbose ? KW_LOG_DEBUG : KW_LOG_INFO);
	if (cmd->data_dir && !kw_path_exists(cmd->data_dir))
		return kw_fail(err, KW_ERR_NOT_FOUND, cmd->data_dir, "there is no such folder (--data)");
	if (cmd->store_dir && !cmd->store_dir[0])
		return kw_fail(err, KW_ERR_USAGE, "", "--store needs a folder's name");
	kw_data_set_dir(cmd->data_dir);
	kw_python_use(cmd->python);
	kw_store_set_dir(cmd->store_dir);
	cmd->env.store_dir = cmd->store_dir ? cmd->store_dir : ".kernelwright";
	return KW_OK;
}

enum kw_status kw_options_parse(struct kw_cmd *cmd, const struct kw_syntax *s, int argc, char **argv, void *own,
				struct kw_error *err)
{
	bool options = true;
	enum kw_status status = KW_OK;

	for (int i = 0; status == KW_OK && i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0)
			options = false;
		else if (options && strcmp(argv[i], "-h") == 0)
			cmd->helped = true;
		else if (options && strncmp(argv[i], "--", 2) == 0)
			status = one_option(cmd, s, argc, argv, &i, own, err);
		else if (options && argv[i][0] == '-' && argv[i][1])
			status = kw_fail(err, KW_ERR_USAGE, "", "no option %.60s; options have two dashes", argv[i]);
		else if (cmd->arg_count < KW_ARGS_MAX)
			cmd->args[cmd->arg_count++] = argv[i];
		else
			status = kw_fail(err, KW_ERR_USAGE, "", "too many arguments");
	}
	if (status == KW_OK && cmd->helped)
		print_help(s);
	else if (status == KW_OK)
		status = s->judges ? kw_torch_task(cmd, cmd->judging.torch, cmd->judging.args, 0, err) : KW_OK;
	if (status == KW_OK && cmd->judging.baselines)
		status = kw_baselines_parse(cmd->judging.baselines, &cmd->judging.baseline_kinds, err);
	cmd->judging.original = cmd->judging.input_values != NULL;
	if (status == KW_OK && cmd->judging.original && strcmp(cmd->judging.input_values, "original") != 0)
		status = kw_fail(err, KW_ERR_USAGE, "", "--inputs takes 'original', not '%.60s'; --input declares one of an expression",
				 cmd->judging.input_values);
	if (status == KW_OK && !cmd->helped)
		status = check_args(cmd, s, err);
	if (status == KW_OK)
		status = apply(cmd, err);
	return status;
}
