/* eval_contract.c - contractions of two operands: C[batch, m, n] = sum over k of A[batch, m, k] B[batch, k, n].
 *
 * Letters in both operands and the output are batch, in one operand and the output m or n, in both operands only k. The
 * sum goes in blocks of k, so that a box of few elements reads only its rows and columns, and a large one stays in cache. */
#include "expr/eval_internal.h"

#include <string.h>

#define BLOCK_K 256
#define MAX_LETTERS (2 * KW_MAX_RANK)

struct contraction {
	int letters;
	char letter[MAX_LETTERS];
	int64_t start[MAX_LETTERS], count[MAX_LETTERS];   /* ranges of output letters; sums: whole */
	bool sum[MAX_LETTERS];
	int where[2][MAX_LETTERS];                        /* axis in the operand or -1 */
	bool one[2][MAX_LETTERS];                         /* size 1 there */
	int out[MAX_LETTERS];                             /* axis in the output or -1 */
};

static int letter_at(const char *s, char l)
{
	const char *p = strchr(s, l);

	return p && l ? (int)(p - s) : -1;
}

static void analyse(const struct ctx *c, const struct kw_node *n, const struct box *x, struct contraction *t)
{
	struct labels l;
	const char *side[2];

	contract_labels(n, &l);
	side[0] = l.out;
	side[1] = l.sum;
	*t = (struct contraction){ 0 };
	for (int s = 0; s < 2; s++) {
		for (const char *p = side[s]; *p; p++) {
			int i = t->letters++;
			t->letter[i] = *p;
			t->sum[i] = s == 1;
			t->out[i] = s == 0 ? (int)(p - l.out) : -1;
			t->start[i] = s == 0 ? x->start[t->out[i]] : 0;
			t->count[i] = s == 0 ? x->count[t->out[i]] : 1;
			for (int k = 0; k < 2; k++) {
				const struct kw_shape *shape = node_shape(c, n->args[k]);
				t->where[k][i] = letter_at(l.in[k], *p);
				if (t->where[k][i] < 0)
					continue;
				t->one[k][i] = shape->dim[t->where[k][i]] == 1;
				if (s == 1 && shape->dim[t->where[k][i]] != 1)
					t->count[i] = shape->dim[t->where[k][i]];
			}
		}
	}
}

/* The operand's box for these letter ranges, and its stride per letter. */
static const double *operand(struct ctx *c, const struct kw_node *n, const struct contraction *t, int k,
			     const int64_t *start, const int64_t *count, int64_t *stride)
{
	const struct kw_node *a = n->args[k];
	struct box x;
	int64_t step[KW_MAX_RANK], s = 1;

	for (int i = 0; i < t->letters; i++) {
		int axis = t->where[k][i];
		if (axis < 0)
			continue;
		x.start[axis] = t->one[k][i] ? 0 : start[i];
		x.count[axis] = t->one[k][i] ? 1 : count[i];
	}
	for (int i = a->rank - 1; i >= 0; i--) {
		step[i] = s;
		s *= x.count[i];
	}
	for (int i = 0; i < t->letters; i++)
		stride[i] = t->where[k][i] < 0 || t->one[k][i] ? 0 : step[t->where[k][i]];
	return eval_operand(c, n, k, &x);
}

/* Adds the innermost pair of letters: j (output, or -1) and the sum letter s (or -1). */
struct core {
	const struct contraction *t;
	const int64_t *count;
	const int64_t *sa, *sb, *sc;
	enum rounding round;
	int order[MAX_LETTERS], orders;    /* loops from the outermost to the innermost */
};

static void inner_loop(const struct core *k, int i, const double *a, const double *b, double *o)
{
	int64_t n = k->count[i], sa = k->sa[i], sb = k->sb[i], so = k->sc[i];

	if (so == 1 && sa == 0 && sb == 1) {
		vec_axpy(k->round, *a, b, o, n);
	} else if (so == 1 && sb == 0 && sa == 1) {
		vec_axpy(k->round, *b, a, o, n);
	} else if (so == 0 && sa == 1 && sb == 1 && k->round == ROUND_NONE) {
		*o += vec_dot(a, b, n);
	} else {
		for (int64_t j = 0; j < n; j++)
			o[j * so] = rounded(k->round, o[j * so] + a[j * sa] * b[j * sb]);
	}
}

/* Four steps of a sum at once, where the loop inside it is y += a x: y is read and written once. Returns the steps. */
static int64_t four_steps(const struct core *k, int i, int inner, const double *a, const double *b, double *o)
{
	int64_t j = 0, sa = k->sa[i], sb = k->sb[i], n = k->count[inner];
	bool left = k->sa[inner] == 0 && k->sb[inner] == 1, right = k->sb[inner] == 0 && k->sa[inner] == 1;

	if (k->sc[i] != 0 || k->sc[inner] != 1 || !(left || right))
		return 0;
	for (; j + 4 <= k->count[i]; j += 4) {
		if (left)
			vec_axpy4(k->round, a + j * sa, sa, b + j * sb, sb, o, n);
		else
			vec_axpy4(k->round, b + j * sb, sb, a + j * sa, sa, o, n);
	}
	return j;
}

static void loops(const struct core *k, int depth, const double *a, const double *b, double *o)
{
	int i = k->order[depth];
	int64_t j = 0;

	if (depth + 1 == k->orders) {
		inner_loop(k, i, a, b, o);
		return;
	}
	if (depth + 2 == k->orders)
		j = four_steps(k, i, k->order[depth + 1], a, b, o);
	for (; j < k->count[i]; j++)
		loops(k, depth + 1, a + j * k->sa[i], b + j * k->sb[i], o + j * k->sc[i]);
}

/* Outer letters in the output's order, sums after them, the best vector loop last. */
static void choose_order(struct core *k)
{
	int best = -1, score = -1;

	for (int i = 0; i < k->t->letters; i++) {
		int s = 0;
		if (k->count[i] == 1 && k->t->letters > 1)
			continue;
		if (k->sc[i] == 1 && (k->sa[i] == 0) != (k->sb[i] == 0) && k->sa[i] + k->sb[i] == 1)
			s = 3;
		else if (k->sc[i] == 0 && k->sa[i] == 1 && k->sb[i] == 1)
			s = 2;
		if (k->count[i] < 4)
			s = s > 0;
		if (s > score || (s == score && s > 0 && k->count[i] > k->count[best])) {
			score = s;
			best = i;
		}
	}
	k->orders = 0;
	for (int i = 0; i < k->t->letters; i++) {
		if (i != best && (k->count[i] != 1))
			k->order[k->orders++] = i;
	}
	if (best >= 0)
		k->order[k->orders++] = best;
	else if (!k->orders)
		k->order[k->orders++] = 0;
}

/* Strides that no loop likes (the inner letter strided in an operand): the operand is copied with that letter last. */
static const double *repack(struct ctx *c, const struct contraction *t, const int64_t *count, int last, const double *p,
			    int64_t *stride)
{
	int64_t packed[MAX_LETTERS], size = 1, at[MAX_LETTERS] = { 0 }, from = 0;
	int order[MAX_LETTERS], n = 0;
	double *q;

	for (int i = 0; i < t->letters; i++) {
		packed[i] = 0;
		if (stride[i] && i != last && count[i] > 1)
			order[n++] = i;
	}
	order[n++] = last;
	for (int k = n - 1; k >= 0; k--) {
		packed[order[k]] = size;
		size *= count[order[k]];
	}
	q = ctx_alloc(c, size);
	for (int64_t i = 0; q && i < size; i++) {
		q[i] = p[from];
		for (int k = n - 1; k >= 0; k--) {
			from += stride[order[k]];
			if (++at[k] < count[order[k]])
				break;
			from -= count[order[k]] * stride[order[k]];
			at[k] = 0;
		}
	}
	memcpy(stride, packed, sizeof(*packed) * (size_t)t->letters);
	return q;
}

static bool block(struct ctx *c, const struct kw_node *n, const struct contraction *t, const int64_t *start,
		  const int64_t *count, const int64_t *sc, double *out, enum rounding round)
{
	int64_t sa[MAX_LETTERS] = { 0 }, sb[MAX_LETTERS] = { 0 };
	struct core k = { .t = t, .count = count, .sa = sa, .sb = sb, .sc = sc, .round = round };
	const double *a = operand(c, n, t, 0, start, count, sa);
	const double *b = a ? operand(c, n, t, 1, start, count, sb) : NULL;

	if (!b)
		return false;
	/* The output's last letter, if one operand has it strided and it is worth it. */
	for (int i = 0; i < t->letters; i++) {
		int64_t rows = 1;
		if (sc[i] != 1 || count[i] < 8 || (sa[i] != 0) == (sb[i] != 0) || sa[i] + sb[i] == 1)
			continue;
		for (int j = 0; j < t->letters; j++)
			rows *= j != i && (sa[i] ? sa[j] : sb[j]) == 0 ? count[j] : 1;
		if (rows < 4)
			continue;
		if (sa[i])
			a = repack(c, t, count, i, a, sa);
		else
			b = repack(c, t, count, i, b, sb);
		if (!a || !b)
			return false;
	}
	choose_order(&k);
	loops(&k, 0, a, b, out);
	return true;
}

bool eval_contract(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	struct contraction t;
	int64_t start[MAX_LETTERS], count[MAX_LETTERS], sc[MAX_LETTERS], step[KW_MAX_RANK], s = 1;
	int64_t volume = box_volume(x, n->rank), chunk;
	int cut = -1;
	enum rounding round = rounds(c, n);

	analyse(c, n, x, &t);
	for (int i = n->rank - 1; i >= 0; i--) {
		step[i] = s;
		s *= x->count[i];
	}
	memset(out, 0, sizeof(*out) * (size_t)volume);
	for (int i = 0; i < t.letters; i++) {
		start[i] = t.start[i];
		count[i] = t.count[i];
		sc[i] = t.out[i] < 0 ? 0 : step[t.out[i]];
		if (t.count[i] == 0)
			return true;
		if (t.sum[i] && (cut < 0 || t.count[i] > t.count[cut]))
			cut = i;
	}
	if (!t.letters) {
		t.letters = 1;
		start[0] = 0;
		count[0] = 1;
		sc[0] = 0;
		t.where[0][0] = t.where[1][0] = -1;
	}
	/* Few output elements: one block; else blocks of k that keep both operands in cache. */
	chunk = cut < 0 ? 1 : volume < 64 ? 1 << 15 : BLOCK_K;
	for (int64_t k = 0; k < (cut < 0 ? 1 : t.count[cut]); k += chunk) {
		struct mark m = ctx_mark(c);
		if (cut >= 0) {
			start[cut] = k;
			count[cut] = t.count[cut] - k < chunk ? t.count[cut] - k : chunk;
		}
		if (!block(c, n, &t, start, count, sc, out, round))
			return false;
		ctx_release(c, m);
	}
	return true;
}
