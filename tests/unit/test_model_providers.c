/* Providers that need no network: replay, mailbox, exec, none. */
#include "tap.h"
#include "temp.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/replay.h"

static struct kw_error err;
static struct kw_arena arena;

static struct kw_model *open_model(const char *spec, const struct kw_provider_opts *o)
{
	struct kw_model *m = NULL;

	kw_error_reset(&err);
	if (kw_model_open(spec, o, &m, &err) != KW_OK)
		diag("%s: %s", spec, err.text);
	return m;
}

static struct kw_ask ask_of(const char *role, const char *slot, int index)
{
	return (struct kw_ask){ .role = role, .slot = slot, .run = "run 1", .index = index, .prompt = "write a kernel", .temperature = -1 };
}

static void spew(const char *path, const char *text)
{
	if (kw_file_write(path, text, strlen(text), &err) != KW_OK)
		diag("%s", err.text);
}

static void test_replay(void)
{
	const char *path = temp_file("calls.jsonl");
	char spec[600];
	struct kw_model *m;
	struct kw_answer a;
	struct kw_ask q;

	spew(path, "{\"recording\": 1, \"note\": \"scripted\"}\n\n"
		   "{\"role\": \"coder\", \"text\": \"first\", \"tokens_in\": 7, \"tokens_out\": 8, \"model\": \"m\"}\n"
		   "{\"role\": \"coder\", \"slot\": \"r9/coder\", \"text\": \"ninth\", \"finish\": \"length\", \"note\": \"real\"}\n"
		   "{\"role\": \"planner\", \"text\": \"plan\", \"reasoning\": \"hm\"}\n"
		   "{\"role\": \"coder\", \"text\": \"second\"}\n");
	snprintf(spec, sizeof(spec), "replay:%s", path);
	m = open_model(spec, NULL);
	q = ask_of("coder", "r1/coder", 0);
	is_int(kw_model_ask(m, &q, &a, &err), KW_OK, "the first answer of a role");
	ok(strcmp(a.text, "first") == 0 && a.tokens_in == 7 && a.tokens_out == 8 && a.counted, "its text and tokens");
	ok(strcmp(a.model, "m") == 0 && strcmp(a.note, "scripted") == 0, "who it was, and the recording's note");
	kw_answer_release(&a);
	q = ask_of("coder", "r2/coder", 1);
	kw_model_ask(m, &q, &a, &err);
	is_str(a.text, "second", "the next of that role, whatever stands between");
	ok(!a.counted && a.tokens_in == 4, "without a count the tokens are estimated");
	kw_answer_release(&a);
	q = ask_of("coder", "r9/coder", 5);
	kw_model_ask(m, &q, &a, &err);
	ok(strcmp(a.text, "ninth") == 0 && a.finish == KW_FINISH_LENGTH && strcmp(a.note, "real") == 0, "a slot of its own");
	kw_answer_release(&a);
	q = ask_of("planner", "r1/planner", 0);
	kw_model_ask(m, &q, &a, &err);
	is_str(a.reasoning, "hm", "reasoning apart");
	kw_answer_release(&a);
	q = ask_of("coder", "r3/coder", 2);
	is_int(kw_model_ask(m, &q, &a, &err), KW_NO, "there are no more");
	has_str(err.text, "no answer for call r3/coder", "says which is missing");
	kw_answer_release(&a);
	kw_model_close(m);
}

/* A full disk, or a kill, leaves half a line: the next one stands behind the last whole one. */
static void test_half_line(const char *path, const struct kw_ask *q, const struct kw_answer *a)
{
	struct kw_buf before, after;
	FILE *f;

	kw_buf_init(&before, 1 << 20);
	kw_buf_init(&after, 1 << 20);
	is_int(kw_file_read(path, 1 << 20, &before, &err), KW_OK, "a recording");
	f = fopen(path, "a");
	fprintf(f, "{\"role\": \"coder\", \"text\": \"%6000s", "cut");
	fclose(f);
	is_int(kw_record_begin(path, true, &err), KW_OK, "that ends in half a line");
	is_int(kw_record_add(path, q, a, &err), KW_OK, "gets one more");
	is_int(kw_file_read(path, 1 << 20, &after, &err), KW_OK, "and");
	ok(after.len > before.len && after.len < before.len + 6000 && memcmp(after.ptr, before.ptr, before.len) == 0 &&
	   after.ptr[before.len] == '{' && !strstr(after.ptr, "   cut"), "has whole lines alone");
	truncate(path, 5);
	is_int(kw_record_begin(path, true, &err), KW_OK, "half a first line");
	kw_buf_reset(&after);
	is_int(kw_file_read(path, 1 << 20, &after, &err), KW_OK, "is");
	is_str(after.ptr, "{\"recording\":1}\n", "written anew");
	spew(path, before.ptr);
	kw_buf_release(&before);
	kw_buf_release(&after);
}

static void test_record(void)
{
	const char *path = kw_strdup(temp_file("made.jsonl"));
	struct kw_answer a = { .text = "text \"with\" \n everything \xe2\x9c\x85", .reasoning = "because", .model = "m", .note = "n",
			       .finish = KW_FINISH_LENGTH, .tokens_in = 1, .tokens_out = 2, .latency_ns = 3 }, b;
	struct kw_ask q = ask_of("coder", "r1/coder", 0);
	char spec[600];
	struct kw_model *m;

	is_int(kw_record_begin(path, false, &err), KW_OK, "a recording begins");
	is_int(kw_record_add(path, &q, &a, &err), KW_OK, "and gets a call");
	is_int(kw_record_begin(path, false, &err), KW_ERR_USAGE, "another does not overwrite it");
	is_int(kw_record_begin(path, true, &err), KW_OK, "but it may be gone on with");
	test_half_line(path, &q, &a);
	snprintf(spec, sizeof(spec), "replay:%s", path);
	m = open_model(spec, NULL);
	kw_model_ask(m, &q, &b, &err);
	ok(strcmp(a.text, b.text) == 0 && strcmp(b.reasoning, "because") == 0 && b.finish == KW_FINISH_LENGTH && b.tokens_out == 2 &&
	   b.latency_ns == 3, "it gives back what was recorded");
	kw_answer_release(&b);
	kw_model_close(m);
	kw_free((void *)(uintptr_t)path);
}

static void bad_recording(const char *text, const char *part)
{
	const char *path = temp_file("bad.jsonl");
	char spec[600];
	struct kw_model *m = NULL;

	spew(path, text);
	snprintf(spec, sizeof(spec), "replay:%s", path);
	kw_error_reset(&err);
	is_int(kw_model_open(spec, NULL, &m, &err), KW_ERR_INPUT, "a recording is refused");
	has_str(err.text, part, "says why");
}

static void test_exec(void)
{
	struct kw_provider_opts quick = { .timeout_ns = 200000000, .retries = -1 };
	struct kw_ask q = ask_of("coder", "r1/coder", 0);
	struct kw_answer a;
	struct kw_model *m = open_model("exec:cat; echo \" $KWRIGHT_ROLE $KWRIGHT_SLOT\"", NULL);

	is_int(kw_model_ask(m, &q, &a, &err), KW_OK, "a command answers");
	is_str(a.text, "write a kernel coder r1/coder\n", "it has the prompt, the role and the slot");
	kw_answer_release(&a);
	kw_model_close(m);
	m = open_model("exec:echo broken >&2; exit 3", NULL);
	is_int(kw_model_ask(m, &q, &a, &err), KW_ERR_ENV, "one that fails");
	has_str(err.text, "ended with exit code 3: broken", "is told with its complaint");
	kw_answer_release(&a);
	kw_model_close(m);
	m = open_model("exec:kill -9 $$", NULL);
	is_int(kw_model_ask(m, &q, &a, &err), KW_ERR_ENV, "one that is killed");
	has_str(err.text, "killed by signal 9", "is told");
	kw_answer_release(&a);
	kw_model_close(m);
	m = open_model("exec:sleep 100", &quick);
	is_int(kw_model_ask(m, &q, &a, &err), KW_ERR_ENV, "one that says nothing");
	has_str(err.text, "gave no answer", "is told");
	kw_answer_release(&a);
	kw_model_close(m);
	m = open_model("exec:printf 'a\\377b\\000c'", NULL);
	is_int(kw_model_ask(m, &q, &a, &err), KW_OK, "bytes that are no text");
	is_str(a.text, "a\xef\xbf\xbd" "b\xef\xbf\xbd" "c", "become the sign for that");
	kw_answer_release(&a);
	kw_model_close(m);
	m = open_model("exec:yes", NULL);
	is_int(kw_model_ask(m, &q, &a, &err), KW_OK, "an answer without an end is one");
	is_int(a.finish, KW_FINISH_OVERFLOW, "which is too large, and is not waited for");
	kw_answer_release(&a);
	kw_model_close(m);
	m = open_model("exec:yes | head -c 10000000 >&2; echo short", NULL);
	is_int(kw_model_ask(m, &q, &a, &err), KW_OK, "a command that complains at length");
	is_int(a.finish, KW_FINISH_STOP, "may answer shortly");
	is_str(a.text, "short\n", "and is heard");
	kw_answer_release(&a);
	kw_model_close(m);
	m = open_model("exec:head -c 10000000 /dev/zero | tr '\\000' x", NULL);
	is_int(kw_model_ask(m, &q, &a, &err), KW_OK, "10 MB of answer");
	is_int(a.finish, KW_FINISH_OVERFLOW, "are more than is read");
	kw_answer_release(&a);
	kw_model_close(m);
}

struct box {
	struct kw_model *m;
	struct kw_ask ask;
	struct kw_answer answer;
	enum kw_status status;
	struct kw_error err;
};

static void *ask_box(void *arg)
{
	struct box *b = arg;

	b->status = kw_model_ask(b->m, &b->ask, &b->answer, &b->err);
	return NULL;
}

static bool wait_for(const char *path)
{
	for (int i = 0; i < 2000; i++) {
		if (kw_path_exists(path))
			return true;
		kw_sleep_ns(5000000);
	}
	return false;
}

static void test_mailbox(void)
{
	struct kw_provider_opts quick = { .timeout_ns = 400000000, .retries = -1 };
	char spec[600], dir[500], path[600], draft[600];
	struct box b[2];
	pthread_t t[2];
	struct kw_buf text;
	struct kw_model *m;

	snprintf(dir, sizeof(dir), "%s", temp_file("box"));
	snprintf(spec, sizeof(spec), "mailbox:%s", dir);
	m = open_model(spec, NULL);
	for (int i = 0; i < 2; i++) {
		b[i] = (struct box){ .m = m, .ask = ask_of("coder", i ? "r1/b" : "r1/a", i) };
		pthread_create(&t[i], NULL, ask_box, &b[i]);
		snprintf(path, sizeof(path), "%s/%04d.prompt.md", dir, i + 1);
		ok(wait_for(path), "prompt %d is laid down", i + 1);
	}
	kw_buf_init(&text, 10000);
	kw_file_read(path, 10000, &text, &err);
	has_str(text.ptr, "run 1 r1/b coder", "its first line names the run, the call and the role");
	has_str(text.ptr, "\n\nwrite a kernel", "then the prompt");
	kw_buf_release(&text);
	/* Answered in the other order, the first by a rename, the second in place. */
	snprintf(path, sizeof(path), "%s/0002.answer.md", dir);
	snprintf(draft, sizeof(draft), "%s/draft", dir);
	spew(draft, "<!-- model: a-model 2 -->\nanswer b\n<!-- model: no name -->\n");
	rename(draft, path);
	pthread_join(t[1], NULL);
	is_int(b[1].status, KW_OK, "the second is answered first");
	is_str(b[1].answer.text, "answer b\n<!-- model: no name -->\n", "with its own text");
	is_str(b[1].answer.model, "a-model 2", "by whom its first line names");
	snprintf(path, sizeof(path), "%s/0001.answer.md", dir);
	spew(path, "answer a");
	pthread_join(t[0], NULL);
	is_str(b[0].answer.text, "answer a", "then the first");
	is_str(b[0].answer.model, spec, "which does not say by whom");
	kw_answer_release(&b[0].answer);
	kw_answer_release(&b[1].answer);
	kw_model_close(m);
	m = open_model(spec, &quick);
	b[0] = (struct box){ .m = m, .ask = ask_of("coder", "r1/a", 0) };
	ask_box(&b[0]);
	is_str(b[0].answer.text, "answer a", "a resumed run finds the answer to its own prompt");
	kw_answer_release(&b[0].answer);
	b[0].ask.prompt = "the device's bandwidth was measured anew";
	ask_box(&b[0]);
	is_int(b[0].status, KW_ERR_ENV, "a question of other words is another one");
	kw_answer_release(&b[0].answer);
	b[0].ask.once = true;
	ask_box(&b[0]);
	is_str(b[0].answer.text, "answer a", "unless run and slot name the call: then the answered one is its own, whatever the prompt says");
	kw_answer_release(&b[0].answer);
	b[0].ask.run = "run 2";
	ask_box(&b[0]);
	is_int(b[0].status, KW_ERR_ENV, "another run does not, and waits in vain");
	has_str(b[0].err.where, "0004.answer.md", "for an answer of its own");
	kw_answer_release(&b[0].answer);
	kw_model_close(m);
	snprintf(spec, sizeof(spec), "mailbox:%s/0001.answer.md/x", dir);
	is_int(kw_model_open(spec, NULL, &m, &err), KW_ERR_IO, "a mailbox that cannot be made");
}

static bool leases_work(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), writer = open(path, O_WRONLY | O_CLOEXEC);
	bool works = fd >= 0 && writer >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;

	close(writer);
	works = works && fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
	close(fd);
	return works;
}

static int begin_answer(const char *dir, int number, const char *text)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/%04d.answer.md", dir, number);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		diag("%s: %s", path, strerror(errno));
	return fd;
}

/* What lies in a mailbox: bytes that are no text, more than any kernel, a folder, an answer in pieces, and nothing at all any more. */
static void test_mailbox_bad(void)
{
	enum { ASKED = 5, PIECES = 3 };
	char spec[600], dir[500], path[600];
	struct box b[ASKED];
	pthread_t t[ASKED];
	struct kw_model *m;
	int fd;

	snprintf(dir, sizeof(dir), "%s", temp_file("bad-box"));
	snprintf(spec, sizeof(spec), "mailbox:%s", dir);
	m = open_model(spec, NULL);
	for (int i = 0; i < ASKED; i++) {
		b[i] = (struct box){ .m = m, .ask = ask_of("coder", (const char *[]){ "a", "b", "c", "d", "e" }[i], i) };
		pthread_create(&t[i], NULL, ask_box, &b[i]);
		snprintf(path, sizeof(path), "%s/%04d.prompt.md", dir, i + 1);
		ok(wait_for(path), "prompt %d", i + 1);
	}
	spew(kw_arena_printf(&arena, "%s/1.answer.md", dir), "the wrong name");
	spew(kw_arena_printf(&arena, "%s/0099.answer.md", dir), "the wrong number");
	fd = begin_answer(dir, 4, "half");
	close(begin_answer(dir, 1, "a\377b"));
	close(begin_answer(dir, 5, ""));
	snprintf(path, sizeof(path), "%s/0002.answer.md", dir);
	spew(path, "x");
	is_int(truncate(path, 10000000), 0, "10 MB");
	snprintf(path, sizeof(path), "%s/0003.answer.md", dir);
	is_int(mkdir(path, 0700), 0, "a folder");
	for (int i = 0; i < PIECES; i++)
		pthread_join(t[i], NULL);
	is_str(b[0].answer.text, "a\xef\xbf\xbd" "b", "bytes that are no text become the sign for that");
	is_int(b[1].answer.finish, KW_FINISH_OVERFLOW, "10 MB are more than is read");
	ok(b[2].status == KW_ERR_ENV && strstr(b[2].err.where, "0003.answer.md") && strstr(b[2].err.text, "directory"), "a folder is no answer: %s",
	   b[2].err.text);
	spew(kw_arena_printf(&arena, "%s/lease", dir), "x");
	if (leases_work(kw_arena_printf(&arena, "%s/lease", dir))) {
		is_int(write(fd, " and half", 9), 9, "the rest of an answer in pieces, a second later");
		close(fd);
		pthread_join(t[3], NULL);
		is_str(b[3].answer.text, "half and half", "which is read when its writer is done");
	} else {
		close(fd);
		pthread_join(t[3], NULL);
		skip(2, "this file system does not tell who writes");
	}
	snprintf(path, sizeof(path), "%s.gone", dir);
	is_int(rename(dir, path), 0, "the folder is taken away");
	pthread_join(t[4], NULL);
	is_int(b[4].status, KW_ERR_ENV, "an empty answer is none, and where the mailbox is gone nobody waits");
	has_str(b[4].err.text, "the mailbox is gone", "which is told");
	for (int i = 0; i < ASKED; i++)
		kw_answer_release(&b[i].answer);
	kw_model_close(m);
}

/* When the run's time is over nobody waits any more. */
static void test_until(void)
{
	static _Atomic int64_t until;
	char spec[600], stale[700];
	struct kw_ask q = ask_of("coder", "r1/coder", 0);
	struct kw_answer a;
	struct kw_model *m = open_model("exec:sleep 600", NULL);

	q.until_ns = &until;
	ok(!kw_ask_over(&q), "a run without a limit is never over");
	until = kw_now_ns() + 50000000;
	is_int(kw_model_ask(m, &q, &a, &err), KW_NO, "a command is ended with the run's time");
	has_str(err.text, "the run's time was over before 'sleep 600' answered", "and so it is told");
	ok(kw_ask_over(&q), "which is over");
	kw_answer_release(&a);
	kw_model_close(m);
	snprintf(spec, sizeof(spec), "mailbox:%s", temp_file("late"));
	m = open_model(spec, NULL);
	snprintf(stale, sizeof(stale), "%s/0001.answer.md", strchr(spec, ':') + 1);
	spew(stale, "an answer from somebody's earlier day");
	until = kw_now_ns() + 50000000;
	is_int(kw_model_ask(m, &q, &a, &err), KW_NO, "a mailbox that nobody looks into is left");
	has_str(err.text, "the run's time was over before an answer came", "with its sentence");
	has_str(err.where, "0002.answer.md", "and where it would have been: not where one lay already");
	kw_answer_release(&a);
	kw_model_close(m);
}

int main(void)
{
	struct kw_ask q = ask_of("coder", "r1/coder", 0);
	struct kw_answer a;
	struct kw_model *m;

	kw_arena_init(&arena, 1 << 20);
	test_replay();
	test_record();
	bad_recording("{\"role\": \"coder\"}\n", "at least \"role\" and \"text\"");
	bad_recording("{\"role\": \"coder\", \"text\": \"x\", \"finish\": \"done\"}\n", "unknown finish 'done'");
	bad_recording("{\"recording\": 9}\n", "version 1");
	bad_recording("{\"recording\": 1}\n", "without a call");
	bad_recording("[1]\n", "at least");
	bad_recording("no json\n", "");
	test_exec();
	test_mailbox();
	test_mailbox_bad();
	test_until();
	m = open_model("none", NULL);
	is_int(kw_model_ask(m, &q, &a, &err), KW_NO, "none answers nothing");
	kw_answer_release(&a);
	kw_model_close(m);
	is_int(kw_model_open("exec:", NULL, &m, &err), KW_ERR_USAGE, "a command must be given");
	is_int(kw_model_open("", NULL, &m, &err), KW_ERR_USAGE, "and a provider");
	kw_arena_release(&arena);
	return done();
}
