/* fill.h - a pattern's slots (docs/add-a-pattern.md).
 *
 *     //< body                 a slot: the lines up to //> are an example; the author's text
 * replaces them y[i] = x[i];
 *     //>
 * (In Python the markers are #< and #>.)
 *
 *     //< for stage            a repeated slot: its lines come once for each item, with slots of
 * its own
 *     //< body
 *     //>
 *     //>
 *
 * Text of a slot gets the indentation of its opening line (preprocessor lines stay at column 0). A
 * slot that nobody fills comes out empty. The markers and the `pattern title why when roles` lines
 * do not come out at all. */
#ifndef KW_AUTHOR_FILL_H
#define KW_AUTHOR_FILL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#define KW_FILL_SLOTS 16
#define KW_FILL_LISTS 8

struct kw_fill {
	struct {
		const char *name, *text;
	} slot[KW_FILL_SLOTS];
	struct {
		const char *name; /* "stage" of `//< for stage` */
		const struct kw_fill *items;
		size_t count;
	} list[KW_FILL_LISTS];
	int slot_count, list_count;
};

/* Borrows both strings. False when there is no room (our bug). */
bool kw_fill_set(struct kw_fill *f, const char *name, const char *text);
bool kw_fill_list(struct kw_fill *f, const char *name, const struct kw_fill *items, size_t count);
/* file: for messages. KW_ERR_INPUT for markers that do not pair. */
enum kw_status kw_fill_pattern(const char *file, const char *text, size_t len,
			       const struct kw_fill *f, struct kw_buf *out, struct kw_error *err);
/* The example lines of the first slot of that name, as they stand; empty when there is none. */
struct kw_str kw_fill_example(const char *text, size_t len, const char *name);
/* Whether the pattern has a slot (or list, "for stage") of that name. */
bool kw_fill_has(const char *text, size_t len, const char *name);

#endif
