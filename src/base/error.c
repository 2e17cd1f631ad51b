#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Copies at most cap - 1 bytes; never leaves half a UTF-8 character at the cut. */
static void copy_cut(char *to, size_t cap, const char *from)
{
	size_t n = strlen(from);

	if (n >= cap) {
		n = cap - 1;
		while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80)
			n--;
	}
	memmove(to, from, n);
	to[n] = '\0';
}

/* What was cut by its bytes, or is no UTF-8 at all, would make a JSON text of it impossible: a mark stands where a character does not. Each byte may
 * become three. */
static void mark_bytes(char *to, const char *from)
{
	size_t left = strlen(from);

	while (left > 0) {
		size_t good = kw_utf8_prefix(from, left), bad = good < left;

		memcpy(to, from, good);
		to += good;
		while (good + bad < left && bad > 0 && bad < 3 && ((unsigned char)from[good + bad] & 0xc0) == 0x80)
			bad++;
		if (bad) {
			memcpy(to, "\xef\xbf\xbd", 3);
			to += 3;
		}
		from += good + bad;
		left -= good + bad;
	}
	*to = '\0';
}

enum kw_status kw_fail(struct kw_error *err, enum kw_status s, const char *where,
		       const char *fmt, ...)
{
	/* Formatted aside: where and the arguments may point into err itself. */
	char text[sizeof(err->text) + 8], place[sizeof(err->where)], marked[3 * sizeof(text)];
	va_list ap;

	if (!err)
		return s;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy_cut(place, sizeof(place), where ? where : "");
	err->status = s;
	mark_bytes(marked, place);
	copy_cut(err->where, sizeof(err->where), marked);
	mark_bytes(marked, text);
	copy_cut(err->text, sizeof(err->text), marked);
	return s;
}

enum kw_status kw_error_while(struct kw_error *err, const char *fmt, ...)
{
	char doing[512], all[sizeof(err->text) + sizeof(doing) + 16];
	size_t end;
	va_list ap;

	if (!err)
		return KW_ERR_BUG;
	va_start(ap, fmt);
	vsnprintf(doing, sizeof(doing), fmt, ap);
	va_end(ap);
	/* Lines that show a place, with a caret, stay last. */
	end = strcspn(err->text, "\n");
	snprintf(all, sizeof(all), "%.*s (while %s)%s", (int)end, err->text, doing, err->text + end);
	copy_cut(err->text, sizeof(err->text), all);
	return err->status;
}

void kw_error_reset(struct kw_error *err)
{
	if (!err)
		return;
	err->status = KW_OK;
	err->where[0] = '\0';
	err->text[0] = '\0';
}

const char *kw_error_line(const struct kw_error *err, char *out, unsigned long out_bytes)
{
	if (out_bytes == 0)
		return "";
	if (err->where[0] != '\0')
		snprintf(out, out_bytes, "%s: %s", err->where, err->text);
	else
		snprintf(out, out_bytes, "%s", err->text);
	return out;
}
