/* sym.c - symbolic sizes: polynomials with integer coefficients, terms sorted, so that equal sizes have equal form.
 *
 * Atoms are dims, or operations that are no polynomial (floor division, %, min, max), whose operands are polynomials
 * themselves. Atoms compare by their canonical text. */
#include "expr/internal.h"

#include <string.h>

#define MAX_TERMS 64
#define MAX_FACTORS 12

enum atom_kind { ATOM_NAME, ATOM_DIV, ATOM_MOD, ATOM_MIN, ATOM_MAX, ATOM_OPAQUE };
struct atom {
	enum atom_kind kind;
	const char *text;                 /* canonical; NAME: the name */
	const struct kw_poly *p, *q;
	const struct kw_intexpr *expr;    /* OPAQUE: comparisons and the like */
};
struct term {
	int64_t coef;
	int count;
	const struct atom *atom[MAX_FACTORS];
};
struct kw_poly {
	int count;
	struct term *term;                /* sorted, no zero coefficients */
};

static int term_cmp(const struct term *s, const struct term *t)
{
	int n = s->count < t->count ? s->count : t->count;

	for (int i = 0; i < n; i++) {
		int c = strcmp(s->atom[i]->text, t->atom[i]->text);
		if (c)
			return c;
	}
	return s->count - t->count;
}

static struct kw_poly *poly_new(struct kw_arena *a, int count)
{
	struct kw_poly *p = kw_arena_alloc(a, sizeof(*p));

	if (!p)
		return NULL;
	p->count = 0;
	p->term = kw_arena_calloc(a, count ? count : 1, sizeof(*p->term));
	return p->term ? p : NULL;
}

const struct kw_poly *sym_const(struct kw_arena *a, int64_t v)
{
	struct kw_poly *p = poly_new(a, 1);

	if (p && v)
		p->term[p->count++].coef = v;
	return p;
}

static const struct kw_poly *poly_atom(struct kw_arena *a, enum atom_kind kind, const char *text,
				       const struct kw_poly *x, const struct kw_poly *y, const struct kw_intexpr *e)
{
	struct kw_poly *p = poly_new(a, 1);
	struct atom *at = kw_arena_calloc(a, 1, sizeof(*at));

	if (!p || !at || !text)
		return NULL;
	*at = (struct atom){ kind, text, x, y, e };
	p->term[0] = (struct term){ .coef = 1, .count = 1, .atom = { at } };
	p->count = 1;
	return p;
}

const struct kw_poly *sym_name(struct kw_arena *a, const char *name)
{
	return poly_atom(a, ATOM_NAME, kw_arena_strdup(a, name), NULL, NULL, NULL);
}

/* p + f q, merged. */
static const struct kw_poly *add_scaled(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q, int64_t f)
{
	struct kw_poly *r;
	int i = 0, j = 0;

	if (!p || !q || p->count + q->count > MAX_TERMS || !(r = poly_new(a, p->count + q->count)))
		return NULL;
	while (i < p->count || j < q->count) {
		int c = i == p->count ? 1 : j == q->count ? -1 : term_cmp(&p->term[i], &q->term[j]);
		struct term t = c <= 0 ? p->term[i] : q->term[j];
		int64_t right = 0;

		if (c >= 0 && __builtin_mul_overflow(q->term[j].coef, f, &right))
			return NULL;
		if (__builtin_add_overflow(c <= 0 ? t.coef : 0, right, &t.coef))
			return NULL;
		i += c <= 0;
		j += c >= 0;
		if (t.coef)
			r->term[r->count++] = t;
	}
	return r;
}

const struct kw_poly *sym_add(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	return add_scaled(a, p, q, 1);
}

const struct kw_poly *sym_sub(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	return add_scaled(a, p, q, -1);
}

static bool term_mul(const struct term *s, const struct term *t, struct term *out)
{
	int i = 0, j = 0;

	*out = (struct term){ 0 };
	if (s->count + t->count > MAX_FACTORS || __builtin_mul_overflow(s->coef, t->coef, &out->coef))
		return false;
	while (i < s->count || j < t->count) {
		bool left = j == t->count || (i < s->count && strcmp(s->atom[i]->text, t->atom[j]->text) <= 0);
		out->atom[out->count++] = left ? s->atom[i++] : t->atom[j++];
	}
	return true;
}

const struct kw_poly *sym_mul(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	const struct kw_poly *r = sym_const(a, 0);

	if (!p || !q || p->count * q->count > MAX_TERMS)
		return NULL;
	for (int i = 0; i < p->count; i++) {
		for (int j = 0; j < q->count && r; j++) {
			struct term t;
			struct kw_poly one = { 1, &t };
			if (!term_mul(&p->term[i], &q->term[j], &t))
				return NULL;
			r = sym_add(a, r, &one);
		}
	}
	return r;
}

/* t / d exactly: coefficient and factors of d all occur in t. */
static bool term_divide(const struct term *t, const struct term *d, struct term *out)
{
	int j = 0;

	*out = (struct term){ 0 };
	if (!d->coef || t->coef % d->coef)
		return false;
	out->coef = t->coef / d->coef;
	for (int i = 0; i < t->count; i++) {
		if (j < d->count && strcmp(t->atom[i]->text, d->atom[j]->text) == 0)
			j++;
		else
			out->atom[out->count++] = t->atom[i];
	}
	return j == d->count;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static const struct kw_poly *binary_atom(struct kw_arena *a, enum atom_kind kind, const struct kw_poly *p,
					 const struct kw_poly *q)
{
	char *x = p ? sym_text(a, p) : NULL, *y = q ? sym_text(a, q) : NULL;
	char *text = NULL;

	if (!x || !y)
		return NULL;
	switch (kind) {
	case ATOM_DIV: text = kw_arena_printf(a, "((%s) / (%s))", x, y); break;
	case ATOM_MOD: text = kw_arena_printf(a, "((%s) %% (%s))", x, y); break;
	case ATOM_MIN: text = kw_arena_printf(a, "min(%s, %s)", x, y); break;
	default: text = kw_arena_printf(a, "max(%s, %s)", x, y); break;
	}
	return poly_atom(a, kind, text, p, q, NULL);
}

const struct kw_poly *sym_div(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	int64_t v, d;
	struct kw_poly *r;

	if (!p || !q)
		return NULL;
	if (sym_is_const(p, &v) && sym_is_const(q, &d) && d && !(v == INT64_MIN && d == -1))
		return sym_const(a, floor_div(v, d));
	if (q->count == 1 && (r = poly_new(a, p->count))) {
		for (int i = 0; i < p->count; i++) {
			if (!term_divide(&p->term[i], &q->term[0], &r->term[i]))
				return binary_atom(a, ATOM_DIV, p, q);
		}
		r->count = p->count;
		return r;
	}
	return binary_atom(a, ATOM_DIV, p, q);
}

const struct kw_poly *sym_mod(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	int64_t v, d;
	struct term t;

	if (!p || !q)
		return NULL;
	if (sym_is_const(p, &v) && sym_is_const(q, &d) && d && !(v == INT64_MIN && d == -1))
		return sym_const(a, v - floor_div(v, d) * d);
	for (int i = 0; q->count == 1 && i < p->count; i++) {
		if (!term_divide(&p->term[i], &q->term[0], &t))
			return binary_atom(a, ATOM_MOD, p, q);
	}
	return q->count == 1 ? sym_const(a, 0) : binary_atom(a, ATOM_MOD, p, q);
}

static const struct kw_poly *min_max(struct kw_arena *a, enum atom_kind kind, const struct kw_poly *p,
				     const struct kw_poly *q)
{
	const struct kw_poly *d = sym_sub(a, p, q);
	int64_t v;

	if (d && sym_is_const(d, &v))
		return (v <= 0) == (kind == ATOM_MIN) ? p : q;
	return binary_atom(a, kind, p, q);
}

const struct kw_poly *sym_min(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	return min_max(a, ATOM_MIN, p, q);
}

const struct kw_poly *sym_max(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	return min_max(a, ATOM_MAX, p, q);
}

bool sym_is_const(const struct kw_poly *p, int64_t *v)
{
	if (!p || p->count > 1 || (p->count == 1 && p->term[0].count))
		return false;
	*v = p->count ? p->term[0].coef : 0;
	return true;
}

bool sym_is(const struct kw_poly *p, int64_t v)
{
	int64_t got;

	return sym_is_const(p, &got) && got == v;
}

bool sym_eq(const struct kw_poly *p, const struct kw_poly *q)
{
	if (p == q)
		return true;
	if (!p || !q || p->count != q->count)
		return false;
	for (int i = 0; i < p->count; i++) {
		if (p->term[i].coef != q->term[i].coef || term_cmp(&p->term[i], &q->term[i]))
			return false;
	}
	return true;
}

bool sym_differs(struct kw_arena *a, const struct kw_poly *p, const struct kw_poly *q)
{
	int64_t v;

	return sym_is_const(sym_sub(a, p, q), &v) && v != 0;
}

char *sym_text(struct kw_arena *a, const struct kw_poly *p)
{
	struct kw_buf b;
	char *out;

	if (!p)
		return NULL;
	kw_buf_init(&b, 1 << 14);
	/* The constant term sorts first; people write it last. */
	for (int k = 0; k < p->count; k++) {
		int first = p->term[0].count == 0 && p->count > 1;
		const struct term *t = &p->term[(k + first) % p->count];
		int64_t c = t->coef;

		if (k)
			kw_buf_addz(&b, c < 0 ? " - " : " + ");
		else if (c < 0)
			kw_buf_addz(&b, t->count ? "0 - " : "-");
		c = c < 0 && c != INT64_MIN ? -c : c;
		if (c != 1 || !t->count)
			kw_buf_printf(&b, "%lld%s", (long long)c, t->count ? "*" : "");
		for (int i = 0; i < t->count; i++)
			kw_buf_printf(&b, "%s%s", i ? "*" : "", t->atom[i]->text);
	}
	if (!p->count)
		kw_buf_addz(&b, "0");
	out = b.full ? NULL : kw_arena_str(a, kw_buf_str(&b));
	kw_buf_release(&b);
	return out;
}

static enum kw_status atom_eval(const struct atom *at, const struct kw_intenv *env, int64_t *out, struct kw_error *err)
{
	int64_t p, q;
	enum kw_status s;

	if (at->kind == ATOM_NAME)
		return kw_intenv_get(env, at->text, out) ? KW_OK :
		       kw_fail(err, KW_ERR_INPUT, "", "no dim is named '%s'", at->text);
	if (at->kind == ATOM_OPAQUE)
		return kw_intexpr_eval(at->expr, env, out, err);
	if ((s = sym_eval(at->p, env, &p, err)) != KW_OK || (s = sym_eval(at->q, env, &q, err)) != KW_OK)
		return s;
	if (at->kind == ATOM_MIN || at->kind == ATOM_MAX) {
		*out = (p < q) == (at->kind == ATOM_MIN) ? p : q;
		return KW_OK;
	}
	if (q == 0 || (p == INT64_MIN && q == -1))
		return kw_fail(err, KW_ERR_INPUT, "", "%s divides by zero", at->text);
	*out = at->kind == ATOM_DIV ? floor_div(p, q) : p - floor_div(p, q) * q;
	return KW_OK;
}

enum kw_status sym_eval(const struct kw_poly *p, const struct kw_intenv *env, int64_t *out, struct kw_error *err)
{
	int64_t sum = 0;

	for (int i = 0; i < p->count; i++) {
		int64_t v = p->term[i].coef;
		bool over = false;

		for (int j = 0; j < p->term[i].count; j++) {
			int64_t x = 0;
			enum kw_status s = atom_eval(p->term[i].atom[j], env, &x, err);
			if (s != KW_OK)
				return s;
			over |= __builtin_mul_overflow(v, x, &v);
		}
		if (over || __builtin_add_overflow(sum, v, &sum))
			return kw_fail(err, KW_ERR_INPUT, "", "a size overflows 64 bits");
	}
	*out = sum;
	return KW_OK;
}

/* ---- the text of an intexpr, whose tree is not public ---- */

struct reader {
	struct kw_arena *a;
	const char *s;
	int depth;
	bool odd;                         /* something that is no polynomial: keep the text as one atom */
};

static const struct kw_poly *read_sum(struct reader *r);

static void skip(struct reader *r)
{
	while (*r->s == ' ' || *r->s == '\t')
		r->s++;
}

static bool eat(struct reader *r, char c)
{
	skip(r);
	if (*r->s != c)
		return false;
	r->s++;
	return true;
}

static const struct kw_poly *odd(struct reader *r)
{
	r->odd = true;
	return NULL;
}

static const struct kw_poly *read_call(struct reader *r, struct kw_str name)
{
	const struct kw_poly *p = read_sum(r);

	while (p && eat(r, ',')) {
		const struct kw_poly *q = read_sum(r);
		if (kw_str_eqz(name, "min"))
			p = sym_min(r->a, p, q);
		else if (kw_str_eqz(name, "max"))
			p = sym_max(r->a, p, q);
		else if (kw_str_eqz(name, "cdiv"))
			p = sym_div(r->a, sym_sub(r->a, sym_add(r->a, p, q), sym_const(r->a, 1)), q);
		else
			return odd(r);
	}
	return eat(r, ')') ? p : odd(r);
}

static const struct kw_poly *read_atom(struct reader *r)
{
	const struct kw_poly *p;
	const char *start;

	if (eat(r, '(')) {
		p = read_sum(r);
		return eat(r, ')') ? p : odd(r);
	}
	if (eat(r, '-'))
		return sym_sub(r->a, sym_const(r->a, 0), read_atom(r));
	skip(r);
	start = r->s;
	while ((*r->s >= '0' && *r->s <= '9') || (*r->s >= 'a' && *r->s <= 'z') || (*r->s >= 'A' && *r->s <= 'Z') ||
	       *r->s == '_' || *r->s == '.')
		r->s++;
	if (r->s == start)
		return odd(r);
	struct kw_str word = { start, (size_t)(r->s - start) };
	int64_t v;
	if (kw_str_to_i64(word, &v))
		return sym_const(r->a, v);
	if (eat(r, '('))
		return read_call(r, word);
	char *name = kw_arena_str(r->a, word);
	return name ? sym_name(r->a, name) : NULL;
}

static const struct kw_poly *read_product(struct reader *r)
{
	const struct kw_poly *p = read_atom(r);

	while (p) {
		if (eat(r, '*'))
			p = sym_mul(r->a, p, read_atom(r));
		else if (eat(r, '/'))
			p = sym_div(r->a, p, read_atom(r));
		else if (eat(r, '%'))
			p = sym_mod(r->a, p, read_atom(r));
		else
			break;
	}
	return p;
}

static const struct kw_poly *read_sum(struct reader *r)
{
	const struct kw_poly *p;

	if (++r->depth > MAX_DEPTH)
		return odd(r);
	p = read_product(r);
	while (p) {
		if (eat(r, '+'))
			p = sym_add(r->a, p, read_product(r));
		else if (eat(r, '-'))
			p = sym_sub(r->a, p, read_product(r));
		else
			break;
	}
	r->depth--;
	return p;
}

const struct kw_poly *sym_parse(struct kw_arena *a, const char *text)
{
	struct reader r = { .a = a, .s = text };
	const struct kw_poly *p = read_sum(&r);
	struct kw_intexpr *e;

	skip(&r);
	if (p && !*r.s)
		return p;
	if (!r.odd && !*r.s)
		return NULL;
	if (kw_intexpr_parse(kw_str_from(text), "", 1, 1, a, &e, NULL) != KW_OK)
		return NULL;
	return poly_atom(a, ATOM_OPAQUE, kw_arena_printf(a, "(%s)", text), NULL, NULL, e);
}
