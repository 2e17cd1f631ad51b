#include "profile/csv.h"

#include <string.h>

#include "base/alloc.h"

void kw_csv_init(struct kw_csv *c, char separator)
{
	*c = (struct kw_csv){ .separator = separator };
	kw_buf_init(&c->text, 1 << 20);
}

void kw_csv_release(struct kw_csv *c)
{
	kw_free(c->field);
	kw_buf_release(&c->text);
	*c = (struct kw_csv){ .separator = ',' };
}

static void put(struct kw_csv *c, const char *p, size_t n)
{
	if (c->count == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 32;
		struct kw_str *more = cap <= KW_CSV_MAX ? kw_realloc(c->field, cap * sizeof(*more)) : NULL;

		if (!more)
			return;
		c->field = more;
		c->cap = cap;
	}
	c->field[c->count++] = (struct kw_str){ p, n };
}

/* The quote that ends a field which begins behind `p`; NULL: none. *doubled: there are quotes to be halved. */
static const char *closing(const char *p, const char *end, char separator, bool *doubled)
{
	*doubled = false;
	for (const char *q = memchr(p, '"', (size_t)(end - p)); q; q = memchr(q + 1, '"', (size_t)(end - q - 1))) {
		if (q + 1 == end || q[1] == separator)
			return q;
		if (q[1] == '"' && q + 2 < end) {
			/* `""` then the separator: an empty text inside, or the end of one that ends with a quote. */
			*doubled = true;
			q++;
		}
	}
	return NULL;
}

static void put_halved(struct kw_csv *c, const char *p, size_t n)
{
	size_t at = c->text.len;

	for (size_t i = 0; i < n; i++) {
		kw_buf_addc(&c->text, p[i]);
		if (p[i] == '"' && i + 1 < n && p[i + 1] == '"')
			i++;
	}
	if (c->text.full)
		put(c, p, n);
	else
		put(c, c->text.ptr + at, c->text.len - at);
}

bool kw_csv_split(struct kw_csv *c, struct kw_str line)
{
	const char *p = line.ptr, *end = line.ptr + line.len;
	char *room;

	c->count = 0;
	kw_buf_reset(&c->text);
	/* So that views into it stay good: it never grows while a line is split. */
	if (c->text.cap < line.len + 1 && line.len < c->text.max_bytes / 2) {
		kw_buf_add(&c->text, line.ptr, line.len);
		kw_buf_reset(&c->text);
	}
	room = c->text.ptr;
	for (;;) {
		const char *stop;

		if (p < end && *p == '"') {
			bool doubled;

			stop = closing(p + 1, end, c->separator, &doubled);
			if (!stop) {
				put(c, p + 1, (size_t)(end - p - 1));
				return false;
			}
			if (doubled && c->text.ptr == room && c->text.len + (size_t)(stop - p) < c->text.cap)
				put_halved(c, p + 1, (size_t)(stop - p - 1));
			else
				put(c, p + 1, (size_t)(stop - p - 1));
			stop++;
		} else {
			stop = p < end ? memchr(p, c->separator, (size_t)(end - p)) : NULL;
			stop = stop ? stop : end;
			put(c, p, (size_t)(stop - p));
		}
		if (stop >= end)
			return true;
		p = stop + 1;
		if (p == end) {
			put(c, p, 0);
			return true;
		}
	}
}
