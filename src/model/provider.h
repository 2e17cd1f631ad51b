/* provider.h - language models: who answers a prompt (design 10). One provider is one file and one row of providers.def.
 *
 *     struct kw_model *m;
 *     kw_model_open("replay:calls.jsonl", &opts, &m, err);
 *     struct kw_ask ask = { .role = "coder", .slot = "r1/coder", .prompt = text };
 *     struct kw_answer answer;
 *     kw_model_ask(m, &ask, &answer, err);
 *     kw_answer_release(&answer);
 *     kw_model_close(m);
 *
 * A provider moves text and counts tokens; it does not know what a kernel is. Whatever a model says is a result
 * (struct kw_answer), nonsense and refusals too; a status is about us, the network, or a key that is wrong.
 *
 * Thread rule: a model may be asked by several threads at once. */
#ifndef KW_MODEL_PROVIDER_H
#define KW_MODEL_PROVIDER_H

#include "base/arena.h"
#include "base/error.h"

/* More than this of one answer is not read: no kernel is that long. */
#define KW_ANSWER_MAX_BYTES ((size_t)4 << 20)

/* Why a model stopped. */
#define KW_FINISH_LIST(X)                                                           \
	X(STOP, "stop", "it was done")                                              \
	X(LENGTH, "length", "its limit of tokens was reached")                      \
	X(REFUSED, "refused", "it refused")                                         \
	X(TOOL, "tool", "it asked for a tool instead of answering")                 \
	X(TOO_LONG, "too_long", "the prompt does not fit its context")              \
	X(OVERFLOW, "overflow", "the answer is larger than any kernel")             \
	X(CUT, "cut", "the run's time was over before it was done")
enum kw_finish {
#define X(e, name, text) KW_FINISH_##e,
	KW_FINISH_LIST(X)
#undef X
	KW_FINISH_COUNT
};
const char *kw_finish_name(enum kw_finish f);
const char *kw_finish_text(enum kw_finish f);
bool kw_finish_parse(const char *name, enum kw_finish *out);

struct kw_ask {
	const char *role;                 /* "coder" */
	const char *slot;                 /* which call of the run this is, "r2/coder": the same when the run is resumed */
	const char *run;                  /* the run's own mark, for people and folders; may be "" */
	bool once;                        /* run and slot are this call and no other, whatever its prompt says: it may hold what is measured anew */
	int index;                        /* how many calls of this role were before it */
	const char *prompt;
	int64_t max_tokens;               /* 0: as many as the provider allows */
	double temperature;               /* negative: the model's own */
	const _Atomic int64_t *until_ns;  /* of kw_now_ns: when the answer is not wanted any more; may change; NULL or 0: never */
};
/* Whether that time has come. */
bool kw_ask_over(const struct kw_ask *a);
struct kw_answer {
	struct kw_arena arena;            /* owns the strings */
	const char *text, *reasoning;     /* never NULL */
	const char *model;                /* who answered, as the provider calls it */
	const char *note;                 /* "" or what the recording says about it: "scripted" */
	enum kw_finish finish;
	int64_t tokens_in, tokens_out;
	bool counted;                     /* the provider counted the tokens; else they are estimated */
	int attempts;                     /* requests that were sent: above 1 where some failed */
	int64_t latency_ns;
};
void kw_answer_release(struct kw_answer *a);
/* For providers: takes a text over as UTF-8; each byte that is none, and NUL, becomes U+FFFD. */
enum kw_status kw_answer_take_text(struct kw_answer *a, const char *text, size_t len, struct kw_error *err);

struct kw_provider_opts {
	const char *base_url;             /* of providers that speak HTTP; NULL: their own */
	const char *key_file;             /* NULL: the key is in the environment */
	int64_t timeout_ns;               /* without a sign of life; 0: the provider's own */
	int retries;                      /* negative: the provider's own */
};
/* How it is known what an answer costs: not at all, by the model's name behind the colon, not unless the provider has a price, or likewise where the
 * answer names no model. */
enum kw_paid { KW_PAID_NOTHING, KW_PAID_BY_NAME, KW_PAID_UNSEEN, KW_PAID_BY_ANSWER };
struct kw_provider {
	const char *name, *argument, *title; /* "replay", "FILE", one line for --help */
	/* Required. argument: what stands behind the colon, "" when there is none. What cannot work (no key, no such file)
	 * is said here, before anything is spent. */
	enum kw_status (*open)(const char *argument, const struct kw_provider_opts *o, void **state, struct kw_error *err);
	/* Required. Fills an initialised answer whose strings live in its arena. KW_NO: there is nobody to ask (any more); err
	 * says why. Must look at kw_interrupted() and return KW_ERR_INTERRUPTED, and where it waits at kw_ask_over(), for KW_NO. */
	enum kw_status (*ask)(void *state, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err);
	/* Optional. */
	void (*close)(void *state);
	bool local;                       /* works on this machine: nothing is timed while it is asked */
	bool lasts;                       /* a question that was left can be answered later: asked again, it is the same one */
	enum kw_paid paid;
};
const struct kw_provider *const *kw_provider_all(size_t *count);

struct kw_model;
/* spec: "NAME" or "NAME:ARGUMENT". o may be NULL. */
enum kw_status kw_model_open(const char *spec, const struct kw_provider_opts *o, struct kw_model **out,
			     struct kw_error *err);
/* Initialises the answer whatever happens. */
enum kw_status kw_model_ask(struct kw_model *m, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err);
void kw_model_close(struct kw_model *m);             /* NULL is fine */
const char *kw_model_spec(const struct kw_model *m); /* as it was opened */
const char *kw_model_provider(const struct kw_model *m);
bool kw_model_local(const struct kw_model *m);
bool kw_model_lasts(const struct kw_model *m);
enum kw_paid kw_model_paid(const struct kw_model *m);
/* About how many tokens a text is, for limits and where nobody counted. */
int64_t kw_tokens_estimate(size_t bytes);

#endif
