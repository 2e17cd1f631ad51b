/* table.h - columns for people: rows of cells, aligned, as text.
 *
 *     struct kw_table t;
 *     kw_table_init(&t, &arena, "<>>");         // a letter a column: left or right
 *     kw_table_row(&t, "case", "time", "SOL");
 *     kw_table_write(&t, "  ", &buf);           // indent
 *
 * A row takes one string a column (NULL: empty); they are copied to the arena. Running out of memory
 * drops the row and sets `failed`. Widths count characters of UTF-8. */
#ifndef KW_REPORT_TABLE_H
#define KW_REPORT_TABLE_H

#include "base/arena.h"
#include "base/str.h"

enum { KW_TABLE_MAX_COLUMNS = 12 };

struct kw_table_row {
	const char *cells[KW_TABLE_MAX_COLUMNS];
	struct kw_table_row *next;
};
struct kw_table {
	struct kw_arena *arena;
	const char *align;
	int columns;
	struct kw_table_row *first, *last;
	bool failed;
};

void kw_table_init(struct kw_table *t, struct kw_arena *a, const char *align);
void kw_table_row(struct kw_table *t, ...);
void kw_table_write(const struct kw_table *t, const char *indent, struct kw_buf *out);

#endif
