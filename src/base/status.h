/* status.h - the one list of outcomes that a function can return.
 *
 * A function that can fail returns `enum kw_status` and fills a caller-owned
 * `struct kw_error` (error.h). A wrong kernel, a failed build or a nonsense answer
 * of a model is a *result*, never a status: status is about us and our machine.
 *
 * Columns: name, process exit code (see docs/verdicts.md), short text. */
#ifndef KW_BASE_STATUS_H
#define KW_BASE_STATUS_H

#define KW_STATUS_LIST(X)                                                      \
	X(KW_OK, 0, "ok")                                                      \
	X(KW_NO, 1, "the answer is no")                                        \
	X(KW_ERR_USAGE, 2, "bad usage")                                        \
	X(KW_ERR_INPUT, 2, "bad input file")                                   \
	X(KW_ERR_NOT_FOUND, 2, "not found")                                    \
	X(KW_ERR_LIMIT, 2, "over a limit")                                     \
	X(KW_ERR_ENV, 3, "tool or device missing")                             \
	X(KW_ERR_IO, 3, "file or socket failed")                               \
	X(KW_ERR_STORE, 3, "store failed")                                     \
	X(KW_ERR_NOMEM, 3, "out of memory")                                    \
	X(KW_ERR_INTERRUPTED, 4, "interrupted")                                \
	X(KW_ERR_BUG, 5, "our bug")

enum kw_status {
#define X(name, code, text) name,
	KW_STATUS_LIST(X)
#undef X
};

/* "KW_ERR_IO"; "ok" texts for people come from kw_status_text. Never NULL. */
const char *kw_status_name(enum kw_status s);
const char *kw_status_text(enum kw_status s);
/* The process exit code of design section 14. */
int kw_status_exit(enum kw_status s);

#endif
