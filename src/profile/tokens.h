/* tokens.h - C-like source as words, for readers that look and do not compile.
 *
 *     struct kw_tokens t;
 *     kw_tokens_read(&t, text, len, arena);
 *     for (size_t i = 0; i < t.count; i++)
 *             if (kw_token_is(&t, i, "for")) ...
 *
 * Comments and line ends behind backslashes are gone; a string is one token. match[i] is the index of the bracket that
 * belongs to i (i itself where there is none). Preprocessor lines are one token each, of kind DIRECTIVE. In the arena. */
#ifndef KW_PROFILE_TOKENS_H
#define KW_PROFILE_TOKENS_H

#include "base/arena.h"

enum kw_token_kind { KW_TOKEN_WORD, KW_TOKEN_NUMBER, KW_TOKEN_STRING, KW_TOKEN_MARK, KW_TOKEN_DIRECTIVE };
struct kw_token {
	const char *ptr;
	uint32_t len;
	int line;
	enum kw_token_kind kind;
	size_t match;
};
struct kw_tokens {
	struct kw_token *list;
	size_t count;
	bool full;                        /* more than are kept */
	const char *text;
	size_t text_len;
};
/* False: out of memory. */
bool kw_tokens_read(struct kw_tokens *t, const char *text, size_t len, struct kw_arena *a);
bool kw_token_is(const struct kw_tokens *t, size_t i, const char *word); /* false behind the end */
bool kw_token_same(const struct kw_tokens *t, size_t i, size_t k);
/* The last token of the statement that begins at i: a block, a loop with its body, or up to ';'. */
size_t kw_token_statement_end(const struct kw_tokens *t, size_t i);
/* The line of the text that a token stands in. */
struct kw_str kw_token_line(const struct kw_tokens *t, size_t i);
/* Whether one of the words, NULL-terminated, is in [from, to). */
bool kw_tokens_hold(const struct kw_tokens *t, size_t from, size_t to, const char *const *words);
/* A floating literal without a suffix: a double. */
bool kw_token_is_double(const struct kw_tokens *t, size_t i);

/* Of the type that a word names; 4 where it is none that is known. */
int kw_token_element_bytes(const struct kw_tokens *t, size_t i);
/* A call of an atomic function of CUDA, HIP or OpenCL. */
bool kw_token_is_atomic(const struct kw_tokens *t, size_t i);
/* __builtin_amdgcn_mfma_f32_32x32x8f16 and the like. */
bool kw_token_is_matrix_builtin(const struct kw_tokens *t, size_t i);

/* Where the declaration that holds i begins: behind the last ';', bracket or preprocessor line. */
size_t kw_token_declaration_start(const struct kw_tokens *t, size_t i);
/* A copy of CUDA source without what only a host compiler takes: functions that launch or call the runtime, and headers of
 * the host. Lines stay where they are. In the arena; NULL: out of memory. */
char *kw_tokens_device_only(const char *text, size_t len, struct kw_arena *a);

#endif
