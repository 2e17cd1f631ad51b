#include "report/table.h"

#include <stdarg.h>
#include <string.h>

void kw_table_init(struct kw_table *t, struct kw_arena *a, const char *align)
{
	size_t n = strlen(align);

	memset(t, 0, sizeof(*t));
	t->arena = a;
	t->align = align;
	t->columns = n < KW_TABLE_MAX_COLUMNS ? (int)n : KW_TABLE_MAX_COLUMNS;
}

void kw_table_row(struct kw_table *t, ...)
{
	struct kw_table_row *r = kw_arena_calloc(t->arena, 1, sizeof(*r));
	va_list ap;

	if (!r) {
		t->failed = true;
		return;
	}
	va_start(ap, t);
	for (int i = 0; i < t->columns; i++) {
		const char *cell = va_arg(ap, const char *);

		r->cells[i] = kw_arena_strdup(t->arena, cell ? cell : "");
		if (!r->cells[i])
			t->failed = true;
	}
	va_end(ap);
	if (t->failed)
		return;
	if (t->last)
		t->last->next = r;
	else
		t->first = r;
	t->last = r;
}

static int width(const char *z)
{
	int n = 0;

	for (; *z; z++)
		n += ((unsigned char)*z & 0xc0) != 0x80;
	return n;
}

static void pad(struct kw_buf *out, int n)
{
	while (n-- > 0)
		kw_buf_addc(out, ' ');
}

static void write_row(const struct kw_table *t, const struct kw_table_row *r, const int *widths,
		      struct kw_buf *out)
{
	int last = t->columns - 1;

	while (last > 0 && r->cells[last][0] == '\0') /* no blanks at the end of a line */
		last--;
	for (int i = 0; i <= last; i++) {
		int gap = widths[i] - width(r->cells[i]);

		if (i)
			kw_buf_addz(out, "  ");
		if (t->align[i] == '>')
			pad(out, gap);
		kw_buf_addz(out, r->cells[i]);
		if (t->align[i] != '>' && i < last)
			pad(out, gap);
	}
	kw_buf_addc(out, '\n');
}

void kw_table_write(const struct kw_table *t, const char *indent, struct kw_buf *out)
{
	int widths[KW_TABLE_MAX_COLUMNS] = { 0 };

	for (const struct kw_table_row *r = t->first; r; r = r->next)
		for (int i = 0; i < t->columns; i++)
			if (width(r->cells[i]) > widths[i])
				widths[i] = width(r->cells[i]);
	for (const struct kw_table_row *r = t->first; r; r = r->next) {
		kw_buf_addz(out, indent);
		write_row(t, r, widths, out);
	}
}
