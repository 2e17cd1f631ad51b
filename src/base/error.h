/* error.h - what went wrong, told once by the lowest frame.
 *
 * The caller owns a `struct kw_error` and passes it down; NULL is allowed and drops
 * the text. The lowest frame calls kw_fail() and returns its value; frames above add
 * what they were doing with kw_error_while().
 *
 *     if (fd < 0)
 *         return kw_fail(err, KW_ERR_IO, path, "cannot open: %s", strerror(errno));
 *
 * `where` is a file, "file:line" or "file:line:column"; empty if there is none.
 * Printed form: "WHERE: TEXT" with the while-parts behind it. Thread rule: one owner. */
#ifndef KW_BASE_ERROR_H
#define KW_BASE_ERROR_H

#include "base/status.h"

struct kw_error {
	enum kw_status status;
	char where[512];
	char text[1536];
};

/* Fills err (if not NULL) and returns s. Texts that do not fit are cut, never overrun; they are UTF-8 whatever went in. */
enum kw_status kw_fail(struct kw_error *err, enum kw_status s, const char *where,
		       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Appends " (while FMT)" to the text's first line; returns err's status. */
enum kw_status kw_error_while(struct kw_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void kw_error_reset(struct kw_error *err);
/* Writes "where: text" into out (always NUL-terminated); returns out. */
const char *kw_error_line(const struct kw_error *err, char *out, unsigned long out_bytes);

#endif
