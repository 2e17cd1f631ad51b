/* Provider `exec`: a command of the user's shell. The prompt is its input, the answer its output. */
#include "model/provider.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"

enum { TIMEOUT_S = 1800, ENV_MAX = 4096 };

struct exec {
	char *command;
	int timeout_ms;
};

extern char **environ;

static enum kw_status open_exec(const char *argument, const struct kw_provider_opts *o, void **state, struct kw_error *err)
{
	struct exec *e = kw_calloc(1, sizeof(*e));

	if (e)
		e->command = kw_strdup(argument);
	if (!e || !e->command) {
		kw_free(e);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a command");
	}
	e->timeout_ms = o->timeout_ns ? (int)(o->timeout_ns / 1000000) : TIMEOUT_S * 1000;
	*state = e;
	return KW_OK;
}

/* Ours, and what the command may want to know. */
static const char *const *environment(const struct kw_ask *a, struct kw_arena *arena)
{
	const char **env = kw_arena_calloc(arena, ENV_MAX + 3, sizeof(*env));
	size_t n = 0;

	if (!env)
		return NULL;
	for (char **e = environ; *e && n < ENV_MAX; e++)
		if (strncmp(*e, "KWRIGHT_ROLE=", 13) != 0 && strncmp(*e, "KWRIGHT_SLOT=", 13) != 0)
			env[n++] = *e;
	env[n] = kw_arena_printf(arena, "KWRIGHT_ROLE=%s", a->role);
	env[n + 1] = kw_arena_printf(arena, "KWRIGHT_SLOT=%s", a->slot);
	return env[n] && env[n + 1] ? env : NULL;
}

/* Its last line of complaint, for the message. */
static void complaint(const struct kw_proc_result *r, char *out, size_t out_bytes)
{
	struct kw_str rest = kw_str_trim(kw_buf_str(&r->err)), line, last = { "", 0 };

	while (kw_str_split(&rest, '\n', &line))
		last = kw_str_trim(line);
	snprintf(out, out_bytes, "%s" KW_STR_FMT, last.len ? ": " : "", (int)(last.len < 300 ? last.len : 300), last.ptr);
}

static enum kw_status judge_end(const struct exec *e, const struct kw_proc_result *r, struct kw_error *err)
{
	char why[400];

	complaint(r, why, sizeof(why));
	if (r->timed_out)
		return kw_fail(err, KW_ERR_ENV, "", "the model's command '%.100s' gave no answer in %d s", e->command,
			       e->timeout_ms / 1000);
	if (r->signal)
		return kw_fail(err, KW_ERR_ENV, "", "the model's command '%.100s' was killed by signal %d%s", e->command,
			       r->signal, why);
	if (r->exit_code != 0)
		return kw_fail(err, KW_ERR_ENV, "", "the model's command '%.100s' ended with exit code %d%s", e->command,
			       r->exit_code, why);
	return KW_OK;
}

/* Until its own limit or the end of the run's time, whichever comes first. */
static int time_left(const struct exec *e, const struct kw_ask *a)
{
	int64_t until = a->until_ns ? atomic_load(a->until_ns) : 0, left = until ? (until - kw_now_ns()) / 1000000 + 1 : e->timeout_ms;

	return left < 1 ? 1 : left < e->timeout_ms ? (int)left : e->timeout_ms;
}

/* The system ends the shell when we are killed, and nothing that the shell has started: a model would go on answering, and be paid for it. So somebody
 * in the command's group, and no child of its own, reads from a pipe whose other end is ours, and kills the group when it closes. */
static const char keeper[] = "({ read x; kill -9 0; } <&3 >/dev/null 2>&1 3<&- &) ; exec /bin/sh -c \"$1\" 3<&-";

static int give_pipe(void *arg)
{
	const int *end = arg;

	return end[0] == 3 ? fcntl(3, F_SETFD, 0) : dup2(end[0], 3) < 0;
}

static enum kw_status ask(void *state, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err)
{
	const struct exec *e = state;
	const char *argv[] = { "/bin/sh", "-c", keeper, "sh", e->command, NULL };
	int ends[2];
	struct kw_proc_opts o = { .in = a->prompt, .in_bytes = strlen(a->prompt), .timeout_ms = e->timeout_ms,
				  .max_out_bytes = KW_ANSWER_MAX_BYTES, .end_when_full = true };
	struct kw_proc_result r;
	enum kw_status status;

	o.timeout_ms = time_left(e, a);
	o.env = environment(a, &out->arena);
	if (!o.env)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a command");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return kw_fail(err, KW_ERR_ENV, "", "no pipe for a command: %s", strerror(errno));
	o.before_exec = give_pipe;
	o.before_exec_arg = ends;
	status = kw_proc_run(argv, &o, &r, err);
	close(ends[0]);
	close(ends[1]);
	if (status != KW_OK)
		return status;
	status = r.timed_out && kw_ask_over(a) ? kw_fail(err, KW_NO, "", "the run's time was over before '%.100s' answered", e->command)
	       : r.out_cut                     ? KW_OK
					       : judge_end(e, &r, err);
	if (status == KW_OK) {
		out->finish = r.out_cut ? KW_FINISH_OVERFLOW : KW_FINISH_STOP;
		status = kw_answer_take_text(out, r.out.ptr ? r.out.ptr : "", r.out.len, err);
	}
	kw_proc_result_release(&r);
	return status;
}

static void close_exec(void *state)
{
	struct exec *e = state;

	kw_free(e->command);
	kw_free(e);
}

const struct kw_provider kw_provider_exec = {
	.name = "exec", .argument = "COMMAND", .title = "a command: the prompt on its standard input, the answer on its output",
	.open = open_exec, .ask = ask, .close = close_exec, .local = true, .paid = KW_PAID_UNSEEN,
};
