#include "profile/tokens.h"

#include <ctype.h>
#include <string.h>

enum { MAX_TOKENS = 600000, MAX_NESTED = 4096, MAX_STATEMENTS = 200 };

struct reader {
	const char *p, *end;
	int line;
};

static bool two(const struct reader *r, char a, char b)
{
	return r->p + 1 < r->end && r->p[0] == a && r->p[1] == b;
}

/* Blanks and comments. */
static void skip(struct reader *r)
{
	while (r->p < r->end) {
		if (isspace((unsigned char)*r->p)) {
			r->line += *r->p++ == '\n';
		} else if (*r->p == '\\') {
			r->p++;
		} else if (two(r, '/', '/')) {
			while (r->p < r->end && *r->p != '\n')
				r->p++;
		} else if (two(r, '/', '*')) {
			for (r->p += 2; r->p < r->end && !two(r, '*', '/'); r->p++)
				r->line += *r->p == '\n';
			r->p += r->p < r->end ? 2 : 0;
		} else {
			return;
		}
	}
}

static void quoted(struct reader *r, char quote)
{
	for (r->p++; r->p < r->end && *r->p != quote && *r->p != '\n'; r->p++)
		if (*r->p == '\\' && r->p + 1 < r->end && r->p[1] != '\n')
			r->p++;
	r->p += r->p < r->end && *r->p == quote;
}

/* A preprocessor line, with those that it goes on in. */
static void directive(struct reader *r)
{
	while (r->p < r->end && *r->p != '\n') {
		if (two(r, '\\', '\n')) {
			r->line++;
			r->p++;
		}
		r->p++;
	}
	if (r->p > r->end)
		r->p = r->end;
}

static void next(struct reader *r, struct kw_token *out, bool line_start)
{
	static const char *const marks[] = { "<<<", ">>>", "+=", "-=", "*=", "/=", "%=", "==", "!=", "<=",
					     ">=",  "&&",  "||", "++", "--", "->", "::", "<<", ">>" };
	const char *start = r->p;

	out->ptr = start;
	out->line = r->line;
	if (*start == '#' && line_start) {
		out->kind = KW_TOKEN_DIRECTIVE;
		directive(r);
	} else if (*start == '"' || *start == '\'') {
		out->kind = KW_TOKEN_STRING;
		quoted(r, *start);
	} else if (isdigit((unsigned char)*start) ||
		   (*start == '.' && r->p + 1 < r->end && isdigit((unsigned char)start[1]))) {
		out->kind = KW_TOKEN_NUMBER;
		while (r->p < r->end && (isalnum((unsigned char)*r->p) || *r->p == '.' ||
					 ((*r->p == '+' || *r->p == '-') && (r->p[-1] == 'e' || r->p[-1] == 'E') &&
					  !(start[0] == '0' && (start[1] == 'x' || start[1] == 'X')))))
			r->p++;
	} else if (isalpha((unsigned char)*start) || *start == '_' || (unsigned char)*start >= 0x80) {
		out->kind = KW_TOKEN_WORD;
		while (r->p < r->end && (isalnum((unsigned char)*r->p) || *r->p == '_' || (unsigned char)*r->p >= 0x80))
			r->p++;
	} else {
		out->kind = KW_TOKEN_MARK;
		r->p++;
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
			size_t n = strlen(marks[i]);

			if ((size_t)(r->end - start) >= n && memcmp(start, marks[i], n) == 0) {
				r->p = start + n;
				break;
			}
		}
	}
	out->len = (uint32_t)(r->p - start);
}

static void match_brackets(struct kw_tokens *t)
{
	static const char open[] = "([{", close[] = ")]}";
	size_t stack[MAX_NESTED], depth = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct kw_token *k = &t->list[i];
		const char *at;

		k->match = i;
		if (k->kind != KW_TOKEN_MARK || k->len != 1)
			continue;
		if (strchr(open, *k->ptr)) {
			if (depth < MAX_NESTED)
				stack[depth++] = i;
		} else if ((at = strchr(close, *k->ptr)) != NULL && depth > 0 &&
			   *t->list[stack[depth - 1]].ptr == open[at - close]) {
			k->match = stack[--depth];
			t->list[k->match].match = i;
		}
	}
}

bool kw_tokens_read(struct kw_tokens *t, const char *text, size_t len, struct kw_arena *a)
{
	struct reader r = { text, text + len, 1 };
	size_t cap = len / 2 + 16;
	int last = 0;

	*t = (struct kw_tokens){ .text = text, .text_len = len };
	cap = cap < MAX_TOKENS ? cap : MAX_TOKENS;
	t->list = kw_arena_calloc(a, cap, sizeof(*t->list));
	if (!t->list)
		return false;
	for (skip(&r); r.p < r.end; skip(&r)) {
		if (t->count == cap) {
			t->full = true;
			break;
		}
		next(&r, &t->list[t->count], r.line != last);
		last = t->list[t->count++].line;
	}
	match_brackets(t);
	return true;
}

bool kw_token_is(const struct kw_tokens *t, size_t i, const char *word)
{
	return i < t->count && t->list[i].len == strlen(word) && memcmp(t->list[i].ptr, word, t->list[i].len) == 0;
}

bool kw_token_same(const struct kw_tokens *t, size_t i, size_t k)
{
	return i < t->count && k < t->count && t->list[i].len == t->list[k].len &&
	       memcmp(t->list[i].ptr, t->list[k].ptr, t->list[i].len) == 0;
}

static size_t past_statement(const struct kw_tokens *t, size_t i, int depth)
{
	if (i >= t->count || depth > MAX_STATEMENTS)
		return t->count ? t->count - 1 : 0;
	if (kw_token_is(t, i, "{"))
		return t->list[i].match > i ? t->list[i].match : t->count - 1;
	if ((kw_token_is(t, i, "for") || kw_token_is(t, i, "while") || kw_token_is(t, i, "if")) &&
	    kw_token_is(t, i + 1, "(")) {
		size_t end = past_statement(t, t->list[i + 1].match + 1, depth + 1);

		if (kw_token_is(t, i, "if") && kw_token_is(t, end + 1, "else"))
			return past_statement(t, end + 2, depth + 1);
		return end;
	}
	if (kw_token_is(t, i, "do"))
		i = past_statement(t, i + 1, depth + 1);
	for (; i < t->count; i++) {
		if (kw_token_is(t, i, ";"))
			return i;
		if (kw_token_is(t, i, "}"))
			return i ? i - 1 : 0;
		if (t->list[i].match > i)
			i = t->list[i].match;
	}
	return t->count - 1;
}

size_t kw_token_statement_end(const struct kw_tokens *t, size_t i)
{
	return past_statement(t, i, 0);
}

struct kw_str kw_token_line(const struct kw_tokens *t, size_t i)
{
	const char *start, *end, *last = t->text + t->text_len;

	if (i >= t->count)
		return (struct kw_str){ "", 0 };
	for (start = t->list[i].ptr; start > t->text && start[-1] != '\n';)
		start--;
	for (end = t->list[i].ptr; end < last && *end != '\n';)
		end++;
	return kw_str_trim((struct kw_str){ start, (size_t)(end - start) });
}

bool kw_tokens_hold(const struct kw_tokens *t, size_t from, size_t to, const char *const *words)
{
	for (size_t i = from; i < to && i < t->count; i++)
		for (const char *const *w = words; *w; w++)
			if (kw_token_is(t, i, *w))
				return true;
	return false;
}

bool kw_token_is_double(const struct kw_tokens *t, size_t i)
{
	const struct kw_token *k = i < t->count ? &t->list[i] : NULL;
	bool point = false;
	char last;

	if (!k || k->kind != KW_TOKEN_NUMBER ||
	    (k->len > 1 && k->ptr[0] == '0' && (k->ptr[1] == 'x' || k->ptr[1] == 'X')))
		return false;
	for (uint32_t n = 0; n < k->len; n++)
		point = point || k->ptr[n] == '.' || k->ptr[n] == 'e' || k->ptr[n] == 'E';
	last = k->ptr[k->len - 1];
	return point && last != 'f' && last != 'F' && last != 'h' && last != 'H' && last != 'l' && last != 'L';
}

/* ---- words of the languages ---- */

static bool is_any(const struct kw_tokens *t, size_t i, const char *const *words)
{
	return kw_tokens_hold(t, i, i + 1, words);
}

int kw_token_element_bytes(const struct kw_tokens *t, size_t i)
{
	static const char *const two[] = { "half", "__half", "__nv_bfloat16", "short", "bfloat16", NULL };
	static const char *const eight[] = { "double", "float2", "int64_t", "long", "int2", NULL };
	static const char *const one[] = { "char", "int8_t", "uint8_t", NULL };
	static const char *const sixteen[] = { "float4", "int4", "uint4", "double2", NULL };

	return is_any(t, i, two) ? 2 : is_any(t, i, eight) ? 8 : is_any(t, i, one) ? 1 : is_any(t, i, sixteen) ? 16 : 4;
}

bool kw_token_is_atomic(const struct kw_tokens *t, size_t i)
{
	static const char *const names[] = { "atomicAdd",	 "atomicSub",	    "atomicMax",  "atomicMin",
					     "atomicInc",	 "atomicDec",	    "atomicExch", "atomicCAS",
					     "atomicOr",	 "atomicAnd",	    "atomicXor",  "atomic_add",
					     "atomic_inc",	 "atomic_max",	    "atomic_min", "atom_add",
					     "atomic_fetch_add", "atomicAdd_block", "atomic_sub", "atomic_or",
					     "atomic_xchg",	 "atomic_cmpxchg",  NULL };

	return kw_token_is(t, i + 1, "(") && is_any(t, i, names);
}

bool kw_token_is_matrix_builtin(const struct kw_tokens *t, size_t i)
{
	const struct kw_token *k = &t->list[i];
	static const char start[] = "__builtin_amdgcn_";

	return k->len > sizeof(start) + 4 && memcmp(k->ptr, start, sizeof(start) - 1) == 0 &&
	       (memcmp(k->ptr + sizeof(start) - 1, "mfma", 4) == 0 || memcmp(k->ptr + sizeof(start) - 1, "wmma", 4) == 0);
}
