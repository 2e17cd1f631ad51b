/* str.h - string views that own nothing, and buffers that must declare a maximum.
 *
 *     struct kw_buf b;
 *     kw_buf_init(&b, 1 << 20);
 *     kw_buf_printf(&b, "%zu rows", n);
 *     puts(b.ptr);                              // NUL-terminated once anything was added
 *     kw_buf_release(&b);
 *
 * A buffer whose maximum is reached (or that meets out-of-memory) sets `full`, keeps what
 * it has, and ignores further appends: check b.full once at the end. */
#ifndef KW_BASE_STR_H
#define KW_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kw_str {
	const char *ptr;
	size_t len;
};
#define KW_STR(lit) ((struct kw_str){ (lit), sizeof(lit) - 1 })
#define KW_STR_FMT "%.*s"
#define KW_STR_ARG(s) (int)(s).len, (s).ptr

struct kw_str kw_str_from(const char *z);                       /* NULL gives empty */
bool kw_str_eq(struct kw_str a, struct kw_str b);
bool kw_str_eqz(struct kw_str a, const char *z);
bool kw_str_starts(struct kw_str a, const char *prefix);
bool kw_str_holds(struct kw_str a, const char *part);
struct kw_str kw_str_trim(struct kw_str s);                     /* spaces, tabs, CR, LF */
/* Splits off the part before sep (or all of it); advances *rest past the separator.
 * Returns false when *rest was empty (ptr NULL) at entry. */
bool kw_str_split(struct kw_str *rest, char sep, struct kw_str *part);
bool kw_str_to_i64(struct kw_str s, int64_t *out);              /* whole string, no overflow */
bool kw_str_to_f64(struct kw_str s, double *out);               /* whole string, C locale */
/* The nearest of n words by edit distance, or NULL when none is within a third of the
 * length (at least 1, swaps count once): for "did you mean". */
const char *kw_str_nearest(const char *word, const char *const *words, size_t n);
bool kw_utf8_valid(const char *p, size_t len);
size_t kw_utf8_prefix(const char *p, size_t len);               /* bytes before the first that are no UTF-8 */
/* Takes what a terminal was told (colours, links, ESC [ ... m, ESC ] ... BEL) out of text, in place; returns what is left of len. "^[[31m", as
 * pagers show it, goes too. A sequence ends at its line's end at the latest. */
size_t kw_text_without_escapes(char *p, size_t len);
/* The line of what keeps bytes from being text, and what it is ("a NUL byte"); 0: they are text. */
int kw_text_bad_line(const char *p, size_t len, const char **what);

struct kw_buf {
	char *ptr;
	size_t len, cap, max_bytes;
	bool full;
};
void kw_buf_init(struct kw_buf *b, size_t max_bytes);
void kw_buf_release(struct kw_buf *b);
void kw_buf_reset(struct kw_buf *b);                            /* keeps capacity */
void kw_buf_add(struct kw_buf *b, const void *p, size_t len);
void kw_buf_addz(struct kw_buf *b, const char *z);
void kw_buf_addc(struct kw_buf *b, char c);
void kw_buf_printf(struct kw_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kw_buf_vprintf(struct kw_buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
struct kw_str kw_buf_str(const struct kw_buf *b);
/* Hands the bytes to the caller (kw_free); the buffer is empty afterwards. NULL if full. */
char *kw_buf_take(struct kw_buf *b);

/* "1.5 GB", "64 MiB", "12.3 ms", "4.2 us": for people, never for programs. out >= 32 bytes. */
const char *kw_human_bytes(double bytes, char *out, size_t out_bytes);      /* powers of 1024 */
const char *kw_human_ns(double ns, char *out, size_t out_bytes);
const char *kw_human_rate(double per_s, const char *unit, char *out, size_t out_bytes); /* 1000s */

#endif
