/* Directories (declared in file.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { TREE_MAX_DEPTH = 200 }; /* one open descriptor a level */

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum kw_status kw_mkdirs(const char *path, struct kw_error *err)
{
	char part[PATH_MAX];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(part))
		return kw_fail(err, KW_ERR_INPUT, path, "cannot make a folder: the path is %s",
			       n ? "too long" : "empty");
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0777) < 0) {
			int why = errno; /* is_dir sets another */

			if (!is_dir(part))
				return kw_fail(err, KW_ERR_IO, path, "cannot make folder %s: %s", part,
					       strerror(why == EEXIST ? ENOTDIR : why));
		}
	}
	return KW_OK;
}

static int remove_below(int parent, const char *name, int depth);

static int remove_entries(int fd, int depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!d) {
		close(fd);
		return -1;
	}
	while (rc == 0 && (errno = 0, e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = remove_below(dirfd(d), e->d_name, depth + 1);
	if (rc == 0 && errno != 0)
		rc = -1;
	if (rc < 0) {
		int keep = errno;

		closedir(d);
		errno = keep;
		return rc;
	}
	closedir(d);
	return 0;
}

static int remove_below(int parent, const char *name, int depth)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (depth > TREE_MAX_DEPTH) {
		errno = ELOOP;
		return -1;
	}
	fd = openat(parent, name, flags);
	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, flags);
	if (fd < 0 || remove_entries(fd, depth) < 0)
		return -1;
	return unlinkat(parent, name, AT_REMOVEDIR);
}

enum kw_status kw_rmtree(const char *path, struct kw_error *err)
{
	if (remove_below(AT_FDCWD, path, 0) < 0)
		return kw_fail(err, KW_ERR_IO, path, "cannot remove: %s", strerror(errno));
	return KW_OK;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = suffix ? strlen(suffix) : 0;

	return n >= m && memcmp(name + n - m, suffix ? suffix : "", m) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct name_link {
	struct name_link *next;
	char *name;
};

static enum kw_status collect(DIR *d, const char *suffix, struct kw_arena *a,
			      struct name_link **list, size_t *count)
{
	struct dirent *e;

	while ((errno = 0, e = readdir(d)) != NULL) {
		struct name_link *link;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    !has_suffix(e->d_name, suffix))
			continue;
		link = kw_arena_alloc(a, sizeof(*link));
		if (!link || !(link->name = kw_arena_strdup(a, e->d_name)))
			return KW_ERR_NOMEM;
		link->next = *list;
		*list = link;
		(*count)++;
	}
	return errno == 0 ? KW_OK : KW_ERR_IO;
}

enum kw_status kw_dir_list(const char *path, const char *suffix, struct kw_arena *a,
			   char ***names, size_t *count, struct kw_error *err)
{
	struct name_link *list = NULL;
	size_t n = 0, i = 0;
	DIR *d = opendir(path);
	enum kw_status s;

	if (!d)
		return kw_fail(err, errno == ENOENT ? KW_ERR_NOT_FOUND : KW_ERR_IO, path,
			       "cannot list the folder: %s", strerror(errno));
	s = collect(d, suffix, a, &list, &n);
	if (s == KW_ERR_IO)
		kw_fail(err, s, path, "cannot list the folder: %s", strerror(errno));
	closedir(d);
	if (s == KW_ERR_IO)
		return s;
	*names = s == KW_OK ? kw_arena_calloc(a, n + 1, sizeof(**names)) : NULL;
	if (!*names)
		return kw_fail(err, KW_ERR_NOMEM, path, "out of memory listing the folder");
	for (; list; list = list->next)
		(*names)[i++] = list->name;
	qsort(*names, n, sizeof(**names), by_name);
	*count = n;
	return KW_OK;
}
