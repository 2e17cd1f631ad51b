/* reply.h - from what a model said to the text of a candidate.
 *
 *     struct kw_reply r;
 *     struct kw_reply_want want = { .marker = "//@", .parent = parent_source };
 *     kw_reply_read(&want, text, strlen(text), KW_FINISH_STOP, arena, &r);
 *     if (r.kind == KW_REPLY_SOURCE) use(r.source);
 *     else ask_again(r.why);
 *
 * The candidate is the fenced block that defines the entry point: the function that a `kernel` plan line names. Of several
 * such the last is taken, since the first is often a draft. Reasoning in think tags is cut off before; code that is only
 * there is a draft, not an answer. An answer without a fence is read whole, as are HTML and the strings of JSON. Instead of a file there may be edits of the
 * parent: SEARCH/REPLACE blocks or a unified diff, each of which must fit at exactly one place.
 *
 * Pure: the same text gives the same reply. Thread rule: none needed. */
#ifndef KW_AGENT_REPLY_H
#define KW_AGENT_REPLY_H

#include "model/provider.h"

/* What an answer was. All but SOURCE are of no use; `why` is a sentence that the model is told. */
#define KW_REPLY_LIST(X)                                                              \
	X(SOURCE, "source", "the text of a candidate")                                \
	X(EMPTY, "empty", "it said nothing")                                          \
	X(THINKING, "thinking", "its tokens were spent on thinking")                  \
	X(DRAFT, "draft", "the only code is inside its reasoning")                    \
	X(REFUSED, "refused", "it refused")                                           \
	X(TOOL, "tool", "it asked for a tool")                                        \
	X(TRUNCATED, "truncated", "it ends in the middle of the code")                \
	X(TOO_LARGE, "too_large", "it is larger than any kernel")                     \
	X(TOO_LONG, "too_long", "the prompt did not fit its context")                 \
	X(NO_CODE, "no_code", "there is no code in it")                               \
	X(NO_ENTRY, "no_entry", "no block defines a kernel with its plan line")       \
	X(BAD_EDIT, "bad_edit", "an edit fits nowhere, or at several places")         \
	X(BAD_PLAN, "bad_plan", "the plan lines cannot be used")                      \
	X(SAME, "same", "a kernel that was judged before")
enum kw_reply_kind {
#define X(e, name, text) KW_REPLY_##e,
	KW_REPLY_LIST(X)
#undef X
	KW_REPLY_COUNT
};
const char *kw_reply_name(enum kw_reply_kind k);
const char *kw_reply_text(enum kw_reply_kind k);

struct kw_reply_want {
	const char *marker;               /* of plan lines: "//@", "#@" */
	const char *entry;                /* instead of the plan line's name: a text that the block must hold */
	bool any_block;                   /* the last block of code, whatever it is */
	const char *parent;               /* source that edits are for; NULL: only whole files */
	const char *language;             /* for the message: "C17" */
};
struct kw_reply {
	enum kw_reply_kind kind;
	const char *source;               /* SOURCE: in the arena */
	size_t len;
	bool edited;                      /* made by edits of the parent */
	char why[600];
};
void kw_reply_read(const struct kw_reply_want *want, const char *text, size_t len, enum kw_finish finish,
		   struct kw_arena *a, struct kw_reply *out);
/* What is left when the reasoning is cut off; *open: it never ended. */
struct kw_str kw_reply_without_thinking(struct kw_str text, bool *open);

/* --- what it is wrapped in (unwrap.c) --- */
/* Without byte-order marks and characters of no width, with \n as the end of each line, and without a server's control words. */
struct kw_str kw_reply_plain(struct kw_str text, struct kw_arena *a);
/* A source in which < and > were written for HTML, as it was meant; others as they are. */
struct kw_str kw_reply_entities(struct kw_str text, struct kw_arena *a);
/* What stands in <pre> or <code>; false: there is none. */
bool kw_reply_html(struct kw_str text, struct kw_str *code);
/* Every string of a JSON object in the text, until `use` is content; false: none was, or there is no object. */
bool kw_reply_json(struct kw_str text, bool (*use)(void *arg, struct kw_str text), void *arg);

/* --- edits (edits.c) --- */
/* Applies SEARCH/REPLACE blocks or a unified diff. KW_NO: there are none in the text. KW_ERR_INPUT: err says which does not
 * fit. KW_OK: the new text in the arena. */
enum kw_status kw_edits_apply(const char *parent, struct kw_str text, struct kw_arena *a, const char **out, size_t *len,
			      struct kw_error *err);

#endif
