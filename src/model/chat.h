/* chat.h - what the providers behind HTTP share: keys, requests, streams, retries. A protocol (openai.c, anthropic.c) says how
 * a request looks and what an event means.
 *
 * A request that failed in a way that may pass (no connection, cut off, 429, 5xx, an error inside a stream) is sent again, with
 * a pause, at most so many times; what it had brought by then is thrown away, so that nothing is read or counted twice. A request
 * that a server refuses for one of its fields is sent without that field, and the server's taste is remembered.
 *
 * The key comes from the environment or from a file that only its owner can read. It is in the requests and nowhere else: not in
 * the store, not in a message, and never on an unencrypted way to another machine. */
#ifndef KW_MODEL_CHAT_H
#define KW_MODEL_CHAT_H

#include "base/json.h"
#include "model/provider.h"

/* One answer while it is read. */
struct kw_reading {
	struct kw_buf text, reasoning;
	char model[128];
	enum kw_finish finish;
	bool finished;                    /* a reason for the end came */
	bool done;                        /* the stream said that it is over */
	bool unreadable;                  /* an event was no JSON */
	bool counted;
	int64_t tokens_in, tokens_out;
	int error_status;                 /* of an error inside the stream; 0: none */
	char error[600];
};
/* What a server wants otherwise than others. */
struct kw_dialect {
	int url_form;                     /* which of the forms of a bare address */
	bool completion_tokens;           /* max_completion_tokens instead of max_tokens */
	bool no_usage, no_temperature;
	int64_t max_tokens;               /* lowered from what was asked; 0: as asked */
};
struct kw_protocol {
	const char *name, *key_variable, *url;
	const char *path;                 /* of requests, behind the version: "/messages" */
	int bare_forms;                   /* how many conventions there are for a base URL without a version: with one put in, and without */
	/* The request; NULL: out of memory. */
	json_t *(*body)(const struct kw_dialect *d, const char *model, const struct kw_ask *a);
	/* "authorization: Bearer KEY" and what else; up to 4, in the arena, NULL-terminated. */
	bool (*headers)(const char *key, struct kw_arena *a, const char *out[5]);
	/* One event of a stream, or the whole of an answer that is none. */
	void (*event)(struct kw_reading *r, const json_t *j);
	/* After a 4xx: what to leave out. False: nothing helps. */
	bool (*adapt)(struct kw_dialect *d, const struct kw_ask *a, const char *message);
};

enum kw_status kw_chat_open(const struct kw_protocol *p, const char *model, const struct kw_provider_opts *o, void **state,
			    struct kw_error *err);
enum kw_status kw_chat_ask(void *state, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err);
void kw_chat_close(void *state);

/* --- for protocols and tests --- */
void kw_reading_init(struct kw_reading *r);
void kw_reading_release(struct kw_reading *r);
/* Notes an error object in whatever form it comes: {"message", "code"}, {"type", "message"}, a text. fallback: the status when
 * it names none. */
void kw_reading_error(struct kw_reading *r, const json_t *error, int fallback);
/* A data field of a stream ("[DONE]" too). */
void kw_reading_data(struct kw_reading *r, const struct kw_protocol *p, const char *data, size_t len);
/* A string; anything else is no text. */
void kw_reading_add(struct kw_buf *b, const json_t *text);
/* Where requests go for a base URL: a whole address as it is, one with a version (/v1, /v12, /v1beta/openai) with the path behind it, and
 * by the form's convention (0, 1) where it says nothing of a version. False: there is no such form. */
bool kw_chat_address(const struct kw_protocol *p, const char *base, int form, char *out, size_t out_bytes);
/* The key from a file: its mode and its form are checked. */
enum kw_status kw_key_read(const char *path, struct kw_arena *a, const char **key, struct kw_error *err);
extern const struct kw_protocol kw_protocol_openai, kw_protocol_anthropic;

#endif
