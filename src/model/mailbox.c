/* Provider `mailbox`: a folder where prompts are laid down and answers found. NNNN.prompt.md is written whole (a link to a
 * finished file, so its number is ours alone) and NNNN.answer.md awaited; a person, an agent or a script may answer, in
 * any order. The first line of a prompt names the run and the call: a resumed run finds its own prompt again. */
#include "model/provider.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"

enum { NUMBER_MAX = 999999, NAME_MAX_BYTES = 200 };
/* An answer that is written in place is taken once nobody has it open for writing and it has stood still for this long. */
static const int64_t poll_ns = 150 * 1000000ll;
/* Likewise, where the file system does not tell who has it open. */
static const int64_t still_ns = 1000 * 1000000ll;

struct mailbox {
	char *dir;
	int64_t timeout_ns;               /* 0: for ever */
};

static enum kw_status open_mailbox(const char *argument, const struct kw_provider_opts *o, void **state,
				   struct kw_error *err)
{
	struct mailbox *m;
	enum kw_status status = kw_mkdirs(argument, err);

	if (status != KW_OK)
		return status;
	if (access(argument, W_OK | X_OK) != 0)
		return kw_fail(err, KW_ERR_IO, argument, "cannot write into the mailbox: %s", strerror(errno));
	m = kw_calloc(1, sizeof(*m));
	if (m)
		m->dir = kw_strdup(argument);
	if (!m || !m->dir) {
		kw_free(m);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a mailbox");
	}
	m->timeout_ns = o->timeout_ns;
	*state = m;
	return KW_OK;
}

/* The number in a name; 0: it is none of ours. */
static int number_of(const char *name)
{
	int64_t n;

	return kw_str_to_i64((struct kw_str){ name, strcspn(name, ".") }, &n) && n >= 1 && n <= NUMBER_MAX ? (int)n : 0;
}

/* An answer that lies there without a prompt is none to the next one: its number is taken too. */
static enum kw_status skip_answers(const struct mailbox *m, struct kw_arena *a, int *highest, struct kw_error *err)
{
	char **names;
	size_t count = 0;
	enum kw_status status = kw_dir_list(m->dir, ".answer.md", a, &names, &count, err);

	for (size_t i = 0; status == KW_OK && i < count; i++)
		*highest = number_of(names[i]) > *highest ? number_of(names[i]) : *highest;
	return status;
}

static bool is_answered(const struct mailbox *m, int number, struct kw_arena *a)
{
	const char *path = kw_arena_printf(a, "%s/%04d.answer.md", m->dir, number);

	return path && kw_path_exists(path);
}

/* Whether a file begins so, and has nothing behind it unless it may. */
static bool begins_with(const char *path, const char *text, size_t len, bool more, struct kw_arena *a)
{
	char *found = kw_arena_calloc(a, len + 1, 1);
	struct stat st;
	FILE *in = found && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL; /* a pipe would be waited for */
	bool same;

	if (!in)
		return false;
	same = fread(found, 1, len + 1, in) >= len && memcmp(found, text, len) == 0 && (more || found[len] == '\0') && !ferror(in);
	fclose(in);
	return same;
}

/* The number of a prompt for this very call that lies there from before, an answered one first; 0: none. A call that is one of a kind is known by
 * its first line, any other by its text. */
static enum kw_status find_mine(const struct mailbox *m, const char *text, bool once, struct kw_arena *a, int *number, int *highest,
				struct kw_error *err)
{
	size_t len = once ? strcspn(text, "\n") + 1 : strlen(text), count;
	char **names;
	enum kw_status status = kw_dir_list(m->dir, ".prompt.md", a, &names, &count, err);

	*number = *highest = 0;
	for (size_t i = 0; status == KW_OK && i < count; i++) {
		const char *path = kw_path_join(a, m->dir, names[i]);
		int n = number_of(names[i]);

		if (!path)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a mailbox");
		if (!n)
			continue;
		*highest = n > *highest ? n : *highest;
		if ((!*number || !is_answered(m, *number, a)) && begins_with(path, text, len, once, a))
			*number = n;
	}
	return status == KW_OK ? skip_answers(m, a, highest, err) : status;
}

/* Under the next number that nobody has. */
static enum kw_status lay_down(const struct mailbox *m, const char *text, int after, struct kw_arena *a, int *number,
			       struct kw_error *err)
{
	const char *draft = kw_arena_printf(a, "%s/.draft-%ld-%p", m->dir, (long)getpid(), (const void *)a);
	enum kw_status status;

	if (!draft)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a mailbox");
	status = kw_file_write(draft, text, strlen(text), err);
	for (int n = after + 1; status == KW_OK; n++) {
		const char *path = kw_arena_printf(a, "%s/%04d.prompt.md", m->dir, n);

		if (!path || n > NUMBER_MAX)
			status = kw_fail(err, KW_ERR_LIMIT, m->dir, "the mailbox is full");
		else if (link(draft, path) == 0) {
			*number = n;
			break;
		} else if (errno != EEXIST)
			status = kw_fail(err, KW_ERR_IO, path, "cannot lay the prompt down: %s", strerror(errno));
	}
	unlink(draft);
	return status;
}

enum writers { WRITERS_NONE, WRITERS_SOME, WRITERS_UNKNOWN };

/* Whether somebody has it open for writing: a model's answer may come in pieces, with seconds between them. Nobody gets a read lease on such a file. The
 * lease is given back at once; who opens the file in between sends a signal that is ignored unless somebody asks for it. */
static enum writers writers_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum writers found = WRITERS_UNKNOWN;

	if (fd < 0)
		return WRITERS_UNKNOWN;
	if (fcntl(fd, F_SETSIG, SIGURG) == 0) {
		if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
			found = WRITERS_NONE;
		else if (errno == EAGAIN)
			found = WRITERS_SOME;
		if (found == WRITERS_NONE)
			fcntl(fd, F_SETLEASE, F_UNLCK);
	}
	close(fd);
	return found;
}

/* What await saw of an answer last. */
struct seen {
	struct stat st;
	int64_t since_ns;                 /* how long it has looked like this; 0: it is not there */
};

/* Whether it is whole, as far as can be told: it has something in it and does not change any more. */
static bool is_whole(const char *path, struct seen *seen)
{
	struct stat st;
	enum writers writers;

	if (stat(path, &st) != 0 || st.st_size == 0) {
		seen->since_ns = 0;
		return false;
	}
	if (!seen->since_ns || st.st_size != seen->st.st_size || st.st_ino != seen->st.st_ino || st.st_mtim.tv_sec != seen->st.st_mtim.tv_sec ||
	    st.st_mtim.tv_nsec != seen->st.st_mtim.tv_nsec) {
		*seen = (struct seen){ st, kw_now_ns() };
		return false;
	}
	writers = writers_of(path);
	return writers == WRITERS_NONE || (writers == WRITERS_UNKNOWN && kw_now_ns() - seen->since_ns >= still_ns);
}

/* Waits until the answer is there. */
static enum kw_status await(const struct mailbox *m, const struct kw_ask *a, const char *path, struct kw_error *err)
{
	int64_t start = kw_now_ns();
	struct seen seen = { .since_ns = 0 };

	while (!kw_interrupted()) {
		if (is_whole(path, &seen))
			return KW_OK;
		if (!kw_path_exists(m->dir))
			return kw_fail(err, KW_ERR_ENV, m->dir, "the mailbox is gone, so no answer can come");
		if (m->timeout_ns && kw_now_ns() - start > m->timeout_ns)
			return kw_fail(err, KW_ERR_ENV, path, "no answer came in %lld s",
				       (long long)(m->timeout_ns / 1000000000));
		if (kw_ask_over(a))
			return kw_fail(err, KW_NO, path, "the run's time was over before an answer came");
		kw_sleep_ns(poll_ns);
	}
	return kw_fail(err, KW_ERR_INTERRUPTED, path, "interrupted while waiting for this answer");
}

/* "<!-- model: NAME -->", as the first line of an answer, says who gave it. What else stands there is the answer's own. */
static enum kw_status take_name(struct kw_answer *out, struct kw_error *err)
{
	static const char before[] = "<!-- model:", after[] = "-->";
	struct kw_str rest = kw_str_from(out->text), line;
	const char *name;

	if (!kw_str_split(&rest, '\n', &line) || !rest.ptr)
		return KW_OK;
	line = kw_str_trim(line);
	if (line.len < sizeof(before) + sizeof(after) || memcmp(line.ptr, before, sizeof(before) - 1) != 0 ||
	    memcmp(line.ptr + line.len - (sizeof(after) - 1), after, sizeof(after) - 1) != 0)
		return KW_OK;
	line = kw_str_trim((struct kw_str){ line.ptr + sizeof(before) - 1, line.len - (sizeof(before) - 1) - (sizeof(after) - 1) });
	if (!line.len || line.len > NAME_MAX_BYTES)
		return KW_OK;
	name = kw_arena_str(&out->arena, line);
	if (!name)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an answer");
	out->model = name;
	out->text = rest.ptr; /* to the end of the same text */
	return KW_OK;
}

static enum kw_status read_answer(const char *path, struct kw_answer *out, struct kw_error *err)
{
	struct stat st;
	struct kw_buf text;
	enum kw_status status;

	if (stat(path, &st) == 0 && (size_t)st.st_size > KW_ANSWER_MAX_BYTES) {
		out->finish = KW_FINISH_OVERFLOW;
		return KW_OK;
	}
	kw_buf_init(&text, KW_ANSWER_MAX_BYTES + 1);
	status = kw_file_read(path, KW_ANSWER_MAX_BYTES, &text, err);
	/* A folder, a file that may not be read: of the machine, not of the user's command, so that the run can be resumed. */
	if (status == KW_ERR_INPUT || status == KW_ERR_IO || status == KW_ERR_NOT_FOUND) {
		status = KW_ERR_ENV;
		if (err)
			err->status = status;
	}
	if (status == KW_OK)
		status = kw_answer_take_text(out, text.ptr ? text.ptr : "", text.len, err);
	if (status == KW_OK)
		status = take_name(out, err);
	kw_buf_release(&text);
	return status;
}

static enum kw_status ask(void *state, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err)
{
	const struct mailbox *m = state;
	struct kw_arena scratch;
	const char *text, *path = NULL;
	int number = 0, highest = 0;
	enum kw_status status;

	kw_arena_init(&scratch, 256 << 20);
	text = kw_arena_printf(&scratch, "<!-- kwright %s %s %s: the answer goes to the file of this number that ends in "
			       ".answer.md -->\n\n%s", a->run ? a->run : "", a->slot, a->role, a->prompt);
	status = text ? find_mine(m, text, a->once, &scratch, &number, &highest, err)
		      : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
	if (status == KW_OK && !number)
		status = lay_down(m, text, highest, &scratch, &number, err);
	if (status == KW_OK && !(path = kw_arena_printf(&scratch, "%s/%04d.answer.md", m->dir, number)))
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
	if (status == KW_OK)
		status = await(m, a, path, err);
	if (status == KW_OK)
		status = read_answer(path, out, err);
	kw_arena_release(&scratch);
	return status;
}

static void close_mailbox(void *state)
{
	struct mailbox *m = state;

	kw_free(m->dir);
	kw_free(m);
}

const struct kw_provider kw_provider_mailbox = {
	.name = "mailbox", .argument = "DIR", .title = "a folder: NNNN.prompt.md is written, NNNN.answer.md awaited",
	.open = open_mailbox, .ask = ask, .close = close_mailbox, .lasts = true, .paid = KW_PAID_BY_ANSWER,
};
