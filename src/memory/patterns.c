#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static int by_name(const void *x, const void *y)
{
	const struct kw_pattern *p = x, *q = y;

	return strcmp(p->name, q->name) ? strcmp(p->name, q->name) : strcmp(p->backend, q->backend);
}

enum kw_status kw_memory_patterns(const char *backend, struct kw_arena *a, struct kw_pattern **out,
				  size_t *count, struct kw_error *err)
{
	char **paths;
	size_t n, kept = 0;
	enum kw_status st = kw_data_list("knowledge/patterns/", NULL, a, &paths, &n, err);

	*count = 0;
	if (st != KW_OK)
		return st;
	*out = kw_arena_calloc(a, n + 1, sizeof(**out));
	if (!*out)
		return kw_fail(err, KW_ERR_NOMEM, "knowledge/patterns/",
			       "no memory for the patterns");
	for (size_t i = 0; i < n; i++) {
		struct kw_pattern *p = &(*out)[kept];
		size_t len;
		char *text;

		st = kw_data_read(paths[i], a, &text, &len, err);
		if (st == KW_OK)
			st = kw_pattern_parse(paths[i], text, len, a, p, err);
		if (st != KW_OK)
			return st;
		if (!backend || strcmp(p->backend, backend) == 0)
			kept++;
	}
	qsort(*out, kept, sizeof(**out), by_name);
	*count = kept;
	return KW_OK;
}
