/* Arithmetic in a GPU kernel's text: doubles among floats, divisions of integers by running values. */
#include "profile/source_scan.h"

#include <string.h>

static bool is_any(const struct kw_tokens *t, size_t i, const char *const *words)
{
	return kw_tokens_hold(t, i, i + 1, words);
}

static bool is_operator(const struct kw_tokens *t, size_t i)
{
	static const char *const list[] = { "+",  "-",	"*",  "/",  "?",  ":",	"<",  ">", "<=",
					    ">=", "==", "!=", "*=", "+=", "-=", "/=", NULL };

	return is_any(t, i, list);
}

/* max(x, 0.0), pow(x, 2.0): of functions with overloads the one of doubles is taken, and a float beside the literal is converted. */
static bool is_overload_argument(const struct kw_scan *s, size_t i)
{
	static const char *const names[] = { "pow", "max", "min", "fmax", "fmin", "fmod", "atan2", "hypot", "fma", "fdim", "copysign", NULL };
	size_t open = i;

	while (open > s->from && i - open < 60 && !kw_token_is(s->t, open, ";") &&
	       !(kw_token_is(s->t, open, "(") && s->t->list[open].match > i))
		open--;
	return kw_token_is(s->t, open, "(") && open > s->from && is_any(s->t, open - 1, names) && !kw_token_is(s->t, open - 2, ".");
}

void kw_scan_literal(struct kw_scan *s, size_t i)
{
	size_t before = i - 1;

	if (!kw_token_is_double(s->t, i))
		return;
	if (kw_token_is(s->t, before, "-") && !is_operator(s->t, before - 1) &&
	    s->t->list[before - 1].kind == KW_TOKEN_MARK)
		before--;
	/* `float x = 0.0;` and T(0.5) are converted when compiled; in an expression the double spreads. */
	if (is_operator(s->t, before) || is_operator(s->t, i + 1) || (!s->opencl && is_overload_argument(s, i)))
		kw_scan_fact(s, KW_M_CODE_DOUBLE_LITERAL, i);
}

/* (A_PITCH - 8) */
static bool all_constant(const struct kw_scan *s, size_t open)
{
	for (size_t i = open + 1; i < s->t->list[open].match; i++)
		if (s->t->list[i].kind == KW_TOKEN_WORD && !kw_scan_is_constant(s, i))
			return false;
	return true;
}

/* (a + 0.5f), (float)i, (scale * x): a literal of floats, their type, or a variable that is none of the integers that were declared. */
static bool is_of_floats(const struct kw_scan *s, size_t from, size_t to)
{
	static const char *const floats[] = { "float", "double", "half", "__half", "real", NULL };
	static const char *const behind[] = { "(", ".", "[", "->", "::", NULL };

	for (size_t i = from; i < to; i++) {
		const struct kw_token *k = &s->t->list[i];

		if (k->kind == KW_TOKEN_NUMBER && memchr(k->ptr, '.', k->len))
			return true;
		if (k->kind != KW_TOKEN_WORD)
			continue;
		if (is_any(s->t, i, floats))
			return true;
		if (!kw_scan_find(s, i, KW_SCAN_INTEGER) && !kw_scan_find(s, i, KW_SCAN_LANE) && !kw_scan_is_constant(s, i) &&
		    !is_any(s->t, i, kw_scan_integers) && !is_any(s->t, i + 1, behind) && !kw_token_is(s->t, i - 1, ".") && !kw_token_is(s->t, i - 1, "->") && !kw_token_is(s->t, i, "const") && !kw_token_is(s->t, i, "auto"))
			return true;
	}
	return false;
}

/* `2.0f * i / n`, `(float)i / n`, `float(i) / n`: what is divided at i is of floats, though an integer stands beside the sign. */
static bool divides_floats(const struct kw_scan *s, size_t i)
{
	static const char *const products[] = { "*", "/", NULL };
	size_t at = i;

	while (at > s->from + 1) {
		size_t last = at - 1, first = last;

		if (kw_token_is(s->t, last, ")") || kw_token_is(s->t, last, "]"))
			first = s->t->list[last].match;
		/* The name before a bracket: float(i), x[i]; of an array nothing is known. */
		if (first < last && s->t->list[first - 1].kind == KW_TOKEN_WORD)
			first--;
		if (first > last || kw_token_is(s->t, last, "]"))
			return false;
		if (is_of_floats(s, first, last + 1))
			return true;
		/* A cast before it. */
		if (kw_token_is(s->t, first - 1, ")") && s->t->list[first - 1].match < first - 1 && s->t->list[s->t->list[first - 1].match - 1].kind != KW_TOKEN_WORD) {
			if (is_of_floats(s, s->t->list[first - 1].match, first))
				return true;
			first = s->t->list[first - 1].match;
		}
		if (!is_any(s->t, first - 1, products))
			return false;
		at = first - 1;
	}
	return false;
}

/* Declared as one of 64 bits: a division of those is many times as long. */
static bool is_wide(const struct kw_scan *s, size_t i)
{
	static const char *const wide[] = { "long", "size_t", "int64_t", "uint64_t", "ulong", "ptrdiff_t", NULL };
	const struct kw_scan_name *n = s->t->list[i].kind == KW_TOKEN_WORD ? kw_scan_find(s, i, KW_SCAN_INTEGER) : NULL;

	return n && n->token && is_any(s->t, n->token - 1, wide);
}

void kw_scan_division(struct kw_scan *s, size_t i)
{
	bool remainder = kw_token_is(s->t, i, "%") || kw_token_is(s->t, i, "%=");
	size_t right = i + 1;

	if (!remainder && !kw_token_is(s->t, i, "/") && !kw_token_is(s->t, i, "/="))
		return;
	if (right >= s->to || kw_scan_is_constant(s, right) || s->t->list[right].kind == KW_TOKEN_NUMBER)
		return;
	if (kw_token_is(s->t, right, "(") && (!remainder || all_constant(s, right)))
		return;
	if (!remainder && !kw_scan_find(s, right, KW_SCAN_INTEGER) && !kw_token_is(s->t, right, "blockDim") &&
	    !kw_token_is(s->t, right, "gridDim"))
		return;
	/* A float over an int is a float. */
	if (!remainder && s->t->list[i - 1].kind == KW_TOKEN_WORD && !kw_scan_find(s, i - 1, KW_SCAN_INTEGER) &&
	    !kw_scan_find(s, i - 1, KW_SCAN_LANE) && !kw_token_is(s->t, i - 2, "."))
		return;
	if (kw_token_is(s->t, i, "/") && divides_floats(s, i))
		return;
	kw_scan_fact(s, KW_M_CODE_DIV, i);
	if (is_wide(s, i - 1) || is_wide(s, right))
		kw_launch_add_count(s->k, KW_M_CODE_DIV_WIDE, 1);
	if (s->loop_count)
		kw_scan_fact(s, KW_M_CODE_DIV_LOOP, i);
}
