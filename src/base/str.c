#include "base/str.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct kw_str kw_str_from(const char *z)
{
	return (struct kw_str){ z, z ? strlen(z) : 0 };
}

bool kw_str_eq(struct kw_str a, struct kw_str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool kw_str_eqz(struct kw_str a, const char *z)
{
	return kw_str_eq(a, kw_str_from(z));
}

bool kw_str_starts(struct kw_str a, const char *prefix)
{
	size_t n = strlen(prefix);

	return a.len >= n && (n == 0 || memcmp(a.ptr, prefix, n) == 0);
}

bool kw_str_holds(struct kw_str a, const char *part)
{
	return memmem(a.ptr, a.len, part, strlen(part)) != NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct kw_str kw_str_trim(struct kw_str s)
{
	while (s.len > 0 && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool kw_str_split(struct kw_str *rest, char sep, struct kw_str *part)
{
	const char *at;

	if (!rest->ptr)
		return false;
	at = rest->len ? memchr(rest->ptr, sep, rest->len) : NULL;
	part->ptr = rest->ptr;
	if (!at) {
		part->len = rest->len;
		*rest = (struct kw_str){ NULL, 0 };
		return true;
	}
	part->len = (size_t)(at - rest->ptr);
	rest->len -= part->len + 1;
	rest->ptr = at + 1;
	return true;
}

bool kw_str_to_i64(struct kw_str s, int64_t *out)
{
	bool negative = s.len > 0 && s.ptr[0] == '-';
	size_t i = s.len > 0 && (negative || s.ptr[0] == '+');
	int64_t v = 0;

	if (i == s.len)
		return false;
	/* Summed towards minus infinity, so that the smallest value fits. */
	for (; i < s.len; i++) {
		int digit = s.ptr[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(v, (int64_t)10, &v) ||
		    __builtin_sub_overflow(v, (int64_t)digit, &v))
			return false;
	}
	if (!negative && v == INT64_MIN)
		return false;
	*out = negative ? v : -v;
	return true;
}

bool kw_str_to_f64(struct kw_str s, double *out)
{
	static const char allowed[] = "0123456789+-.eE";
	char text[512], *end;
	locale_t c_locale;
	double v;

	if (s.len == 0 || s.len >= sizeof(text))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	if (strspn(text, allowed) != s.len)
		return false;
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static object: no allocation */
	if (!c_locale)
		return false;
	v = strtod_l(text, &end, c_locale);
	freelocale(c_locale);
	if (end != text + s.len || !isfinite(v))
		return false;
	*out = v;
	return true;
}

enum { WORD_MAX_BYTES = 63 };

/* Edit distance with swaps of neighbours (optimal string alignment), three rows kept. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][WORD_MAX_BYTES + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= m; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[m];
}

const char *kw_str_nearest(const char *word, const char *const *words, size_t n)
{
	size_t len = strlen(word), best = SIZE_MAX;
	const char *found = NULL;

	if (len > WORD_MAX_BYTES)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = words[i] ? strlen(words[i]) : SIZE_MAX;
		size_t longer = other > len ? other : len, d;

		if (other > WORD_MAX_BYTES)
			continue;
		d = distance(word, len, words[i], other);
		if (d < best && (d <= 1 || d <= longer / 3)) {
			best = d;
			found = words[i];
		}
	}
	return found;
}

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t kw_utf8_prefix(const char *p, size_t len)
{
	const unsigned char *s = (const unsigned char *)p;

	for (size_t i = 0; i < len;) {
		unsigned c = s[i], low = 0x80, high = 0xbf;
		size_t more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

		if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || len - i <= more)
			return i;
		if (c == 0xe0)
			low = 0xa0;
		else if (c == 0xed)
			high = 0x9f;
		else if (c == 0xf0)
			low = 0x90;
		else if (c == 0xf4)
			high = 0x8f;
		for (size_t k = 1; k <= more; k++, low = 0x80, high = 0xbf)
			if (s[i + k] < low || s[i + k] > high)
				return i;
		i += more + 1;
	}
	return len;
}

bool kw_utf8_valid(const char *p, size_t len)
{
	return kw_utf8_prefix(p, len) == len;
}

/* The end of a control sequence whose parameters begin at i: ECMA-48, 5.4. */
static size_t sequence_end(const char *p, size_t i, size_t len)
{
	while (i < len && p[i] >= 0x20 && p[i] <= 0x3f)
		i++;
	return i < len && p[i] >= 0x40 && p[i] <= 0x7e ? i + 1 : i;
}

/* What is behind the escape at i; i where there is none. */
static size_t escape_end(const char *p, size_t i, size_t len)
{
	enum { ESC = 0x1b, BEL = 7 };
	size_t at = i + 1;

	if (p[i] == '^' && len - i > 3 && p[i + 1] == '[' && p[i + 2] == '[') {
		size_t end = sequence_end(p, i + 3, len);

		return p[end - 1] == 'm' || p[end - 1] == 'K' ? end : i;
	}
	if (p[i] != ESC)
		return i;
	if (at < len && p[at] == '[')
		return sequence_end(p, at + 1, len);
	if (at < len && p[at] && strchr("]PX^_", p[at])) {
		while (at < len && p[at] != BEL && p[at] != ESC && p[at] != '\n')
			at++;
		return at < len && p[at] == BEL ? at + 1 : at + 1 < len && p[at] == ESC && p[at + 1] == '\\' ? at + 2 : at;
	}
	while (at < len && p[at] >= 0x20 && p[at] <= 0x2f)
		at++;
	return at < len && p[at] >= 0x30 && p[at] <= 0x7e ? at + 1 : at;
}

size_t kw_text_without_escapes(char *p, size_t len)
{
	size_t n = 0;

	if (len == 0 || (!memchr(p, 0x1b, len) && !memmem(p, len, "^[[", 3)))
		return len;
	for (size_t i = 0; i < len;) {
		size_t end = escape_end(p, i, len);

		if (end > i)
			i = end;
		else
			p[n++] = p[i++];
	}
	return n;
}

int kw_text_bad_line(const char *p, size_t len, const char **what)
{
	const char *nul = len ? memchr(p, '\0', len) : NULL;
	size_t good = kw_utf8_prefix(p, len), at = nul && (size_t)(nul - p) < good ? (size_t)(nul - p) : good;
	int line = 1;

	if (at == len)
		return 0;
	for (size_t i = 0; i < at; i++)
		line += p[i] == '\n';
	*what = at < good ? "a NUL byte" : "bytes that are not UTF-8";
	return line;
}

void kw_buf_init(struct kw_buf *b, size_t max_bytes)
{
	*b = (struct kw_buf){ .max_bytes = max_bytes };
}

void kw_buf_release(struct kw_buf *b)
{
	kw_free(b->ptr);
	kw_buf_init(b, b->max_bytes);
}

void kw_buf_reset(struct kw_buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->ptr)
		b->ptr[0] = '\0';
}

/* Room for more bytes and a NUL; the maximum counts the bytes without the NUL. */
static bool reserve(struct kw_buf *b, size_t more)
{
	size_t need, cap = b->cap ? b->cap : 64;
	char *p;

	if (b->full || more > b->max_bytes || b->len > b->max_bytes - more) {
		b->full = true;
		return false;
	}
	need = b->len + more + 1;
	if (need <= b->cap)
		return true;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	if (cap > b->max_bytes && b->max_bytes < SIZE_MAX)
		cap = b->max_bytes + 1;
	p = kw_realloc(b->ptr, cap);
	if (!p) {
		b->full = true;
		return false;
	}
	b->ptr = p;
	b->cap = cap;
	return true;
}

void kw_buf_add(struct kw_buf *b, const void *p, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len)
		memcpy(b->ptr + b->len, p, len);
	b->len += len;
	b->ptr[b->len] = '\0';
}

void kw_buf_addz(struct kw_buf *b, const char *z)
{
	kw_buf_add(b, z, strlen(z));
}

void kw_buf_addc(struct kw_buf *b, char c)
{
	kw_buf_add(b, &c, 1);
}

void kw_buf_vprintf(struct kw_buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0) {
		b->full = true;
		return;
	}
	if (!reserve(b, (size_t)n))
		return;
	vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

void kw_buf_printf(struct kw_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kw_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

struct kw_str kw_buf_str(const struct kw_buf *b)
{
	return (struct kw_str){ b->ptr, b->len };
}

char *kw_buf_take(struct kw_buf *b)
{
	char *p = NULL;

	if (reserve(b, 0)) {
		p = b->ptr;
		p[b->len] = '\0';
		b->ptr = NULL;
	}
	kw_buf_release(b);
	return p;
}
