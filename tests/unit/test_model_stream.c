/* What servers really send: streams cut anywhere, errors inside them, pauses, addresses. The files are in tests/models/streams. */
#include "tap.h"
#include "temp.h"

#include <math.h>
#include <sys/stat.h>

#include "agent/reply.h"
#include "model/chat.h"
#include "model/retry.h"
#include "model/sse.h"

static struct kw_arena arena;
static struct kw_error err;
static const struct kw_protocol *protocol = &kw_protocol_openai;

static bool on_event(void *arg, const char *event, const char *data, size_t len)
{
	(void)event;
	kw_reading_data(arg, protocol, data, len);
	return true;
}

/* Fed in chunks of so many bytes. */
static void read_stream(const char *text, size_t len, size_t chunk, struct kw_reading *r)
{
	struct kw_sse s;

	kw_reading_init(r);
	kw_sse_init(&s, on_event, r);
	for (size_t i = 0; i < len; i += chunk)
		kw_sse_feed(&s, text + i, len - i < chunk ? len - i : chunk);
	kw_sse_end(&s);
	kw_sse_release(&s);
}

static const char *path_of(const char *name)
{
	const char *top = getenv("KW_TOP");

	return kw_arena_printf(&arena, "%s/tests/models/streams/%s", top ? top : ".", name);
}

static char *load(const char *name, size_t *len)
{
	char *text = NULL;

	if (kw_file_read_arena(path_of(name), 1 << 20, &arena, &text, len, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	return text ? text : kw_arena_strdup(&arena, "");
}

static json_t *load_json(const char *name)
{
	size_t len = 0;
	char *text = load(name, &len);
	json_t *j = NULL;

	ok(kw_json_parse(name, text, len, &j, &err) == KW_OK, "%s can be read", name);
	return j;
}

static const size_t chunks[] = { 1, 2, 3, 7, 1 << 20 };
enum { CHUNKS = sizeof(chunks) / sizeof(chunks[0]) };

static void gives(const char *name, const char *want)
{
	size_t len = 0;
	char *text = load(name, &len);

	for (int i = 0; i < CHUNKS; i++) {
		struct kw_reading r;

		read_stream(text, len, chunks[i], &r);
		ok(!r.unreadable && !r.error_status && r.finished && r.done && r.text.ptr && strcmp(r.text.ptr, want) == 0,
		   "%s in chunks of %zu: %s", name, chunks[i], r.text.ptr ? r.text.ptr : "nothing");
		kw_reading_release(&r);
	}
}

static void test_streams(void)
{
	gives("comment-keepalive/input.sse", "Hello");
	gives("blank-after-comment/input.sse", "AB");
	gives("crlf-cr-and-nospace/crlf.sse", "ok");
	gives("crlf-cr-and-nospace/cr.sse", "ok");
	gives("crlf-cr-and-nospace/nospace.sse", "ok");
	gives("crlf-cr-and-nospace/multiline.sse", "ok");
	gives("split-utf8/input.sse", "\xe4\xbd\xa0\xe5\xa5\xbd\xf0\x9f\xa6\x80 \xe2\x9c\x85");
}

/* Cut off inside of a character, an event is no event. */
static void test_cut(void)
{
	size_t len = 0;
	char *text = load("split-utf8/input.sse", &len), *at = strstr(text, "\xe4\xbd");
	struct kw_reading r;

	read_stream(text, (size_t)(at + 2 - text), 1, &r);
	ok(r.unreadable && !r.finished, "a stream that ends inside of a character is not read");
	kw_reading_release(&r);
}

static void test_errors(void)
{
	json_t *want = load_json("error-inside-200-stream/expected.json"), *one;
	const char *shape;

	json_object_foreach(want, shape, one) {
		size_t len = 0;
		char *text = load(kw_arena_printf(&arena, "error-inside-200-stream/%s.sse", shape), &len);
		struct kw_reading r;

		read_stream(text, len, 3, &r);
		is_int(r.error_status, json_integer_value(json_array_get(one, 1)), "%s: the status", shape);
		is_str(r.error, json_string_value(json_array_get(one, 0)), "%s: the message", shape);
		kw_reading_release(&r);
	}
	json_decref(want);
}

static const char *classify(const char *name)
{
	size_t len = 0;
	char *text = load(name, &len);
	struct kw_reply_want w = { .marker = "//@", .any_block = true };
	struct kw_reply reply;
	struct kw_reading r;
	const char *out;

	kw_reading_init(&r);
	kw_reading_data(&r, protocol, text, len);
	kw_reply_read(&w, r.text.ptr ? r.text.ptr : "", r.text.len, r.finish, &arena, &reply);
	out = reply.kind == KW_REPLY_THINKING ? "budget_spent"
	      : reply.kind == KW_REPLY_TOOL ? "tool_call"
	      : r.text.len ? "ok" : r.reasoning.len && reply.kind == KW_REPLY_EMPTY ? "answer_in_reasoning" : "?";
	if (strcmp(out, "answer_in_reasoning") == 0) {
		kw_reply_read(&w, r.reasoning.ptr, r.reasoning.len, r.finish, &arena, &reply);
		is_int(reply.kind, KW_REPLY_SOURCE, "and its code counts");
	}
	kw_reading_release(&r);
	return out;
}

static void test_reasoning(void)
{
	json_t *want = load_json("empty-content-reasoning/expected.json"), *one;
	const char *name;

	json_object_foreach(want, name, one)
		is_str(classify(kw_arena_printf(&arena, "empty-content-reasoning/%s.json", name)), json_string_value(one), "%s", name);
	json_decref(want);
}

static void test_retry_after(void)
{
	json_t *headers = load_json("retry-after-forms/headers.json"), *want = load_json("retry-after-forms/expected.json"), *one;
	const json_t *seconds = json_object_get(want, "seconds");
	const int64_t now_ms = 1445412420000; /* 2015-10-21T07:27:00Z */
	size_t i;

	json_array_foreach(headers, i, one) {
		double s = kw_retry_after_s(kw_json_get_str(one, "retry-after-ms", NULL), kw_json_get_str(one, "retry-after", NULL), now_ms);
		const json_t *w = json_array_get(seconds, i);

		if (json_is_number(w))
			ok(fabs(s - json_number_value(w)) < 1e-9, "header %zu: %g s", i, s);
		else if (json_is_null(w))
			ok(s < 0, "header %zu says nothing", i);
		else
			ok(s == 120.0, "header %zu, a point in time: %g s", i, s);
	}
	ok(kw_retry_after_s(NULL, "86400", now_ms) > KW_RETRY_CAP_S, "a day is more than is waited for");
	ok(kw_retry_after_s(NULL, "-5", now_ms) == 0.0, "a negative pause is none");
	ok(kw_retry_after_s(NULL, "Wednesday, 21-Oct-15 07:28:00 GMT", now_ms) == 60.0, "an older form of dates");
	for (int n = 1; n < 40; n++)
		if (!(kw_retry_backoff_s(n, UINT64_MAX) > 0.7 && kw_retry_backoff_s(n, 0) <= 30.0))
			ok(false, "a pause before repetition %d", n);
	ok(kw_retry_backoff_s(1, 0) == 1.0 && kw_retry_backoff_s(3, 0) == 4.0, "1 s, 2 s, 4 s");
	json_decref(headers);
	json_decref(want);
}

static void test_addresses(void)
{
	size_t len = 0;
	struct kw_str rest = { load("base-url-forms/urls.csv", &len), len }, line, base;
	char out[1024], text[600];
	int rows = 0;

	kw_str_split(&rest, '\n', &line);
	while (kw_str_split(&rest, '\n', &line) && line.len) {
		line = kw_str_trim(line);
		kw_str_split(&line, ',', &base);
		snprintf(text, sizeof(text), KW_STR_FMT, KW_STR_ARG(base));
		rows++;
		ok(kw_chat_address(protocol, text, 0, out, sizeof(out)), "%s has a form", text);
		if (kw_str_eqz(line, "AMBIGUOUS")) {
			ok(strstr(out, "/v1/chat/completions") && kw_chat_address(protocol, text, 1, out, sizeof(out)) && !strstr(out, "/v1/"),
			   "and another without a version: %s", out);
			ok(!kw_chat_address(protocol, text, 2, out, sizeof(out)), "and no third");
		} else {
			ok(kw_str_eqz(line, out), "which is %s", out);
			ok(!kw_chat_address(protocol, text, 1, out, sizeof(out)), "and no other");
		}
	}
	is_int(rows, 8, "every row");
	kw_chat_address(&kw_protocol_openai, "https://h/av1", 0, out, sizeof(out));
	is_str(out, "https://h/av1/v1/chat/completions", "av1 is no version");
	kw_chat_address(&kw_protocol_anthropic, "https://h/", 0, out, sizeof(out));
	is_str(out, "https://h/v1/messages", "the other protocol");
	kw_chat_address(&kw_protocol_anthropic, "https://h/v1/messages", 0, out, sizeof(out));
	is_str(out, "https://h/v1/messages", "and its whole address");
}

static void test_anthropic(void)
{
	static const char stream[] =
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\"content\":[],\"stop_reason\":null,"
		"\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n"
		"event: ping\ndata: {\"type\":\"ping\"}\n\n"
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n"
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n"
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"zz\"}}\n\n"
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"O\"}}\n\n"
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"K\"}}\n\n"
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":42}}\n\n"
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
	static const char overloaded[] = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
	static const char whole[] = "{\"type\":\"message\",\"model\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"stop_reason\":\"refusal\","
				    "\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}";
	struct kw_reading r;

	protocol = &kw_protocol_anthropic;
	read_stream(stream, sizeof(stream) - 1, 5, &r);
	ok(strcmp(r.text.ptr, "OK") == 0 && strcmp(r.reasoning.ptr, "hm") == 0, "text and thinking apart");
	ok(r.tokens_in == 15 && r.tokens_out == 42 && r.counted, "tokens: the last count, with the cache's");
	ok(r.finish == KW_FINISH_LENGTH && r.finished && r.done && strcmp(r.model, "claude-x") == 0, "why it ended, and who it was");
	kw_reading_release(&r);
	read_stream(overloaded, sizeof(overloaded) - 1, 1000, &r);
	ok(r.error_status == 529 && strcmp(r.error, "Overloaded") == 0, "an overloaded server");
	kw_reading_release(&r);
	kw_reading_init(&r);
	kw_reading_data(&r, protocol, whole, sizeof(whole) - 1);
	ok(strcmp(r.text.ptr, "hi") == 0 && r.finish == KW_FINISH_REFUSED && r.tokens_out == 2, "an answer that is no stream");
	kw_reading_release(&r);
	protocol = &kw_protocol_openai;
}

static void test_bodies(void)
{
	struct kw_ask a = { .prompt = "p", .temperature = 0.5, .max_tokens = 100 };
	struct kw_dialect d = { 0 };
	json_t *j = kw_protocol_openai.body(&d, "m", &a);

	ok(kw_json_get_i64(j, "max_tokens", 0) == 100 && kw_json_get_f64(j, "temperature", 0) == 0.5 && json_object_get(j, "stream_options"),
	   "a request");
	json_decref(j);
	ok(kw_protocol_openai.adapt(&d, &a, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
	   "max_tokens is refused");
	ok(kw_protocol_openai.adapt(&d, &a, "Unrecognized request argument supplied: stream_options"), "so is stream_options");
	ok(kw_protocol_openai.adapt(&d, &a, "temperature does not support 0.5 with this model"), "so is temperature");
	ok(!kw_protocol_openai.adapt(&d, &a, "temperature, still"), "but not twice");
	j = kw_protocol_openai.body(&d, "m", &a);
	ok(kw_json_get_i64(j, "max_completion_tokens", 0) == 100 && !json_object_get(j, "max_tokens") && !json_object_get(j, "temperature") &&
		   !json_object_get(j, "stream_options"), "the request without them");
	json_decref(j);
	ok(kw_protocol_openai.adapt(&d, &a, "unknown field max_completion_tokens") && !d.completion_tokens, "the other way round");
	d = (struct kw_dialect){ 0 };
	a.max_tokens = 0;
	ok(kw_protocol_anthropic.adapt(&d, &a, "max_tokens: 16384 > 8192, which is the maximum") && d.max_tokens == 8192, "a lower maximum");
}

static void test_keys(void)
{
	const char *path = temp_file("key"), *key = NULL;

	kw_file_write(path, " sk-secret \n", 12, &err);
	chmod(path, 0644);
	is_int(kw_key_read(path, &arena, &key, &err), KW_ERR_INPUT, "a key that others can read");
	has_str(err.text, "mode 644", "is refused with its mode");
	chmod(path, 0600);
	is_int(kw_key_read(path, &arena, &key, &err), KW_OK, "one that only its owner can");
	is_str(key, "sk-secret", "without blanks around it");
	kw_file_write(path, "\n", 1, &err);
	chmod(path, 0600);
	is_int(kw_key_read(path, &arena, &key, &err), KW_ERR_INPUT, "an empty file");
	is_int(kw_key_read("/dev/null", &arena, &key, &err), KW_ERR_INPUT, "a device");
	is_int(kw_key_read(temp_file("none"), &arena, &key, &err), KW_ERR_NOT_FOUND, "no file");
}

int main(void)
{
	kw_arena_init(&arena, 64 << 20);
	test_streams();
	test_cut();
	test_errors();
	test_reasoning();
	test_retry_after();
	test_addresses();
	test_anthropic();
	test_bodies();
	test_keys();
	kw_arena_release(&arena);
	return done();
}
