/* What a name stands for in a GPU kernel's text: a number, the thread's index, a place that neighbouring threads have far apart. */
#include "profile/source_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants ---- */

/* The value of `#define NAME 32`; 0: none. */
static long defined_as(const struct kw_scan *s, size_t i)
{
	const struct kw_token *w = &s->t->list[i];

	for (size_t d = 0; d < s->t->count; d++) {
		const struct kw_token *k = &s->t->list[d];
		const char *p = k->ptr, *end = k->ptr + k->len;

		if (k->kind != KW_TOKEN_DIRECTIVE || k->len < 8 || memcmp(p, "#define", 7) != 0)
			continue;
		for (p += 7; p < end && (*p == ' ' || *p == '\t');)
			p++;
		if ((size_t)(end - p) > w->len && memcmp(p, w->ptr, w->len) == 0 && isspace((unsigned char)p[w->len]))
			return strtol(p + w->len, NULL, 0);
	}
	return 0;
}

/* constexpr int N = 32; const int N = 32; anywhere before. */
static long declared_as(const struct kw_scan *s, size_t i)
{
	for (size_t d = 2; d + 2 < s->t->count; d++)
		if (kw_token_same(s->t, d, i) && kw_token_is(s->t, d + 1, "=") &&
		    s->t->list[d + 2].kind == KW_TOKEN_NUMBER && kw_tokens_hold(s->t, d - 1, d, kw_scan_integers) &&
		    (kw_token_is(s->t, d - 2, "const") || kw_token_is(s->t, d - 2, "constexpr") ||
		     (d > 2 && (kw_token_is(s->t, d - 3, "const") || kw_token_is(s->t, d - 3, "constexpr")))))
			return strtol(s->t->list[d + 2].ptr, NULL, 0);
	return 0;
}

/* The value of one token; 0: not known. */
long kw_scan_value(const struct kw_scan *s, size_t i)
{
	long v;

	if (i >= s->t->count)
		return 0;
	if (s->t->list[i].kind == KW_TOKEN_NUMBER)
		return strtol(s->t->list[i].ptr, NULL, 0);
	if (s->t->list[i].kind != KW_TOKEN_WORD)
		return 0;
	v = defined_as(s, i);
	return v ? v : declared_as(s, i);
}

/* A parameter of a template, a macro's name, a constant: known when it is compiled. */
bool kw_scan_is_constant(const struct kw_scan *s, size_t i)
{
	const struct kw_token *k = &s->t->list[i];
	bool upper = k->kind == KW_TOKEN_WORD && k->len > 1;

	if (k->kind == KW_TOKEN_NUMBER)
		return true;
	for (uint32_t n = 0; n < k->len && upper; n++)
		upper = isupper((unsigned char)k->ptr[n]) || isdigit((unsigned char)k->ptr[n]) || k->ptr[n] == '_';
	return upper || kw_scan_find(s, i, KW_SCAN_CONSTANT) || kw_scan_value(s, i) != 0 || kw_token_is(s->t, i, "sizeof") ||
	       kw_token_is(s->t, i, "warpSize");
}

/* ---- lanes ---- */

/* What takes an index apart, or reads by it: its lanes may lie anywhere. */
static const char *const folds[] = { "/", "%", ">>", "&", "?", "[", NULL };

bool kw_scan_holds_lane(const struct kw_scan *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (kw_token_is(s->t, i, "threadIdx") && kw_token_is(s->t, i + 2, "x"))
			return true;
		if ((kw_token_is(s->t, i, "get_global_id") || kw_token_is(s->t, i, "get_local_id")) &&
		    kw_token_is(s->t, i + 2, "0"))
			return true;
		if (s->t->list[i].kind == KW_TOKEN_WORD && kw_scan_find(s, i, KW_SCAN_LANE) && !kw_token_is(s->t, i - 1, "."))
			return true;
	}
	return false;
}

/* Lane times something in [from, to): the constant, -1 for a running value, 0 for no such product. */
long kw_scan_lane_factor(const struct kw_scan *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		size_t first, last;
		bool thread = kw_token_is(s->t, i, "threadIdx") && kw_token_is(s->t, i + 2, "x");

		if (!thread && !(s->t->list[i].kind == KW_TOKEN_WORD && kw_scan_find(s, i, KW_SCAN_LANE)))
			continue;
		first = i;
		last = thread ? i + 2 : i;
		/* (size_t)i * n */
		if (kw_token_is(s->t, last + 1, "*") && last + 2 < to) {
			long v = kw_scan_value(s, last + 2);

			return v ? v : -1;
		}
		if (first > from + 1 && kw_token_is(s->t, first - 1, "*")) {
			long v = kw_scan_value(s, first - 2);

			return v ? v : -1;
		}
	}
	return 0;
}

/* `int at = row * cols + k`, `const float *p = a + row * cols`: neighbouring lanes have them far apart, if row runs with the lanes. */
bool kw_scan_is_far(const struct kw_scan *s, size_t from, size_t to)
{
	long factor = kw_tokens_hold(s->t, from, to, folds) ? 0 : kw_scan_lane_factor(s, from, to);

	return factor == -1 || factor > KW_SCAN_NEAR;
}

/* By what was declared last of that name. */
static bool is_now_far(const struct kw_scan *s, size_t i)
{
	for (size_t n = s->name_count; n-- > 0;)
		if (kw_token_same(s->t, s->names[n].token, i))
			return s->names[n].kind == KW_SCAN_FAR;
	return false;
}

/* p[k] of a pointer, or a[at + k] of an index, that neighbouring lanes have far apart. */
bool kw_scan_begins_far(const struct kw_scan *s, size_t array, size_t from, size_t to)
{
	if (is_now_far(s, array))
		return true;
	for (size_t k = from; k < to && !kw_tokens_hold(s->t, from, to, folds); k++)
		if (s->t->list[k].kind == KW_TOKEN_WORD && is_now_far(s, k) && !kw_token_is(s->t, k - 1, "."))
			return true;
	return false;
}
