#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/* Of reading: a file that we may not read, or whose name cannot be one, is a bad input; a disk that fails is not. */
static enum kw_status fail_errno(struct kw_error *err, const char *path, const char *what)
{
	enum kw_status s = errno == ENOENT || errno == ENOTDIR			      ? KW_ERR_NOT_FOUND
			   : errno == ENOMEM					      ? KW_ERR_NOMEM
			   : errno == EACCES || errno == ELOOP || errno == ENAMETOOLONG ? KW_ERR_INPUT
											: KW_ERR_IO;

	return kw_fail(err, s, path, "%s: %s", what, strerror(errno));
}

static enum kw_status fail_too_large(struct kw_error *err, const char *path, long long bytes,
				     size_t max_bytes)
{
	return kw_fail(err, KW_ERR_LIMIT, path, "%lld bytes; at most %zu are read", bytes,
		       max_bytes);
}

static enum kw_status read_fd(int fd, const char *path, size_t max_bytes, struct kw_buf *out,
			      struct kw_error *err)
{
	size_t total = 0;
	char chunk[65536];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(err, path, "cannot read");
		if (n == 0)
			break;
		total += (size_t)n;
		if (total > max_bytes)
			return fail_too_large(err, path, (long long)total, max_bytes);
		kw_buf_add(out, chunk, (size_t)n);
	}
	kw_buf_add(out, "", 0); /* an empty file gives "" and not NULL */
	if (out->full && out->len < out->max_bytes && total <= out->max_bytes - out->len)
		return kw_fail(err, KW_ERR_NOMEM, path, "out of memory while reading");
	if (out->full)
		return kw_fail(err, KW_ERR_LIMIT, path, "%zu bytes do not fit a buffer of %zu",
			       total, out->max_bytes);
	return KW_OK;
}

enum kw_status kw_file_read(const char *path, size_t max_bytes, struct kw_buf *out,
			    struct kw_error *err)
{
	/* O_NONBLOCK: a FIFO without a writer must not hang us before fstat sees what it is. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum kw_status s;
	struct stat st;

	if (fd < 0)
		return fail_errno(err, path, "cannot open");
	if (fstat(fd, &st) < 0)
		s = fail_errno(err, path, "cannot stat");
	else if (!S_ISREG(st.st_mode))
		s = kw_fail(err, KW_ERR_INPUT, path, "is %s, not a file",
			    S_ISDIR(st.st_mode) ? "a directory" : "a device or pipe");
	else if (st.st_size > 0 && (unsigned long long)st.st_size > max_bytes)
		s = fail_too_large(err, path, (long long)st.st_size, max_bytes);
	else
		s = read_fd(fd, path, max_bytes, out, err);
	close(fd);
	return s;
}

enum kw_status kw_file_read_arena(const char *path, size_t max_bytes, struct kw_arena *a,
				  char **text, size_t *len, struct kw_error *err)
{
	enum kw_status s;
	struct kw_buf b;

	kw_buf_init(&b, max_bytes);
	s = kw_file_read(path, max_bytes, &b, err);
	if (s == KW_OK) {
		*text = kw_arena_str(a, kw_buf_str(&b));
		if (!*text)
			s = kw_fail(err, KW_ERR_NOMEM, path, "out of memory for %zu bytes", b.len);
		else if (len)
			*len = b.len;
	}
	kw_buf_release(&b);
	return s;
}

enum kw_status kw_fd_write_all(int fd, const void *bytes, size_t len, const char *name,
			       struct kw_error *err)
{
	const char *p = bytes;

	if (kw_fail_nth("KW_FAIL_WRITE")) {
		errno = ENOSPC;
		return kw_fail(err, KW_ERR_IO, name, "cannot write: %s", strerror(errno));
	}
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return kw_fail(err, KW_ERR_IO, name, "cannot write: %s",
				       n < 0 ? strerror(errno) : "nothing is taken");
		p += n;
		len -= (size_t)n;
	}
	return KW_OK;
}

/* A rename would replace a link, or /dev/stdout itself: follow links, refuse what is no file. */
static enum kw_status real_target(const char *path, char real[PATH_MAX], struct kw_error *err)
{
	struct stat st;

	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return kw_fail(err, KW_ERR_INPUT, path, "cannot write: is %s, not a file",
				       S_ISDIR(st.st_mode) ? "a directory" : "a device or pipe");
		if (realpath(path, real))
			return KW_OK;
	}
	if ((size_t)snprintf(real, PATH_MAX, "%s", path) >= PATH_MAX)
		return kw_fail(err, KW_ERR_INPUT, path, "the path is too long");
	return KW_OK;
}

/* Makes the rename itself durable; a file system that cannot do it is not an error. */
static void sync_folder_of(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	int fd;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir ? 1 : 0] = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static enum kw_status write_file(const char *path, const void *bytes, size_t len, bool durable, struct kw_error *err)
{
	static atomic_uint serial;
	char real[PATH_MAX], temporary[PATH_MAX + 64];
	enum kw_status s = real_target(path, real, err);
	int fd;

	if (s != KW_OK)
		return s;
	snprintf(temporary, sizeof(temporary), "%s.%ld-%u.tmp", real, (long)getpid(),
		 atomic_fetch_add(&serial, 1));
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return kw_fail(err, KW_ERR_IO, path, "cannot write: %s", strerror(errno));
	s = kw_fd_write_all(fd, bytes, len, path, err);
	if (s == KW_OK && durable && fsync(fd) < 0 && errno != EINVAL && errno != ENOSYS)
		s = kw_fail(err, KW_ERR_IO, path, "cannot write: %s", strerror(errno));
	if (close(fd) < 0 && s == KW_OK)
		s = kw_fail(err, KW_ERR_IO, path, "cannot write: %s", strerror(errno));
	if (s == KW_OK && rename(temporary, real) < 0)
		s = kw_fail(err, KW_ERR_IO, path, "cannot write: %s", strerror(errno));
	if (s != KW_OK)
		unlink(temporary);
	else if (durable)
		sync_folder_of(real);
	return s;
}

enum kw_status kw_file_write(const char *path, const void *bytes, size_t len, struct kw_error *err)
{
	return write_file(path, bytes, len, true, err);
}

enum kw_status kw_file_write_scratch(const char *path, const void *bytes, size_t len, struct kw_error *err)
{
	return write_file(path, bytes, len, false, err);
}

bool kw_path_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

char *kw_path_join(struct kw_arena *a, const char *dir, const char *name)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	while (*name == '/')
		name++;
	if (n == 0)
		return kw_arena_strdup(a, name);
	return kw_arena_printf(a, "%.*s%s%s", (int)n, dir, dir[n - 1] == '/' ? "" : "/", name);
}

const char *kw_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* XDG says that a relative path in its variables is to be ignored. */
static char *xdg_home(struct kw_arena *a, const char *variable, const char *below_home)
{
	const char *xdg = getenv(variable), *home = getenv("HOME");

	if (xdg && xdg[0] == '/')
		return kw_path_join(a, xdg, "kernelwright");
	return kw_arena_printf(a, "%s/%s/kernelwright", home && home[0] == '/' ? home : "/tmp",
			       below_home);
}

char *kw_path_data_home(struct kw_arena *a)
{
	return xdg_home(a, "XDG_DATA_HOME", ".local/share");
}

char *kw_path_cache_home(struct kw_arena *a)
{
	return xdg_home(a, "XDG_CACHE_HOME", ".cache");
}

enum kw_status kw_temp_folder(const char *name, char out[PATH_MAX], struct kw_error *err)
{
	const char *base = getenv("TMPDIR");
	int saved;

	if (snprintf(out, PATH_MAX, "%s/%s-XXXXXX", base && base[0] == '/' ? base : "/tmp", name) < PATH_MAX && mkdtemp(out))
		return KW_OK;
	saved = errno;
	out[0] = '\0';
	return kw_fail(err, KW_ERR_IO, base && base[0] == '/' ? base : "/tmp", "cannot make a folder: %s", strerror(saved));
}
