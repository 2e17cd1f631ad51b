/* Files built into the program, and the folder that overrides them (declared in file.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/embed.h"
#include "base/file.h"

enum { DATA_MAX_BYTES = 8 << 20, DATA_MAX_DEPTH = 12 };

static const char *data_dir;

void kw_data_set_dir(const char *dir)
{
	data_dir = dir;
}

/* Relative, and no part is "..": the name of a task may come from outside. */
static bool is_inside(const char *path)
{
	struct kw_str rest = kw_str_from(path), part;

	if (path[0] == '\0' || path[0] == '/')
		return false;
	while (kw_str_split(&rest, '/', &part))
		if (kw_str_eqz(part, ".."))
			return false;
	return true;
}

static int by_path(const void *key, const void *entry)
{
	return strcmp(key, ((const struct kw_embedded *)entry)->path);
}

static enum kw_status read_embedded(const char *path, struct kw_arena *a, char **text, size_t *len,
				    struct kw_error *err)
{
	const struct kw_embedded *f = NULL;
	size_t n;

	if (kw_embedded_count > 0)
		f = bsearch(path, kw_embedded_files, kw_embedded_count, sizeof(*f), by_path);
	if (!f)
		return kw_fail(err, KW_ERR_NOT_FOUND, path, "no such file is built in");
	n = (size_t)(f->end - f->start);
	*text = kw_arena_strndup(a, (const char *)f->start, n);
	if (!*text)
		return kw_fail(err, KW_ERR_NOMEM, path, "out of memory for %zu bytes", n);
	if (len)
		*len = n;
	return KW_OK;
}

enum kw_status kw_data_read(const char *path, struct kw_arena *a, char **text, size_t *len,
			    struct kw_error *err)
{
	if (!is_inside(path))
		return kw_fail(err, KW_ERR_NOT_FOUND, path, "not a path inside the data folder");
	if (data_dir) {
		char *full = kw_path_join(a, data_dir, path);

		if (!full)
			return kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
		if (kw_path_exists(full))
			return kw_file_read_arena(full, DATA_MAX_BYTES, a, text, len, err);
	}
	return read_embedded(path, a, text, len, err);
}

struct path_list {
	struct kw_arena *arena;
	const char *prefix, *suffix;
	char **paths;
	size_t count, cap;
};

static bool wanted(const struct path_list *l, const char *path)
{
	size_t n = strlen(path), m = l->suffix ? strlen(l->suffix) : 0;

	return strncmp(path, l->prefix, strlen(l->prefix)) == 0 && n >= m &&
	       (m == 0 || memcmp(path + n - m, l->suffix, m) == 0);
}

/* Keeps path, which must live as long as the arena. */
static bool add_path(struct path_list *l, char *path)
{
	if (l->count == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		char **more = kw_arena_calloc(l->arena, cap, sizeof(*more));

		if (!more)
			return false;
		if (l->count)
			memcpy(more, l->paths, l->count * sizeof(*more));
		l->paths = more;
		l->cap = cap;
	}
	l->paths[l->count++] = path;
	return true;
}

/* Adds what lies below folder (relative to data_dir; "" is data_dir itself). */
static enum kw_status walk(struct path_list *l, const char *folder, int depth, struct kw_error *err)
{
	char *full = kw_path_join(l->arena, data_dir, folder), **names;
	enum kw_status s;
	size_t count;

	if (!full)
		return kw_fail(err, KW_ERR_NOMEM, data_dir, "out of memory");
	if (depth > DATA_MAX_DEPTH || !kw_path_exists(full))
		return KW_OK;
	s = kw_dir_list(full, NULL, l->arena, &names, &count, err);
	for (size_t i = 0; s == KW_OK && i < count; i++) {
		char *path = kw_path_join(l->arena, folder, names[i]);
		char *at = path ? kw_path_join(l->arena, data_dir, path) : NULL;
		struct stat st;

		if (!at)
			return kw_fail(err, KW_ERR_NOMEM, data_dir, "out of memory");
		if (stat(at, &st) < 0 || names[i][0] == '.')
			continue;
		if (S_ISDIR(st.st_mode))
			s = walk(l, path, depth + 1, err);
		else if (S_ISREG(st.st_mode) && wanted(l, path) && !add_path(l, path))
			s = kw_fail(err, KW_ERR_NOMEM, data_dir, "out of memory");
	}
	return s;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

enum kw_status kw_data_list(const char *prefix, const char *suffix, struct kw_arena *a,
			    char ***paths, size_t *count, struct kw_error *err)
{
	struct path_list l = { .arena = a, .prefix = prefix, .suffix = suffix };
	const char *slash = strrchr(prefix, '/');
	enum kw_status s = KW_OK;
	size_t kept = 0;

	if (data_dir) {
		char *folder = kw_arena_strndup(a, prefix, slash ? (size_t)(slash - prefix) : 0);

		if (!folder)
			return kw_fail(err, KW_ERR_NOMEM, prefix, "out of memory");
		s = walk(&l, folder, 0, err);
	}
	for (size_t i = 0; s == KW_OK && i < kw_embedded_count; i++) {
		const char *path = kw_embedded_files[i].path;
		char *copy;

		if (!wanted(&l, path))
			continue;
		copy = kw_arena_strdup(a, path);
		if (!copy || !add_path(&l, copy))
			s = kw_fail(err, KW_ERR_NOMEM, prefix, "out of memory");
	}
	if (s != KW_OK)
		return s;
	if (l.count)
		qsort(l.paths, l.count, sizeof(*l.paths), by_text);
	for (size_t i = 0; i < l.count; i++)
		if (kept == 0 || strcmp(l.paths[kept - 1], l.paths[i]) != 0)
			l.paths[kept++] = l.paths[i];
	*paths = l.paths;
	*count = kept;
	return KW_OK;
}
