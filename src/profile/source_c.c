/* A C function: its loops, what is parallel, what strides, sums with one accumulator, writes by thread numbers. */
#include <ctype.h>
#include <string.h>

#include "profile/input.h"

enum { MAX_DEPTH = 32, MAX_SCALARS = 64 };
struct c_loop {
	size_t end, var, start;
	bool simd, parallel, inner, chased;
	bool small, unit;                 /* a few rounds of a constant; steps by one */
	bool inner_large;                 /* only small loops are in it */
	bool summed, strided;             /* counted already: two such accesses in a loop make no second loop */
};
struct c_scan {
	const struct kw_tokens *t;
	struct kw_launch *k;
	struct c_loop loops[MAX_DEPTH];
	size_t depth;
	size_t scalars[MAX_SCALARS];      /* names of float and double variables */
	size_t scalar_count;
	size_t threads[16];               /* names of thread numbers */
	size_t thread_count;
	size_t arrays[32];                /* names of arrays on the stack: small, and in registers where they are unrolled */
	size_t array_count, from, body;   /* its name, its '{' */
	bool simd, parallel;              /* a pragma waits for its loop */
	size_t parallel_end;
	bool doubles;
};

static void fact(struct c_scan *s, int metric, size_t i)
{
	kw_launch_add_count(s->k, metric, 1);
	kw_launch_place(s->k, metric, s->t->list[i].line, kw_token_line(s->t, i));
}

/* The same for what is counted by loops: each loop once, each of its lines told. */
static void fact_of_loop(struct c_scan *s, int metric, size_t i, bool *counted)
{
	if (!*counted)
		kw_launch_add_count(s->k, metric, 1);
	*counted = true;
	kw_launch_place(s->k, metric, s->t->list[i].line, kw_token_line(s->t, i));
}

static bool directive_holds(const struct kw_token *k, const char *word)
{
	return memmem(k->ptr, k->len, word, strlen(word)) != NULL;
}

static void pragma(struct c_scan *s, size_t i)
{
	const struct kw_token *k = &s->t->list[i];

	if (!directive_holds(k, "pragma") || !directive_holds(k, "omp"))
		return;
	s->simd = s->simd || directive_holds(k, "simd");
	s->parallel = s->parallel || directive_holds(k, "parallel") || directive_holds(k, " for");
	if (directive_holds(k, "reduction"))
		s->simd = true;
	if ((directive_holds(k, "atomic") || directive_holds(k, "critical")) && s->depth)
		fact(s, KW_M_C_ATOMIC_LOOP, i);
	if (directive_holds(k, "parallel") && !directive_holds(k, " for"))
		s->parallel_end = kw_token_statement_end(s->t, i + 1);
}

/* `p = p->next`, `i = next[i]`: where the next step goes is in what this one loads. */
static bool is_step(const struct kw_tokens *t, size_t i)
{
	size_t close = t->list[i + 3].match;

	if (t->list[i].kind != KW_TOKEN_WORD || !kw_token_is(t, i + 1, "="))
		return false;
	if (kw_token_same(t, i, i + 2) && kw_token_is(t, i + 3, "->"))
		return kw_token_is(t, i + 5, ";") || kw_token_is(t, i + 5, ")") || kw_token_is(t, i + 5, ",");
	return t->list[i + 2].kind == KW_TOKEN_WORD && kw_token_is(t, i + 3, "[") && close == i + 5 && kw_token_same(t, i, i + 4) &&
	       (kw_token_is(t, close + 1, ";") || kw_token_is(t, close + 1, ")"));
}

static void chase(struct c_scan *s, struct c_loop *l, size_t open)
{
	for (size_t k = open; k <= l->end && k + 6 < s->t->count && !l->chased; k++)
		if (is_step(s->t, k)) {
			l->chased = true;
			fact(s, KW_M_C_CHASE, k);
		}
}

/* `for (int d = -1; d <= 1; d++)`: a few rounds, which the compiler unrolls. */
static bool is_small(const struct kw_tokens *t, size_t i)
{
	static const char *const compares[] = { "<", "<=", NULL };
	size_t close = t->list[i + 1].match;

	for (size_t k = i + 2; kw_token_is(t, i, "for") && k + 1 < close; k++)
		if (kw_tokens_hold(t, k, k + 1, compares))
			return t->list[k + 1].kind == KW_TOKEN_NUMBER && t->list[k + 1].len <= 2 && kw_token_is(t, k + 2, ";");
	return false;
}

static bool holds_small_loops_only(const struct kw_tokens *t, size_t from, size_t to)
{
	for (size_t k = from; k < to; k++)
		if (kw_token_is(t, k, "while") || (kw_token_is(t, k, "for") && !is_small(t, k)))
			return false;
	return true;
}

static bool steps_by_one(const struct kw_tokens *t, size_t close)
{
	return (kw_token_is(t, close - 1, "++") && t->list[close - 2].kind == KW_TOKEN_WORD) || kw_token_is(t, close - 2, "++");
}

static void loop(struct c_scan *s, size_t i)
{
	size_t open = i + 1, close = s->t->list[open].match, at = open + 1;
	static const char *const loops[] = { "for", "while", NULL };
	static const char *const branches[] = { "if", "?", "break", "continue", "return", "goto", "switch", "&&", "||", NULL };
	struct c_loop *l;

	if (s->depth == MAX_DEPTH || close <= open)
		return;
	l = &s->loops[s->depth++];
	*l = (struct c_loop){ .end = kw_token_statement_end(s->t, i), .start = close + 1, .simd = s->simd,
			      .parallel = s->parallel };
	l->inner = !kw_tokens_hold(s->t, close + 1, l->end, loops);
	s->simd = s->parallel = false;
	l->small = is_small(s->t, i);
	l->unit = steps_by_one(s->t, close);
	l->inner_large = !l->small && holds_small_loops_only(s->t, close + 1, l->end);
	if (l->inner)
		chase(s, l, open);
	while (at < close && !kw_token_is(s->t, at, "="))
		at++;
	l->var = at < close && at > open + 1 ? at - 1 : 0;
	kw_launch_add_count(s->k, KW_M_C_LOOPS, 1);
	if (l->inner)
		kw_launch_place_lines(s->k, KW_M_C_LOOPS, s->t->list[i].line, s->t->list[l->end < s->t->count ? l->end : s->t->count - 1].line,
				      kw_tokens_hold(s->t, close + 1, l->end, branches) ? KW_STR("branches") : KW_STR(""));
	if (l->parallel)
		kw_launch_add_count(s->k, KW_M_C_PARALLEL, 1);
}

static bool is_name(const struct c_scan *s, const size_t *list, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++)
		if (kw_token_same(s->t, list[k], i))
			return true;
	return false;
}

/* `a = 0, b, c = 1;` behind float: each name is one. A parameter has its type behind the comma, so it ends there. */
static void scalars(struct c_scan *s, size_t i)
{
	static const char *const kept[] = { "=", ",", ";", NULL };

	while (s->scalar_count < MAX_SCALARS) {
		s->scalars[s->scalar_count++] = i;
		while (++i < s->t->count && !kw_token_is(s->t, i, ",") && !kw_token_is(s->t, i, ";") && !kw_token_is(s->t, i, ")"))
			i = s->t->list[i].match > i ? s->t->list[i].match : i;
		if (!kw_token_is(s->t, i, ",") || !kw_tokens_hold(s->t, i + 2, i + 3, kept) || s->t->list[i + 1].kind != KW_TOKEN_WORD)
			return;
		i++;
	}
}

/* float s = 0; int t = omp_get_thread_num(); */
static void declaration(struct c_scan *s, size_t i)
{
	if (s->t->list[i].kind != KW_TOKEN_WORD || i == 0)
		return;
	if ((kw_token_is(s->t, i - 1, "float") || kw_token_is(s->t, i - 1, "double")) &&
	    !kw_token_is(s->t, i + 1, "[") && !kw_token_is(s->t, i + 1, "("))
		scalars(s, i);
	if (i > s->body && s->t->list[i - 1].kind == KW_TOKEN_WORD && kw_token_is(s->t, i + 1, "[") &&
	    !kw_token_is(s->t, i - 1, "return") && s->array_count < 32)
		s->arrays[s->array_count++] = i;
	if (kw_token_is(s->t, i + 1, "=") && kw_token_is(s->t, i + 2, "omp_get_thread_num") && s->thread_count < 16)
		s->threads[s->thread_count++] = i;
	if (kw_token_is(s->t, i, "double"))
		s->doubles = true;
}

/* sum += …; in an innermost loop, into a scalar that was declared outside it. */
static void reduction(struct c_scan *s, size_t i)
{
	struct c_loop *l = s->depth ? &s->loops[s->depth - 1] : NULL;

	if (!l || !l->inner || l->simd || l->chased || !kw_token_is(s->t, i + 1, "+=") ||
	    !is_name(s, s->scalars, s->scalar_count, i))
		return;
	for (size_t k = 0; k < s->scalar_count; k++)
		if (kw_token_same(s->t, s->scalars[k], i) && s->scalars[k] >= l->start && s->scalars[k] <= l->end)
			return;
	if (s->depth > 1 && s->loops[s->depth - 2].simd)
		return;
	fact_of_loop(s, KW_M_C_REDUCTION, i, &l->summed);
}

/* A running index of a loop around the innermost one. */
static bool is_outer(const struct c_scan *s, size_t i)
{
	for (size_t d = 0; d + 1 < s->depth; d++)
		if (s->loops[d].var && kw_token_same(s->t, s->loops[d].var, i))
			return true;
	return false;
}

/* `const float *restrict x` among the parameters. */
static bool points_to_floats(const struct c_scan *s, size_t i)
{
	static const char *const floats[] = { "float", "double", NULL };

	for (size_t k = s->body; k-- > s->from + 1;)
		if (kw_token_same(s->t, k, i)) {
			size_t star = kw_token_is(s->t, k - 1, "restrict") ? k - 2 : k - 1;

			return kw_token_is(s->t, star, "*") && kw_tokens_hold(s->t, star - 1, star, floats);
		}
	return false;
}

/* y[r] += …; in an innermost loop over something else: the same chain, through memory. */
static void memory_reduction(struct c_scan *s, size_t i)
{
	struct c_loop *l = s->depth ? &s->loops[s->depth - 1] : NULL;
	size_t close = s->t->list[i + 1].match;

	if (!l || !l->inner || l->simd || !l->var || !kw_token_is(s->t, i + 1, "[") || close <= i + 1 ||
	    !kw_token_is(s->t, close + 1, "+=") || !points_to_floats(s, i))
		return;
	/* Any name of the index that the loop could change makes it another element. */
	for (size_t k = i + 2; k < close; k++)
		if (kw_token_same(s->t, k, l->var) || !(s->t->list[k].kind == KW_TOKEN_NUMBER || is_outer(s, k)))
			return;
	fact_of_loop(s, KW_M_C_REDUCTION, i, &l->summed);
}

/* A macro by its name: NC, TILE_M. */
static bool is_constant(const struct kw_tokens *t, size_t i)
{
	const struct kw_token *k = &t->list[i];

	for (uint32_t n = 0; n < k->len; n++)
		if (!isupper((unsigned char)k->ptr[n]) && !isdigit((unsigned char)k->ptr[n]) && k->ptr[n] != '_')
			return false;
	return true;
}

static bool is_stride(const struct kw_tokens *t, size_t i)
{
	return t->list[i].kind == KW_TOKEN_WORD && !is_constant(t, i);
}

/* Whether the token k in (open, close) is multiplied by a running value, alone or in brackets: y * w, (y + dy) * w. */
static bool is_multiplied(const struct kw_tokens *t, size_t open, size_t close, size_t k)
{
	if ((kw_token_is(t, k + 1, "*") && is_stride(t, k + 2)) || (k > open + 1 && kw_token_is(t, k - 1, "*") && is_stride(t, k - 2)))
		return true;
	for (size_t b = open + 1; b < k; b++)
		if (kw_token_is(t, b, "(") && t->list[b].match > k && t->list[b].match < close &&
		    ((kw_token_is(t, t->list[b].match + 1, "*") && is_stride(t, t->list[b].match + 2)) ||
		     (b > open + 2 && kw_token_is(t, b - 1, "*") && is_stride(t, b - 2))))
			return true;
	return false;
}

/* Loops in the wrong order around small ones: the one inside steps by rows, one around it by single elements. */
static void wrong_order(struct c_scan *s, size_t i, size_t open, size_t close)
{
	size_t d = s->depth;
	bool rows = false, elements = false;

	while (d > 0 && s->loops[d - 1].small)
		d--;
	if (d < 2 || !s->loops[d - 1].inner_large || s->loops[d - 1].inner || !s->loops[d - 1].var)
		return;
	for (size_t k = open + 1; k < close; k++) {
		if (kw_token_same(s->t, k, s->loops[d - 1].var))
			rows = rows || is_multiplied(s->t, open, close, k);
		for (size_t o = 0; o + 1 < d; o++)
			elements = elements || (s->loops[o].unit && s->loops[o].var && kw_token_same(s->t, k, s->loops[o].var) &&
						!is_multiplied(s->t, open, close, k));
	}
	if (rows && elements)
		fact_of_loop(s, KW_M_C_STRIDED, i, &s->loops[d - 1].strided);
}

static void subscript(struct c_scan *s, size_t i)
{
	static const char *const writes[] = { "=", "+=", "-=", "*=", "++", "--", "/=", NULL };
	struct c_loop *l = s->depth ? &s->loops[s->depth - 1] : NULL;
	size_t open = i + 1, close;

	if (!kw_token_is(s->t, open, "[") || s->t->list[open].match <= open || s->t->list[i].kind != KW_TOKEN_WORD)
		return;
	close = s->t->list[open].match;
	if (s->depth && kw_tokens_hold(s->t, close + 1, close + 2, writes) && close == open + 2 &&
	    is_name(s, s->threads, s->thread_count, open + 1))
		fact(s, KW_M_C_FALSE_SHARING, i);
	if (s->depth && kw_token_is(s->t, open + 1, "omp_get_thread_num") &&
	    kw_tokens_hold(s->t, close + 1, close + 2, writes))
		fact(s, KW_M_C_FALSE_SHARING, i);
	if (l && !is_name(s, s->arrays, s->array_count, i))
		wrong_order(s, i, open, close);
	if (!l || !l->inner || !l->var || is_name(s, s->arrays, s->array_count, i))
		return;
	/* a[k * n + j] with k the innermost index, also a[k][j] */
	for (size_t k = open + 1; k < close; k++)
		if (kw_token_same(s->t, k, l->var) &&
		    ((kw_token_is(s->t, k + 1, "*") && is_stride(s->t, k + 2)) ||
		     (k > open + 1 && kw_token_is(s->t, k - 1, "*") && is_stride(s->t, k - 2)))) {
			fact_of_loop(s, KW_M_C_STRIDED, i, &l->strided);
			return;
		}
	if (close == open + 2 && kw_token_same(s->t, open + 1, l->var) && kw_token_is(s->t, close + 1, "["))
		fact_of_loop(s, KW_M_C_STRIDED, i, &l->strided);
}

/* In the body of an innermost loop, by a value that is not known when it is compiled. */
static void division(struct c_scan *s, size_t i)
{
	const struct c_loop *l = s->depth ? &s->loops[s->depth - 1] : NULL;

	if (!kw_token_is(s->t, i, "%") || s->t->list[i + 1].kind != KW_TOKEN_WORD || is_constant(s->t, i + 1))
		return;
	if (l && l->inner && i >= l->start)
		fact(s, KW_M_CODE_DIV_LOOP, i);
}

/* expf(x), or exp(x) of doubles: a call of the C library for each value. exp(x) of floats is another fault, told by itself. */
static bool is_math_call(const struct c_scan *s, size_t i, const char *const *functions)
{
	const struct kw_token *k = &s->t->list[i];

	if (k->kind != KW_TOKEN_WORD || !kw_token_is(s->t, i + 1, "("))
		return false;
	if (s->doubles && kw_tokens_hold(s->t, i, i + 1, functions))
		return true;
	for (; *functions; functions++)
		if (k->len == strlen(*functions) + 1 && memcmp(k->ptr, *functions, k->len - 1) == 0 && k->ptr[k->len - 1] == 'f')
			return true;
	return false;
}

static void doubles(struct c_scan *s, size_t i)
{
	static const char *const operators[] = { "+", "-", "*", "/", "?", ":", "*=", "+=", NULL };

	static const char *const functions[] = { "exp",	 "exp2", "expm1", "log",  "log2", "log10", "log1p", "pow",
						 "sin",	 "cos",	 "tan",	  "tanh", "sinh", "cosh",  "atan",  "asin",
						 "acos", "atan2", "erf",  "erfc", "cbrt", NULL };

	if (s->depth && s->loops[s->depth - 1].inner && i >= s->loops[s->depth - 1].start && is_math_call(s, i, functions))
		fact(s, KW_M_C_MATH_CALL, i);
	if (s->doubles || !s->depth)
		return;
	if (kw_tokens_hold(s->t, i, i + 1, functions) && kw_token_is(s->t, i + 1, "("))
		fact(s, KW_M_CODE_DOUBLE_CALL, i);
	if (kw_token_is_double(s->t, i) &&
	    (kw_tokens_hold(s->t, i - 1, i, operators) || kw_tokens_hold(s->t, i + 1, i + 2, operators)))
		fact(s, KW_M_CODE_DOUBLE_LITERAL, i);
}

void kw_read_c(const struct kw_tokens *t, size_t from, size_t to, struct kw_launch *k)
{
	struct c_scan *s = kw_arena_calloc(k->owner->arena, 1, sizeof(*s));

	if (!s)
		return;
	s->t = t;
	s->k = k;
	s->from = s->body = from;
	while (s->body < to && !kw_token_is(t, s->body, "{"))
		s->body++;
	k->value[KW_M_C_LOOPS] = k->value[KW_M_C_PARALLEL] = k->value[KW_M_CODE_DIV_LOOP] = 0;
	for (size_t i = from; i < to && i + 1 < t->count; i++) {
		while (s->depth && i > s->loops[s->depth - 1].end)
			s->depth--;
		if (t->list[i].kind == KW_TOKEN_DIRECTIVE) {
			pragma(s, i);
			continue;
		}
		declaration(s, i);
		doubles(s, i);
		division(s, i);
		if ((kw_token_is(t, i, "for") || kw_token_is(t, i, "while")) && kw_token_is(t, i + 1, "("))
			loop(s, i);
		else if (t->list[i].kind == KW_TOKEN_WORD) {
			reduction(s, i);
			memory_reduction(s, i);
			subscript(s, i);
		}
	}
	k->value[KW_M_CODE_DOUBLES] = s->doubles;
	/* A pragma with a block whose loops it does not name still makes them parallel. */
	if (s->parallel_end)
		kw_launch_add_count(k, KW_M_C_PARALLEL, 1);
}
