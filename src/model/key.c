/* Keys: from a file that nobody else can read, checked before it is believed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/chat.h"

enum { KEY_MAX_BYTES = 4096 };

static enum kw_status check_mode(const char *path, const struct stat *st, struct kw_error *err)
{
	if (!S_ISREG(st->st_mode))
		return kw_fail(err, KW_ERR_INPUT, path, "a key file is a plain file");
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return kw_fail(err, KW_ERR_INPUT, path, "the key file belongs to somebody else");
	if (st->st_mode & 077)
		return kw_fail(err, KW_ERR_INPUT, path, "others can read the key file (mode %03o); chmod 600 it",
			       (unsigned)(st->st_mode & 0777));
	return KW_OK;
}

enum kw_status kw_key_read(const char *path, struct kw_arena *a, const char **key, struct kw_error *err)
{
	char text[KEY_MAX_BYTES];
	struct stat st;
	struct kw_str k;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum kw_status status;

	if (fd < 0)
		return kw_fail(err, errno == ENOENT ? KW_ERR_NOT_FOUND : KW_ERR_IO, path, "cannot read the key file: %s",
			       strerror(errno));
	status = fstat(fd, &st) == 0 ? check_mode(path, &st, err) : kw_fail(err, KW_ERR_IO, path, "%s", strerror(errno));
	n = status == KW_OK ? read(fd, text, sizeof(text)) : 0;
	close(fd);
	if (status != KW_OK)
		return status;
	k = kw_str_trim((struct kw_str){ text, n > 0 ? (size_t)n : 0 });
	if (k.len == 0 || n == KEY_MAX_BYTES)
		status = kw_fail(err, KW_ERR_INPUT, path, k.len ? "the key file is longer than any key" : "the key file is empty");
	else if (!(*key = kw_arena_str(a, k)))
		status = kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	explicit_bzero(text, sizeof(text));
	return status;
}
