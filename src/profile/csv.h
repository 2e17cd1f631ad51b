/* csv.h - one record of a CSV file into fields, as profilers really write them.
 *
 *     struct kw_csv c;
 *     kw_csv_init(&c, ',');
 *     kw_csv_split(&c, line, &ended);      // c.field[0 .. c.count)
 *     kw_csv_release(&c);
 *
 * A quoted field ends at a quote that a separator or the end follows, so a kernel name with quotes of its own is read
 * whole, doubled or not. Fields are views of the line, or of the struct's own buffer until the next split. */
#ifndef KW_PROFILE_CSV_H
#define KW_PROFILE_CSV_H

#include "base/str.h"

enum { KW_CSV_MAX = 4096 };
struct kw_csv {
	char separator;
	struct kw_str *field;
	size_t count, cap;
	struct kw_buf text;               /* fields whose quotes were doubled */
};
void kw_csv_init(struct kw_csv *c, char separator);
void kw_csv_release(struct kw_csv *c);
/* False: the line ends inside a quoted field (the last field is what there is). */
bool kw_csv_split(struct kw_csv *c, struct kw_str line);
#endif
