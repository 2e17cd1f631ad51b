/* What the text of a CUDA or OpenCL kernel says: literals, divisions, atomics, barriers, tiles of shared memory. No compiler
 * is asked, so each fact is one that the text alone decides; what needs types that it does not show is left out. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/input.h"
#include "profile/source_scan.h"

enum { MOST_ROUNDS = 32 };

static bool is_any(const struct kw_tokens *t, size_t i, const char *const *words)
{
	return kw_tokens_hold(t, i, i + 1, words);
}

const char *const kw_scan_integers[] = { "int",	   "unsigned", "long",	  "short",    "size_t",	   "uint", "ulong",
					"int32_t", "uint32_t", "int64_t", "uint64_t", "ptrdiff_t", NULL };

const struct kw_scan_name *kw_scan_find(const struct kw_scan *s, size_t i, enum kw_scan_kind kind)
{
	for (size_t n = s->name_count; n-- > 0;)
		if (s->names[n].kind == kind && kw_token_same(s->t, s->names[n].token, i))
			return &s->names[n];
	return NULL;
}

static struct kw_scan_name *add_name(struct kw_scan *s, size_t token, enum kw_scan_kind kind)
{
	if (s->name_count == KW_SCAN_NAMES)
		return NULL;
	s->names[s->name_count] = (struct kw_scan_name){ .token = token, .kind = kind };
	return &s->names[s->name_count++];
}

void kw_scan_fact(struct kw_scan *s, int metric, size_t i)
{
	kw_launch_add_count(s->k, metric, 1);
	kw_launch_place(s->k, metric, s->t->list[i].line, kw_token_line(s->t, i));
}

/* ---- declarations ---- */

/* "32", "TILE", "TILE + 1", "TILE * 2" in [from, to); 0: not known. */
static long dimension(const struct kw_scan *s, size_t from, size_t to)
{
	long a = from < to ? kw_scan_value(s, from) : 0, b = from + 2 < to ? kw_scan_value(s, from + 2) : 0;

	if (from + 1 == to)
		return a;
	if (from + 3 != to || a == 0 || b == 0 || a > 1 << 20 || b > 1 << 20)
		return 0;
	return kw_token_is(s->t, from + 1, "+")	  ? a + b
	       : kw_token_is(s->t, from + 1, "*") ? a * b
	       : kw_token_is(s->t, from + 1, "-") ? a - b
						  : 0;
}

/* `float tile[32][33], row[32];` from the first name on. */
static void array(struct kw_scan *s, size_t i, bool shared)
{
	int bytes = kw_token_element_bytes(s->t, i - 1);

	while (kw_token_is(s->t, i + 1, "[")) {
		struct kw_scan_name *n = add_name(s, i, shared ? KW_SCAN_SHARED : KW_SCAN_LOCAL_ARRAY);
		size_t at = i + 1;

		if (!n)
			return;
		n->bytes = bytes;
		while (kw_token_is(s->t, at, "[") && s->t->list[at].match > at) {
			n->before = n->last;
			n->last = dimension(s, at + 1, s->t->list[at].match);
			at = s->t->list[at].match + 1;
		}
		if (!kw_token_is(s->t, at, ",") || at + 1 >= s->to || s->t->list[at + 1].kind != KW_TOKEN_WORD)
			return;
		i = at + 1;
	}
}

/* Behind the expression at i that a declaration begins with. */
static size_t initial_end(const struct kw_scan *s, size_t i)
{
	while (i < s->to && !kw_token_is(s->t, i, ";") && !kw_token_is(s->t, i, ","))
		i = s->t->list[i].match > i ? s->t->list[i].match + 1 : i + 1;
	return i;
}

/* `int i = EXPRESSION`: an integer, and one that runs with the lanes where it is the thread's index plus something. Returns what is
 * behind it. */
static size_t one_integer(struct kw_scan *s, size_t i)
{
	static const char *const breaks[] = { "/", "*", "[", "?", NULL };
	size_t end = i + 2;
	bool lane;

	add_name(s, i, KW_SCAN_INTEGER);
	if (!kw_token_is(s->t, i + 1, "="))
		return i + 1;
	end = initial_end(s, end);
	lane = kw_scan_holds_lane(s, i + 2, end);
	/* blockIdx.x * blockDim.x + threadIdx.x multiplies, but not the lane. */
	if (lane && kw_tokens_hold(s->t, i + 2, end, breaks)) {
		for (size_t k = i + 2; k < end && lane; k++) {
			bool here = kw_scan_holds_lane(s, k, k + 3 < end ? k + 3 : end) &&
				    (kw_token_is(s->t, k, "threadIdx") || kw_scan_find(s, k, KW_SCAN_LANE));
			size_t after = kw_token_is(s->t, k, "threadIdx") ? k + 3 : k + 1;

			if (here && (is_any(s->t, after, breaks) || is_any(s->t, k - 1, breaks)))
				lane = false;
		}
	}
	if (lane)
		add_name(s, i, KW_SCAN_LANE);
	else if (kw_scan_is_far(s, i + 2, end))
		add_name(s, i, KW_SCAN_FAR);
	return end;
}

/* `int i = EXPRESSION, k, m = EXPRESSION;`. A parameter has its type behind the comma, so it ends there. */
static void integer(struct kw_scan *s, size_t i)
{
	static const char *const kept[] = { "=", ",", ";", NULL };
	size_t end = one_integer(s, i);

	while (end + 2 < s->to && kw_token_is(s->t, end, ",") && s->t->list[end + 1].kind == KW_TOKEN_WORD &&
	       is_any(s->t, end + 2, kept))
		end = one_integer(s, end + 1);
}

static void declaration(struct kw_scan *s, size_t i)
{
	static const char *const kept[] = { "[", ";", "=", ",", ")", NULL };
	size_t back = i;
	bool shared = false, constant = false;

	if (s->t->list[i].kind != KW_TOKEN_WORD || !is_any(s->t, i + 1, kept) || i == 0)
		return;
	if (kw_token_is(s->t, i - 1, "*") && kw_token_is(s->t, i + 1, "="))
		add_name(s, i, kw_scan_is_far(s, i + 2, initial_end(s, i + 2)) ? KW_SCAN_FAR : KW_SCAN_POINTER);
	if (s->t->list[i - 1].kind != KW_TOKEN_WORD)
		return;
	while (back > s->from && (s->t->list[back - 1].kind == KW_TOKEN_WORD || kw_token_is(s->t, back - 1, "*")) &&
	       i - back < 6) {
		back--;
		shared = shared || kw_token_is(s->t, back, "__shared__") || kw_token_is(s->t, back, "__local") ||
			 kw_token_is(s->t, back, "local");
		constant = constant || kw_token_is(s->t, back, "constexpr");
	}
	if (kw_token_is(s->t, i - 1, "return") || kw_token_is(s->t, i - 1, "else"))
		return;
	if (kw_token_is(s->t, i + 1, "[")) {
		array(s, i, shared);
		return;
	}
	/* `__shared__ float sum;` is a tile of one. */
	if (shared)
		add_name(s, i, KW_SCAN_SHARED);
	if (!is_any(s->t, i - 1, kw_scan_integers) && !kw_token_is(s->t, i - 1, "auto"))
		return;
	if (constant)
		add_name(s, i, KW_SCAN_CONSTANT);
	else
		integer(s, i);
}

/* ---- facts ---- */

/* atomicAdd(&bins[threadIdx.x], v), atomicAdd(out + row * n + threadIdx.x, v): the lanes of a warp have an address each. */
static bool is_own_address(const struct kw_scan *s, size_t from, size_t to)
{
	static const char *const folds[] = { "%", "/", ">>", "&", "[", NULL }, *const scales[] = { "%", "/", ">>", "&", "*", NULL };
	bool pointer = !kw_token_is(s->t, from, "&");

	for (size_t k = from; k < to; k++) {
		size_t close = s->t->list[k].match;

		if (kw_token_is(s->t, k, "[") && close > k && !pointer)
			return kw_scan_holds_lane(s, k + 1, close) && !kw_tokens_hold(s->t, k + 1, close, folds);
		if (kw_token_is(s->t, k, "[") && close > k) {
			k = close;
			continue;
		}
		if (pointer && kw_token_is(s->t, k, "threadIdx") && kw_token_is(s->t, k + 2, "x") && !is_any(s->t, k - 1, scales) && !is_any(s->t, k + 3, scales))
			return true;
		if (pointer && s->t->list[k].kind == KW_TOKEN_WORD && kw_scan_find(s, k, KW_SCAN_LANE) && !is_any(s->t, k - 1, scales) && !is_any(s->t, k + 1, scales))
			return true;
	}
	return false;
}

static void atomic(struct kw_scan *s, size_t i)
{
	size_t end = s->t->list[i + 1].match, address = i + 2;
	bool shared = false;

	for (; address < end && !kw_token_is(s->t, address, ","); address++)
		shared = shared || kw_scan_find(s, address, KW_SCAN_SHARED);
	if (shared) {
		kw_scan_fact(s, KW_M_CODE_ATOMIC_SHARED, i);
		if (i >= s->guard_end && s->loop_count)
			kw_scan_fact(s, KW_M_CODE_ATOMIC_SHARED_LOOP, i);
		return;
	}
	kw_scan_fact(s, KW_M_CODE_ATOMIC_GLOBAL, i);
	if (i < s->guard_end)
		kw_launch_add_count(s->k, KW_M_CODE_ATOMIC_GUARDED, 1);
	else if (is_own_address(s, i + 2, address))
		kw_launch_add_count(s->k, KW_M_CODE_ATOMIC_OWN, 1);
	else if (s->loop_count)
		kw_scan_fact(s, KW_M_CODE_ATOMIC_LOOP, i);
}

/* Elements of 8 or 16 bytes are moved for 16 or 8 lanes at a time, which is what they would need without any conflict. */
static int wide_ways(long words, int bytes)
{
	int lanes[32] = { 0 }, ways = 0;

	for (long lane = 0; lane < 128 / bytes; lane++)
		for (int w = 0; w < bytes / 4; w++) {
			int bank = (int)((lane * words + w) & 31);

			lanes[bank]++;
			ways = lanes[bank] > ways ? lanes[bank] : ways;
		}
	return ways;
}

/* Lanes side by side, `stride` elements apart: worse ones replace better ones. */
static void conflict(struct kw_scan *s, size_t i, long stride, int bytes)
{
	long words = stride * bytes / 4;
	int ways;

	if (stride <= 0 || stride > 1 << 20 || (bytes < 4 && stride * bytes % 4 != 0))
		return;
	ways = bytes > 4 ? wide_ways(words, bytes) : kw_bank_conflict_ways((int)words, 0);
	if (ways < 2 || (kw_launch_has(s->k, KW_M_CODE_CONFLICT_WAYS) && s->k->value[KW_M_CODE_CONFLICT_WAYS] >= ways))
		return;
	s->k->value[KW_M_CODE_CONFLICT_WAYS] = ways;
	s->k->value[KW_M_CODE_CONFLICT_STRIDE] = (double)words;
	kw_launch_place(s->k, KW_M_CODE_CONFLICT_WAYS, s->t->list[i].line, kw_token_line(s->t, i));
}

/* How many fields `struct NAME { … }` has in this file; 0: it is not here. */
static size_t fields_of(const struct kw_scan *s, size_t type)
{
	for (size_t i = 0; i + 2 < s->t->count; i++) {
		size_t open = kw_token_is(s->t, i + 1, "{") ? i + 1 : i + 2, n = 0;

		if (!kw_token_is(s->t, i, "struct") || !kw_token_is(s->t, open, "{") || s->t->list[open].match <= open)
			continue;
		if (!(open == i + 2 && kw_token_same(s->t, i + 1, type)) && !kw_token_same(s->t, s->t->list[open].match + 1, type))
			continue;
		for (size_t k = open; k < s->t->list[open].match; k++)
			n += kw_token_is(s->t, k, ";") || kw_token_is(s->t, k, ",");
		return n;
	}
	return 0;
}

/* p[i].x with a lane's i and a pointer to a structure of three fields or more that this file declares. */
static bool is_structure_access(const struct kw_scan *s, size_t i, size_t close)
{
	if (!kw_token_is(s->t, close + 1, "."))
		return false;
	for (size_t k = s->from + 2; k < s->to; k++) {
		size_t type = k - 1;

		if (!kw_token_same(s->t, k, i))
			continue;
		while (type > s->from && (kw_token_is(s->t, type, "__restrict__") || kw_token_is(s->t, type, "restrict") ||
					  kw_token_is(s->t, type, "const") || kw_token_is(s->t, type, "*")))
			type--;
		return kw_token_is(s->t, k - 1, "*") + kw_token_is(s->t, k - 2, "*") > 0 && fields_of(s, type) >= 3;
	}
	return false;
}

static void subscript(struct kw_scan *s, size_t i)
{
	const struct kw_scan_name *tile = kw_scan_find(s, i, KW_SCAN_SHARED), *local = kw_scan_find(s, i, KW_SCAN_LOCAL_ARRAY);
	size_t a = i + 1, a_end, b, b_end;
	long factor;

	if (!kw_token_is(s->t, a, "[") || s->t->list[a].match <= a || s->t->list[i].kind != KW_TOKEN_WORD ||
	    s->t->list[i - 1].kind == KW_TOKEN_WORD)
		return;
	a_end = s->t->list[a].match;
	b = a_end + 1;
	b_end = kw_token_is(s->t, b, "[") ? s->t->list[b].match : 0;
	if (tile && b_end > b) {
		if (kw_scan_holds_lane(s, a + 1, a_end) && !kw_scan_holds_lane(s, b + 1, b_end) && kw_scan_lane_factor(s, a + 1, a_end) == 0)
			conflict(s, i, tile->last, tile->bytes);
		return;
	}
	factor = kw_scan_lane_factor(s, a + 1, a_end);
	if (tile) {
		if (factor > 1)
			conflict(s, i, factor, tile->bytes);
		return;
	}
	if (local) {
		for (size_t k = a + 1; k < a_end; k++) {
			bool fixed = s->t->list[k].kind != KW_TOKEN_WORD || kw_scan_is_constant(s, k);

			for (size_t l = 0; l < s->loop_count && !fixed; l++)
				fixed = s->loops[l].fixed && s->loops[l].var && kw_token_same(s->t, s->loops[l].var, k);
			if (!fixed) {
				kw_scan_fact(s, KW_M_CODE_DYNAMIC_ARRAY, i);
				return;
			}
		}
		return;
	}
	if ((factor == -1 || factor > KW_SCAN_NEAR || kw_scan_begins_far(s, i, a + 1, a_end)) && s->strided_count < KW_SCAN_STRIDED) {
		s->strided[s->strided_count].depth = s->loop_count;
		s->strided[s->strided_count++].token = i;
	} else if (factor == 0 && kw_scan_holds_lane(s, a + 1, a_end) && is_structure_access(s, i, a_end))
		kw_scan_fact(s, KW_M_CODE_AOS, i);
}

/* acc += a[…] * b[…] in a loop, where one index steps by rows. */
static void product(struct kw_scan *s, size_t i)
{
	size_t end = i, stars = 0, arrays = 0, rows = 0;

	if (!kw_token_is(s->t, i, "+=") || s->loop_count == 0)
		return;
	for (end = i + 1; end < s->to && !kw_token_is(s->t, end, ";"); end++) {
		if (kw_token_is(s->t, end, "[") && s->t->list[end].match > end) {
			static const char *const star[] = { "*", NULL };

			arrays++;
			rows += kw_tokens_hold(s->t, end, s->t->list[end].match, star) ||
				kw_token_is(s->t, s->t->list[end].match + 1, "[");
			end = s->t->list[end].match;
		} else if (kw_token_is(s->t, end, "*")) {
			stars++;
		}
	}
	if (stars && arrays >= 2 && rows)
		kw_launch_add_count(s->k, KW_M_CODE_MATMUL, 1);
}

/* sum += as[…] * bs[…], sum = fmaf(as[…], bs[…], sum) in a loop, both factors from shared memory and the sum no array. */
static void shared_product(struct kw_scan *s, size_t i)
{
	static const char *const fused[] = { "fmaf", "fma", "mad", "__fmaf_rn", NULL };
	static const char *const others[] = { "/", "?", "-", ";", NULL };
	bool adds = kw_token_is(s->t, i, "+=") && s->t->list[i - 1].kind == KW_TOKEN_WORD, fma = is_any(s->t, i, fused) && kw_token_is(s->t, i + 1, "(");
	size_t end = fma ? s->t->list[i + 1].match : i, tiles = 0, names = 0, stars = 0;

	if ((!adds && !fma) || s->loop_count == 0)
		return;
	while (adds && end < s->to && !kw_token_is(s->t, end, ";"))
		end++;
	for (size_t k = i + 1; k < end; k++) {
		bool array = s->t->list[k].kind == KW_TOKEN_WORD && kw_token_is(s->t, k + 1, "[") && s->t->list[k + 1].match > k + 1;

		stars += kw_token_is(s->t, k, "*");
		names += s->t->list[k].kind == KW_TOKEN_WORD;
		if (is_any(s->t, k, others))
			return;
		if (!array)
			continue;
		tiles += kw_scan_find(s, k, KW_SCAN_SHARED) != NULL;
		while (kw_token_is(s->t, k + 1, "[") && s->t->list[k + 1].match > k + 1)
			k = s->t->list[k + 1].match;
	}
	if (tiles == 2 && names == (fma ? 3 : 2) && stars == (adds ? 1 : 0))
		kw_scan_fact(s, KW_M_CODE_SHARED_PRODUCT, i);
}

static void loop(struct kw_scan *s, size_t i)
{
	size_t open = i + 1, close = s->t->list[open].match, at = open + 1;
	struct kw_scan_loop *l;

	if (s->loop_count == KW_SCAN_LOOPS || close <= open)
		return;
	l = &s->loops[s->loop_count++];
	*l = (struct kw_scan_loop){ .end = kw_token_statement_end(s->t, i) };
	s->deepest = s->loop_count > s->deepest ? s->loop_count : s->deepest;
	if (!kw_token_is(s->t, i, "for"))
		return;
	while (at < close && !kw_token_is(s->t, at, "="))
		at++;
	l->var = at < close && at > open + 1 ? at - 1 : 0;
	while (at < close && !kw_token_is(s->t, at, "<") && !kw_token_is(s->t, at, "<=") &&
	       !kw_token_is(s->t, at, ">") && !kw_token_is(s->t, at, ">="))
		at++;
	l->fixed = at + 1 < close && kw_scan_is_constant(s, at + 1);
	/* A few rounds, as over the warps of a block, are how a reduction ends. */
	if (i < s->guard_end && !(l->fixed && kw_scan_value(s, at + 1) > 0 && kw_scan_value(s, at + 1) <= MOST_ROUNDS))
		kw_scan_fact(s, KW_M_CODE_SERIAL, i);
}

/* if (tid % (2 * k) == 0) in a loop, or before one: neighbouring lanes part. A constant multiple of a warp parts whole warps only. */
static void divergent(struct kw_scan *s, size_t open, size_t close)
{
	static const char *const loops[] = { "for", "while", NULL };
	bool weighs = s->loop_count || kw_tokens_hold(s->t, close + 1, kw_token_statement_end(s->t, close + 1), loops);

	for (size_t k = open + 1; k + 1 < close; k++) {
		bool lane = (s->t->list[k].kind == KW_TOKEN_WORD && kw_scan_find(s, k, KW_SCAN_LANE)) ||
			    (kw_token_is(s->t, k, "x") && kw_token_is(s->t, k - 2, "threadIdx"));
		long by = k + 2 < close ? kw_scan_value(s, k + 2) : 0;

		if (!lane || !weighs || !(kw_token_is(s->t, k + 1, "%") || kw_token_is(s->t, k + 1, "&")))
			continue;
		if (kw_token_is(s->t, k + 1, "%") ? by % 32 != 0 || by == 0 : by > 0 && by < 31 && (by & (by + 1)) == 0) {
			kw_scan_fact(s, KW_M_CODE_DIVERGENT, open);
			return;
		}
	}
}

/* `t == 0`, `0 == t`, `!t`, `t < 1`, `t % 32 == 0`, `(t & 31) == 0` of a variable that holds a thread's index: not `x[t] == 0`. */
static bool is_first_lane(const struct kw_scan *s, size_t k)
{
	static const char *const begins[] = { "(", "&&", "||", "!", NULL };
	static const char *const parts[] = { "%", "&", NULL };
	bool zero_first = kw_token_is(s->t, k - 1, "==") && kw_token_is(s->t, k - 2, "0");
	size_t next = k + 1;

	if (s->t->list[k].kind != KW_TOKEN_WORD || !kw_scan_find(s, k, KW_SCAN_LANE) || !(zero_first || is_any(s->t, k - 1, begins)))
		return false;
	if (kw_token_is(s->t, k - 1, "!") || zero_first)
		return kw_token_is(s->t, next, ")") || kw_token_is(s->t, next, "&&") || kw_token_is(s->t, next, "||");
	if (is_any(s->t, next, parts)) {
		long by = kw_scan_value(s, next + 1) + kw_token_is(s->t, next, "&");

		if (by > 1 && by % 32 != 0)
			return false;
		next += 2;
	}
	if (next > k + 1 && kw_token_is(s->t, next, ")"))
		next++;
	return (kw_token_is(s->t, next, "==") && kw_token_is(s->t, next + 1, "0")) ||
	       (next == k + 1 && kw_token_is(s->t, next, "<") && kw_token_is(s->t, next + 1, "1"));
}

static void guard(struct kw_scan *s, size_t i)
{
	static const char *const names[] = { "threadIdx",    "lane",   "lane_id",   "laneId", "tid",
					     "get_local_id", "laneid", "warp_lane", NULL };
	size_t open = i + 1, close = s->t->list[open].match;
	bool lane = false;

	if (close > open)
		divergent(s, open, close);
	for (size_t k = open + 1; k < close && !lane; k++)
		lane = is_first_lane(s, k);
	if (lane)
		s->guard_end = kw_token_statement_end(s->t, close + 1) + 1;
	if (close <= open || !kw_tokens_hold(s->t, open, close, names))
		return;
	for (size_t k = open; k + 1 < close; k++)
		if ((kw_token_is(s->t, k, "==") && kw_token_is(s->t, k + 1, "0")) ||
		    (kw_token_is(s->t, k, "!") && k > open))
			s->guard_end = kw_token_statement_end(s->t, close + 1) + 1;
}

static void words(struct kw_scan *s, size_t i)
{
	static const char *const barriers[] = { "__syncthreads", "barrier", "work_group_barrier", "__syncthreads_or",
						NULL };
	static const char *const matrix[] = { "mma_sync", "wgmma", "load_matrix_sync", "tcgen05", "rocwmma", NULL };
	static const char *const async[] = { "__pipeline_memcpy_async", "memcpy_async",
					     "cp_async_bulk_tensor_2d_global_to_shared", NULL };
	static const char *const halves[] = { "half",		"__half",   "half2",  "__half2", "__nv_bfloat16",
					      "__nv_bfloat162", "bfloat16", "kw_f16", "kw_bf16", NULL };
	static const char *const doubles[] = { "double", "double2", "double4", "float64_t", NULL };

	if (is_any(s->t, i, barriers) && kw_token_is(s->t, i + 1, "(")) {
		kw_scan_fact(s, KW_M_CODE_BARRIER, i);
		if (s->loop_count)
			kw_scan_fact(s, KW_M_CODE_BARRIER_LOOP, i);
	} else if (is_any(s->t, i, matrix) || kw_token_is_matrix_builtin(s->t, i)) {
		kw_scan_fact(s, KW_M_CODE_MATRIX, i);
	} else if (is_any(s->t, i, async)) {
		kw_scan_fact(s, KW_M_CODE_ASYNC, i);
	} else if (is_any(s->t, i, halves)) {
		kw_launch_add_count(s->k, KW_M_CODE_HALF, 1);
	} else if (is_any(s->t, i, doubles)) {
		kw_launch_add_count(s->k, KW_M_CODE_DOUBLES, 1);
	} else if (kw_token_is_atomic(s->t, i)) {
		atomic(s, i);
	}
}

/* Inline assembly says what it is in a string. */
static void assembly(struct kw_scan *s, size_t i)
{
	const struct kw_token *k = &s->t->list[i];

	if (memmem(k->ptr, k->len, "mma.sync", 8) || memmem(k->ptr, k->len, "wgmma.mma", 9) ||
	    memmem(k->ptr, k->len, "tcgen05.mma", 11))
		kw_scan_fact(s, KW_M_CODE_MATRIX, i);
	if (memmem(k->ptr, k->len, "cp.async", 8))
		kw_scan_fact(s, KW_M_CODE_ASYNC, i);
}

static void body(struct kw_scan *s)
{
	for (size_t i = s->from; i < s->to; i++) {
		while (s->loop_count && i > s->loops[s->loop_count - 1].end)
			s->loop_count--;
		declaration(s, i);
		switch (s->t->list[i].kind) {
		case KW_TOKEN_NUMBER:
			kw_scan_literal(s, i);
			break;
		case KW_TOKEN_STRING:
			assembly(s, i);
			break;
		case KW_TOKEN_MARK:
			kw_scan_division(s, i);
			product(s, i);
			shared_product(s, i);
			break;
		case KW_TOKEN_WORD:
			if ((kw_token_is(s->t, i, "for") || kw_token_is(s->t, i, "while")) &&
			    kw_token_is(s->t, i + 1, "("))
				loop(s, i);
			else if (kw_token_is(s->t, i, "if") && kw_token_is(s->t, i + 1, "("))
				guard(s, i);
			else {
				words(s, i);
				shared_product(s, i);
				subscript(s, i);
			}
			break;
		default:
			break;
		}
	}
}

/* What is done once around two loops more is no part of what takes the time: the query of an attention kernel, read before its loops. */
static void strided(struct kw_scan *s)
{
	for (size_t n = 0; n < s->strided_count; n++)
		if (s->strided[n].depth + 2 > s->deepest)
			kw_scan_fact(s, KW_M_CODE_STRIDED, s->strided[n].token);
}

/* ---- functions ---- */

/* __launch_bounds__(256, 2) between `from` and the name. */
static void bounds(struct kw_scan *s, size_t from, size_t name)
{
	for (size_t i = from; i + 2 < name; i++) {
		size_t end = s->t->list[i + 1].match;

		if (!kw_token_is(s->t, i, "__launch_bounds__"))
			continue;
		if (kw_scan_value(s, i + 2) > 0)
			kw_launch_set(s->k, KW_M_BOUND_THREADS, (double)kw_scan_value(s, i + 2));
		if (kw_token_is(s->t, i + 3, ",") && i + 4 < end && kw_scan_value(s, i + 4) > 0)
			kw_launch_set(s->k, KW_M_BOUND_BLOCKS, (double)kw_scan_value(s, i + 4));
	}
}

/* template <int N, …>: constants. */
static void template_names(struct kw_scan *s, size_t from, size_t name)
{
	for (size_t i = from; i + 1 < name; i++)
		if (is_any(s->t, i, kw_scan_integers) && s->t->list[i + 1].kind == KW_TOKEN_WORD &&
		    (kw_token_is(s->t, i + 2, ",") || kw_token_is(s->t, i + 2, ">") || kw_token_is(s->t, i + 2, "=")))
			add_name(s, i + 1, KW_SCAN_CONSTANT);
}

/* What threadIdx.x was called in HIP at first: a name of its own. */
static void hip_names(struct kw_scan *s)
{
	for (size_t i = s->from; i < s->to; i++)
		if (kw_token_is(s->t, i, "hipThreadIdx_x")) {
			add_name(s, i, KW_SCAN_INTEGER);
			add_name(s, i, KW_SCAN_LANE);
			return;
		}
}

static void gpu_function(const struct kw_tokens *t, size_t from, size_t name, size_t open, struct kw_launches *out,
			 enum kw_input_kind kind)
{
	static const int zero[] = { KW_M_CODE_DOUBLES, KW_M_CODE_DOUBLE_LITERAL, KW_M_CODE_DIV,
				    KW_M_CODE_BARRIER, KW_M_CODE_ATOMIC_GLOBAL,	 KW_M_CODE_ATOMIC_SHARED,
				    KW_M_CODE_MATRIX,  KW_M_CODE_ASYNC };
	struct kw_scan *s = kw_arena_calloc(out->arena, 1, sizeof(*s));
	struct kw_str n = { t->list[name].ptr, t->list[name].len };

	if (!s || !(s->k = kw_launches_add(out, n, t->list[name].line)))
		return;
	s->t = t;
	s->opencl = kind == KW_INPUT_OPENCL;
	s->from = name;
	s->to = t->list[open].match > open ? t->list[open].match : t->count;
	s->k->value[KW_M_GPU] = 1;
	if (kind == KW_INPUT_OPENCL)
		s->k->value[KW_M_OPENCL] = 1;
	if (kind == KW_INPUT_HIP)
		s->k->value[KW_M_HIP] = 1;
	for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		s->k->value[zero[i]] = 0;
	template_names(s, from, name);
	hip_names(s);
	bounds(s, from, name);
	body(s);
	strided(s);
}

static void c_function(const struct kw_tokens *t, size_t name, size_t open, struct kw_launches *out)
{
	struct kw_str n = { t->list[name].ptr, t->list[name].len };
	struct kw_launch *k;

	if (t->list[open].match <= open)
		return;
	k = kw_launches_add(out, n, t->list[name].line);
	if (!k)
		return;
	k->value[KW_M_GPU] = 0;
	kw_read_c(t, name, t->list[open].match, k);
	if (!(k->value[KW_M_C_LOOPS] > 0) && out->count > 1)
		out->count--; /* a helper without loops says nothing */
}

/* "(16, 16)" whose parenthesis is at i: 256; 0: not all of it are numbers. */
static long product_of(const struct kw_tokens *t, size_t i)
{
	size_t end = t->list[i].match;
	long v = 1;

	if (!kw_token_is(t, i, "(") || end <= i + 1)
		return 0;
	for (i++; i < end && v > 0 && v < 1 << 24; i += 2) {
		long one = t->list[i].kind == KW_TOKEN_NUMBER ? strtol(t->list[i].ptr, NULL, 0) : 0;

		v = kw_token_is(t, i + 1, i + 1 == end ? ")" : ",") && one > 0 && one < 1 << 16 ? v * one : 0;
	}
	return v;
}

static bool changes(const struct kw_tokens *t, size_t i)
{
	static const char *const marks[] = { "=", ".", "++", "--", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=" };

	for (size_t k = 0; k < sizeof(marks) / sizeof(marks[0]); k++)
		if (kw_token_is(t, i, marks[k]))
			return true;
	return false;
}

/* What a name of the host's code stands for, where it is set once and by numbers: `dim3 block(16, 16)`, `const int threads = 8`. */
static long number_of(const struct kw_tokens *t, size_t name)
{
	long v = 0;
	int set = 0;

	for (size_t i = 1; i + 2 < t->count; i++) {
		if (!kw_token_same(t, i, name))
			continue;
		if (kw_token_is(t, i - 1, "dim3") && kw_token_is(t, i + 1, "(")) {
			v = product_of(t, i + 1);
			set++;
		} else if (kw_token_is(t, i + 1, "=") && t->list[i + 2].kind == KW_TOKEN_NUMBER && kw_token_is(t, i + 3, ";")) {
			v = strtol(t->list[i + 2].ptr, NULL, 0);
			set++;
		} else if (t->list[i - 1].kind == KW_TOKEN_WORD || kw_token_is(t, i - 1, "&") || changes(t, i + 1)) {
			return 0; /* a parameter of that name, or another value */
		}
	}
	return set == 1 ? v : 0;
}

/* Between `<<<`, commas and `>>>`: a number alone, dim3 of numbers, or a name for such. 0: something else. */
static long launch_number(const struct kw_tokens *t, size_t i)
{
	size_t end = i + 1;
	long v = 0;

	if (i >= t->count)
		return 0;
	if (t->list[i].kind == KW_TOKEN_NUMBER) {
		v = strtol(t->list[i].ptr, NULL, 0);
	} else if (kw_token_is(t, i, "dim3") && kw_token_is(t, i + 1, "(")) {
		v = product_of(t, i + 1);
		end = t->list[i + 1].match + 1;
	} else if (t->list[i].kind == KW_TOKEN_WORD) {
		v = number_of(t, i);
	}
	return kw_token_is(t, end, ",") || kw_token_is(t, end, ">>>") ? v : 0;
}

/* Behind the comma that ends the argument at i; past the end where none does. */
static size_t next_argument(const struct kw_tokens *t, size_t i)
{
	for (; i < t->count && !kw_token_is(t, i, ",") && !kw_token_is(t, i, ">>>") && !kw_token_is(t, i, ";"); i++)
		if (t->list[i].match > i)
			i = t->list[i].match;
	return kw_token_is(t, i, ",") ? i + 1 : t->count;
}

static void launches(const struct kw_tokens *t, struct kw_launches *out)
{
	for (size_t i = 1; i + 2 < t->count; i++) {
		long blocks, threads;

		if (!kw_token_is(t, i, "<<<"))
			continue;
		blocks = launch_number(t, i + 1);
		threads = launch_number(t, next_argument(t, i + 1));
		for (size_t n = 0; n < out->count; n++) {
			struct kw_launch *k = out->list[n];

			if (!kw_str_eqz((struct kw_str){ t->list[i - 1].ptr, t->list[i - 1].len }, k->kernel))
				continue;
			if (blocks > 0) {
				kw_launch_set(k, KW_M_CODE_BLOCKS_FIXED, (double)blocks);
				kw_launch_place(k, KW_M_CODE_BLOCKS_FIXED, t->list[i].line, kw_token_line(t, i));
			}
			if (threads > 0) {
				kw_launch_set(k, KW_M_CODE_THREADS_FIXED, (double)threads);
				kw_launch_place(k, KW_M_CODE_THREADS_FIXED, t->list[i].line, kw_token_line(t, i));
			}
		}
	}
}

void kw_read_source(enum kw_input_kind kind, const char *text, size_t len, struct kw_launches *out)
{
	static const char *const marks[] = { "__global__", "__device__", "__kernel", "kernel", NULL };
	static const char *const no_function[] = {
		"if", "for", "while", "switch", "sizeof", "return", "defined", "__launch_bounds__", "__attribute__",
		NULL
	};
	struct kw_tokens t;

	out->form = kw_input_name(kind);
	if (!kw_tokens_read(&t, text, len, out->arena)) {
		out->full = true;
		return;
	}
	if (t.full)
		kw_launches_note(out, 0, "the file is very long; only its first part was read");
	for (size_t i = 1; i + 1 < t.count; i++) {
		size_t close, from;

		if (t.list[i].kind != KW_TOKEN_WORD || !kw_token_is(&t, i + 1, "(") || is_any(&t, i, no_function))
			continue;
		close = t.list[i + 1].match;
		if (close <= i + 1 || !kw_token_is(&t, close + 1, "{"))
			continue;
		from = kw_token_declaration_start(&t, i);
		if (kind == KW_INPUT_C)
			c_function(&t, i, close + 1, out);
		else if (kw_tokens_hold(&t, from, i, marks))
			gpu_function(&t, from, i, close + 1, out, kind);
		else
			continue;
		if (t.list[close + 1].match > close)
			i = t.list[close + 1].match;
	}
	if (kind != KW_INPUT_C) {
		launches(&t, out);
		kw_read_host(&t, out);
	}
	if (out->count == 0)
		kw_launches_note(out, 0, "there is no kernel or function with a body in this file");
}
