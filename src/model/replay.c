/* Provider `replay`: a recording. */
#include "model/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

enum { RECORDING_MAX_BYTES = 256 << 20, CALLS_MAX = 1 << 20 };

struct call {
	const char *role, *slot;
	int index;                        /* among those of its role without a slot */
	struct kw_answer answer;          /* strings in the recording's arena; its own arena is not used */
};
struct replay {
	struct kw_arena arena;
	const char *path;
	struct call *calls;
	size_t count;
};

static const char *copy(struct replay *r, const char *text, bool *good)
{
	const char *out = kw_arena_strdup(&r->arena, text);

	*good = *good && out;
	return out ? out : "";
}

static int earlier(const struct replay *r, const char *role)
{
	int n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += !r->calls[i].slot && strcmp(r->calls[i].role, role) == 0;
	return n;
}

static enum kw_status read_call(struct replay *r, const json_t *j, const char *where, const char *note, struct kw_error *err)
{
	const char *role = kw_json_get_str(j, "role", NULL), *text = kw_json_get_str(j, "text", NULL);
	const char *slot = kw_json_get_str(j, "slot", NULL), *finish = kw_json_get_str(j, "finish", "stop");
	struct call *c = &r->calls[r->count];
	bool good = true;

	if (!json_is_object(j) || !role || !text)
		return kw_fail(err, KW_ERR_INPUT, where, "a call of a recording has at least \"role\" and \"text\"");
	*c = (struct call){ .role = copy(r, role, &good), .slot = slot ? copy(r, slot, &good) : NULL };
	c->index = slot ? 0 : earlier(r, role);
	if (!kw_finish_parse(finish, &c->answer.finish))
		return kw_fail(err, KW_ERR_INPUT, where, "unknown finish '%.40s' of a call", finish);
	c->answer.text = copy(r, text, &good);
	c->answer.reasoning = copy(r, kw_json_get_str(j, "reasoning", ""), &good);
	c->answer.model = copy(r, kw_json_get_str(j, "model", "unknown"), &good);
	c->answer.note = copy(r, kw_json_get_str(j, "note", note), &good);
	c->answer.counted = json_is_integer(json_object_get(j, "tokens_in"));
	c->answer.tokens_in = kw_json_get_i64(j, "tokens_in", 0);
	c->answer.tokens_out = kw_json_get_i64(j, "tokens_out", 0);
	c->answer.latency_ns = kw_json_get_i64(j, "latency_ns", 0);
	r->count++;
	return good ? KW_OK : kw_fail(err, KW_ERR_NOMEM, where, "out of memory for a recording");
}

static size_t lines_of(const char *text)
{
	size_t n = 1;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

static enum kw_status read_lines(struct replay *r, const char *text, size_t len, struct kw_error *err)
{
	struct kw_str rest = { text, len }, line;
	const char *note = "";
	enum kw_status status = KW_OK;
	bool good = true;

	for (int number = 1; status == KW_OK && kw_str_split(&rest, '\n', &line); number++) {
		char where[600];
		json_t *j = NULL;

		if (kw_str_trim(line).len == 0)
			continue;
		snprintf(where, sizeof(where), "%.480s:%d", r->path, number);
		status = kw_json_parse(where, line.ptr, line.len, &j, err);
		if (status == KW_OK && r->count == 0 && json_object_get(j, "recording")) {
			note = copy(r, kw_json_get_str(j, "note", ""), &good);
			if (kw_json_get_i64(j, "recording", 0) != 1)
				status = kw_fail(err, KW_ERR_INPUT, where, "this kwright reads recordings of version 1");
		} else if (status == KW_OK) {
			status = read_call(r, j, where, note, err);
		}
		json_decref(j);
	}
	return status == KW_OK && !good ? kw_fail(err, KW_ERR_NOMEM, r->path, "out of memory for a recording") : status;
}

static void close_replay(void *state)
{
	struct replay *r = state;

	kw_arena_release(&r->arena);
	kw_free(r);
}

static enum kw_status open_replay(const char *argument, const struct kw_provider_opts *o, void **state,
				  struct kw_error *err)
{
	struct replay *r = kw_calloc(1, sizeof(*r));
	char *text;
	size_t len;
	enum kw_status status;

	(void)o;
	if (!r)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a recording");
	kw_arena_init(&r->arena, (size_t)3 * RECORDING_MAX_BYTES);
	r->path = kw_arena_strdup(&r->arena, argument);
	status = r->path ? kw_file_read_arena(argument, RECORDING_MAX_BYTES, &r->arena, &text, &len, err)
			 : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a recording");
	if (status == KW_OK) {
		r->calls = kw_arena_calloc(&r->arena, lines_of(text), sizeof(*r->calls));
		status = r->calls ? read_lines(r, text, len, err)
				  : kw_fail(err, KW_ERR_NOMEM, argument, "out of memory for a recording");
	}
	if (status == KW_OK && r->count == 0)
		status = kw_fail(err, KW_ERR_INPUT, argument, "a recording without a call");
	if (status != KW_OK) {
		close_replay(r);
		return status;
	}
	*state = r;
	return KW_OK;
}

static const struct call *find(const struct replay *r, const struct kw_ask *a)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->calls[i].slot && strcmp(r->calls[i].slot, a->slot) == 0)
			return &r->calls[i];
	for (size_t i = 0; i < r->count; i++)
		if (!r->calls[i].slot && strcmp(r->calls[i].role, a->role) == 0 && r->calls[i].index == a->index)
			return &r->calls[i];
	return NULL;
}

static enum kw_status ask(void *state, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err)
{
	const struct replay *r = state;
	const struct call *c = find(r, a);
	struct kw_arena own = out->arena;

	if (!c) {
		kw_fail(err, KW_NO, r->path, "the recording has no answer for call %s (%s %d)", a->slot, a->role,
			a->index + 1);
		return KW_NO;
	}
	*out = c->answer;
	out->arena = own;
	out->attempts = 1;
	return KW_OK;
}

const struct kw_provider kw_provider_replay = {
	.name = "replay", .argument = "FILE", .title = "a recording that was made with --record FILE",
	.open = open_replay, .ask = ask, .close = close_replay,
};

/* ---- recording ---- */

/* Where whole lines end: a full disk, or a kill, may have left half a one behind them. */
static off_t end_of_lines(int fd, off_t size)
{
	char chunk[4096];

	while (size > 0) {
		off_t from = size > (off_t)sizeof(chunk) ? size - (off_t)sizeof(chunk) : 0;
		ssize_t n = pread(fd, chunk, (size_t)(size - from), from);

		if (n <= 0)
			return size;
		for (; n > 0; n--)
			if (chunk[n - 1] == '\n')
				return from + n;
		size = from;
	}
	return 0;
}

/* Behind the last whole line, and whole or not at all. */
static enum kw_status append_line(int fd, const char *path, const struct kw_buf *text, struct kw_error *err)
{
	struct stat st;
	bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	off_t end = is_file ? end_of_lines(fd, st.st_size) : 0;
	enum kw_status status = KW_OK;

	if (is_file && end != st.st_size && ftruncate(fd, end) < 0)
		status = kw_fail(err, KW_ERR_IO, path, "cannot cut off half a line: %s", strerror(errno));
	if (status == KW_OK)
		status = kw_fd_write_all(fd, text->ptr, text->len, path, err);
	if (status != KW_OK && is_file && ftruncate(fd, end) < 0)
		return status; /* the next one does it */
	return status;
}

static enum kw_status append(const char *path, json_t *line, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status status;
	int fd;

	kw_buf_init(&text, 4 * KW_ANSWER_MAX_BYTES);
	status = line ? kw_json_canonical(line, &text, err) : kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	kw_buf_addc(&text, '\n');
	json_decref(line);
	if (status == KW_OK && text.full)
		status = kw_fail(err, KW_ERR_NOMEM, path, "out of memory for a recording");
	if (status == KW_OK) {
		fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		status = fd < 0 ? kw_fail(err, KW_ERR_IO, path, "cannot record: %s", strerror(errno))
				: append_line(fd, path, &text, err);
		if (fd >= 0)
			close(fd);
	}
	kw_buf_release(&text);
	return status;
}

/* A recording that was cut off in its first line is none yet. */
static bool has_lines(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool has = fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || end_of_lines(fd, st.st_size) > 0;

	if (fd >= 0)
		close(fd);
	return has;
}

enum kw_status kw_record_begin(const char *path, bool more, struct kw_error *err)
{
	if (kw_path_exists(path) && (!more || has_lines(path)))
		return more ? KW_OK
			    : kw_fail(err, KW_ERR_USAGE, path, "is there already; a recording does not overwrite it");
	return append(path, json_pack("{s:i}", "recording", 1), err);
}

enum kw_status kw_record_add(const char *path, const struct kw_ask *a, const struct kw_answer *answer,
			     struct kw_error *err)
{
	char sha[KW_SHA256_HEX];
	json_t *j;

	kw_sha256_hex(a->prompt, strlen(a->prompt), sha);
	j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "role", a->role, "slot", a->slot, "prompt_sha256",
		      sha, "text", answer->text, "model", answer->model, "finish", kw_finish_name(answer->finish),
		      "tokens_in", (json_int_t)answer->tokens_in, "tokens_out", (json_int_t)answer->tokens_out,
		      "latency_ns", (json_int_t)answer->latency_ns);
	if (j && answer->reasoning[0])
		json_object_set_new(j, "reasoning", json_string(answer->reasoning));
	if (j && answer->note[0])
		json_object_set_new(j, "note", json_string(answer->note));
	return append(path, j, err);
}
