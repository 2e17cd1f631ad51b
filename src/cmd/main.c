/* kwright: finds the command, prints its error, exits. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "device/device.h"
#include "python/python.h"

static const struct command {
	const char *name;
	enum kw_status (*run)(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err);
	const char *help;
} commands[] = {
#define COMMAND(name, function, help) { name, function, help },
#include "cmd/commands.def"
#undef COMMAND
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *to)
{
	fputs("usage: kwright COMMAND [arguments] [options]\n\n"
	      "Give it a tensor operation; get back a kernel that is proven right, measured and explained.\n\n", to);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\nkwright COMMAND --help says more; kwright --version tells the version.\n"
	      "example:\n  $ kwright optimize softmax --backend c\n", to);
}

static const struct command *find(const char *name, struct kw_error *err)
{
	static const struct command serve = { "__bench", kw_cmd_bench_serve, "" };
	const char *names[COMMAND_COUNT];

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		names[i] = commands[i].name;
		if (strcmp(name, names[i]) == 0)
			return &commands[i];
	}
	if (strcmp(name, serve.name) == 0)
		return &serve;
	kw_unknown_word("command", name, names, COMMAND_COUNT, err);
	return NULL;
}

/* With --json the error is an object on standard output too, so that a program need not read prose. */
static void print_error(const struct kw_error *err, bool json)
{
	char line[2100];
	struct kw_error ignored;

	kw_progress_end();
	kw_log(KW_LOG_ERROR, "%s", kw_error_line(err, line, sizeof(line)));
	if (!json)
		return;
	kw_error_reset(&ignored);
	kw_print_json(json_pack("{s:{s:s, s:s, s:s}}", "error", "status", kw_status_name(err->status), "where",
				err->where, "text", err->text), &ignored);
}

static bool has_json(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

/* A result that could not be printed is not done. A reader that went away wants no complaint. */
static int close_output(int code)
{
	int why;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	why = kw_put_errno ? kw_put_errno : errno;
	if (why != EPIPE)
		kw_log(KW_LOG_ERROR, "standard output: %s", strerror(why));
	return code ? code : kw_status_exit(KW_ERR_IO);
}

/* Options of every command may stand before it: moves the first word to the front. */
static int command_index(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-')
			return i;
		if (strcmp(argv[i], "--store") == 0 || strcmp(argv[i], "--data") == 0)
			i++;
	}
	return 0;
}

/* Messages to a player and what a thread of the judge holds lie on the stack. Threads get as much as the limit was at the start. */
enum { LEAST_STACK_BYTES = 1 << 20 };

static enum kw_status check_stack(struct kw_error *err)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_STACK, &r) < 0 || r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= LEAST_STACK_BYTES)
		return KW_OK;
	return kw_fail(err, KW_ERR_ENV, "", "the stack is limited to %lld KiB here, and %d are needed: `ulimit -s 8192`",
		       (long long)(r.rlim_cur / 1024), LEAST_STACK_BYTES / 1024);
}

static int run_command(int argc, char **argv)
{
	struct kw_cmd cmd = { 0 };
	struct kw_error err;
	const struct command *c;
	enum kw_status status;
	int at = command_index(argc, argv);
	char *name;

	kw_error_reset(&err);
	if (at == 0) {
		usage(stderr);
		return kw_status_exit(KW_ERR_USAGE);
	}
	name = argv[at];
	memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(*argv));
	argv[1] = name;
	c = find(name, &err);
	status = c ? check_stack(&err) : KW_ERR_USAGE;
	if (status == KW_OK)
		status = c->run(&cmd, argc - 2, argv + 2, &err);
	if (status != KW_OK && status != KW_NO) {
		err.status = status;
		print_error(&err, has_json(argc, argv));
	}
	kw_progress_end();
	kw_python_drop_waiting();
	return kw_status_exit(status);
}

int main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "__player") == 0)
		kw_player_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that grows over a limit is an error of writing */
	kw_interrupt_install();
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
			  strcmp(argv[1], "help") == 0)) {
		usage(stdout);
		return close_output(0);
	}
	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		puts("kwright " KW_VERSION);
		return close_output(0);
	}
	return close_output(run_command(argc, argv));
}
