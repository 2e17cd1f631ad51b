/* embed.h - the files built into the program; written by tools/embed, read by data.c only. */
#ifndef KW_BASE_EMBED_H
#define KW_BASE_EMBED_H

#include <stddef.h>

struct kw_embedded {
	const char *path;                  /* as in the repository; the list is sorted by it */
	const unsigned char *start, *end;  /* a NUL stands at end */
};
extern const struct kw_embedded kw_embedded_files[];
extern const size_t kw_embedded_count;

#endif
