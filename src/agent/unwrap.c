/* unwrap.c - what an answer is wrapped in besides fences: byte-order marks and other line ends, a server's control words, JSON,
 * HTML. Nothing of it is the model's kernel. */
#include <ctype.h>
#include <string.h>

#include "agent/reply.h"
#include "base/json.h"

enum { JSON_DEPTH_MAX = 8 };

static bool ends_with(struct kw_str s, const char *end)
{
	size_t n = strlen(end);

	return s.len >= n && memcmp(s.ptr + s.len - n, end, n) == 0;
}

/* Words by which models end a turn; servers that do not know a model's template send them on. */
static struct kw_str without_control_words(struct kw_str text)
{
	static const char final[] = "<|channel|>final<|message|>";
	static const char *const ends[] = { "<|return|>", "<|end|>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>",
					    "<end_of_turn>", "</s>" };
	const char *at;
	bool more = true;

	while ((at = memmem(text.ptr, text.len, final, sizeof(final) - 1)))
		text = (struct kw_str){ at + sizeof(final) - 1, (size_t)(text.ptr + text.len - at) - (sizeof(final) - 1) };
	while (more) {
		more = false;
		text = kw_str_trim(text);
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			if (ends_with(text, ends[i])) {
				text.len -= strlen(ends[i]);
				more = true;
			}
	}
	return text;
}

struct kw_str kw_reply_plain(struct kw_str text, struct kw_arena *a)
{
	char *out = kw_arena_alloc(a, text.len + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < text.len; i++) {
		const unsigned char *p = (const unsigned char *)text.ptr + i;
		size_t left = text.len - i;

		if (p[0] == '\r') {
			if (left < 2 || p[1] != '\n')
				out[n++] = '\n';
		} else if (left >= 3 && ((p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) || (p[0] == 0xe2 && p[1] == 0x80 && p[2] == 0x8b))) {
			i += 2; /* U+FEFF, U+200B: nothing that is seen */
		} else if (left >= 2 && p[0] == 0xc2 && p[1] == 0xa0) {
			i++;
			out[n++] = ' ';
		} else {
			out[n++] = text.ptr[i];
		}
	}
	return without_control_words(out ? (struct kw_str){ out, n } : text);
}

struct kw_str kw_reply_entities(struct kw_str text, struct kw_arena *a)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = { { "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' }, { "&#39;", '\'' }, { "&apos;", '\'' } };
	char *out;
	size_t n = 0;

	/* No source has these; one that has the others only may mean them. */
	if (!memmem(text.ptr, text.len, "&lt;", 4) && !memmem(text.ptr, text.len, "&gt;", 4) && !memmem(text.ptr, text.len, "&amp;", 5))
		return text;
	out = kw_arena_alloc(a, text.len + 1);
	for (size_t i = 0; out && i < text.len;) {
		size_t k = 0;

		while (k < sizeof(entities) / sizeof(entities[0]) &&
		       (text.len - i < strlen(entities[k].name) || memcmp(text.ptr + i, entities[k].name, strlen(entities[k].name)) != 0))
			k++;
		if (k == sizeof(entities) / sizeof(entities[0])) {
			out[n++] = text.ptr[i++];
		} else {
			out[n++] = entities[k].c;
			i += strlen(entities[k].name);
		}
	}
	return out ? (struct kw_str){ out, n } : text;
}

/* Behind the tag that begins at `at`. */
static const char *behind_tag(const char *at, const char *end)
{
	const char *stop = memchr(at, '>', (size_t)(end - at));

	return stop ? stop + 1 : end;
}

bool kw_reply_html(struct kw_str text, struct kw_str *code)
{
	const char *end = text.ptr + text.len, *at = memmem(text.ptr, text.len, "<pre", 4), *stop;

	if (!at && !(at = memmem(text.ptr, text.len, "<code", 5)))
		return false;
	at = behind_tag(at, end);
	while (at < end && isspace((unsigned char)*at))
		at++;
	if (end - at > 5 && memcmp(at, "<code", 5) == 0)
		at = behind_tag(at, end);
	stop = memmem(at, (size_t)(end - at), "</code", 6);
	if (!stop)
		stop = memmem(at, (size_t)(end - at), "</pre", 5);
	*code = (struct kw_str){ at, (size_t)((stop ? stop : end) - at) };
	return true;
}

static bool strings_of(json_t *j, int depth, bool (*use)(void *arg, struct kw_str text), void *arg)
{
	const char *key;
	json_t *value;
	size_t i;
	bool done = false;

	if (json_is_string(j))
		return use(arg, (struct kw_str){ json_string_value(j), json_string_length(j) });
	if (depth == JSON_DEPTH_MAX)
		return false;
	json_object_foreach(j, key, value)
		done = done || strings_of(value, depth + 1, use, arg);
	json_array_foreach(j, i, value)
		done = done || strings_of(value, depth + 1, use, arg);
	return done;
}

bool kw_reply_json(struct kw_str text, bool (*use)(void *arg, struct kw_str text), void *arg)
{
	const char *open = memchr(text.ptr, '{', text.len), *close = memrchr(text.ptr, '}', text.len);
	struct kw_error ignored;
	json_t *j = NULL;
	bool done = false;

	kw_error_reset(&ignored);
	if (open && close && close > open && kw_json_parse("an answer", open, (size_t)(close + 1 - open), &j, &ignored) == KW_OK)
		done = strings_of(j, 0, use, arg);
	json_decref(j);
	return done;
}
