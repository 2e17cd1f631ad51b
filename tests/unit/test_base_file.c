#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "tap.h"
#include "temp.h"

static struct kw_error err;

static void put(const char *path, const char *text)
{
	is_int(kw_file_write(path, text, strlen(text), &err), KW_OK, "write %s",
	       kw_path_base(path));
}

static void is_content(const char *path, const char *want, const char *name)
{
	struct kw_buf b;

	kw_buf_init(&b, 1 << 20);
	kw_file_read(path, 1 << 20, &b, &err);
	is_str(b.ptr, want, "%s", name);
	kw_buf_release(&b);
}

static void test_read(void)
{
	struct kw_buf b;

	kw_buf_init(&b, 100);
	is_int(kw_file_read(temp_file("none"), 10, &b, &err), KW_ERR_NOT_FOUND, "no file");
	has_str(err.where, "/none", "names it");
	has_str(err.text, "No such file", "and says what the system said");
	is_int(kw_file_read(temp_dir(), 10, &b, &err), KW_ERR_INPUT, "a folder");
	is_int(kw_file_read("/dev/null", 10, &b, &err), KW_ERR_INPUT, "a device");
	mkfifo(temp_file("fifo"), 0600);
	is_int(kw_file_read(temp_file("fifo"), 10, &b, &err), KW_ERR_INPUT, "a pipe does not hang");
	put(temp_file("ten"), "0123456789");
	is_int(kw_file_read(temp_file("ten"), 9, &b, &err), KW_ERR_LIMIT, "too large");
	has_str(err.text, "10 bytes; at most 9", "says both sizes");
	is_int(kw_file_read(temp_file("ten"), 10, &b, &err), KW_OK, "just fits");
	is_str(b.ptr, "0123456789", "and is read");
	is_int(kw_file_read(temp_file("ten"), 10, &b, &err), KW_OK, "again");
	is_int(b.len, 20, "is appended");
	kw_buf_release(&b);
	put(temp_file("empty"), "");
	is_content(temp_file("empty"), "", "an empty file");
	is_int(kw_file_read("/proc/self/status", 1 << 20, &b, &err), KW_ERR_LIMIT,
	       "a file that tells no size meets the buffer's maximum");
	kw_buf_release(&b);
	kw_buf_init(&b, 1 << 20);
	is_int(kw_file_read("/proc/self/status", 1 << 20, &b, &err), KW_OK, "or is read");
	kw_buf_release(&b);
}

static void test_write(void)
{
	char **names;
	struct kw_arena a;
	size_t n = 0;

	kw_arena_init(&a, 1 << 20);
	put(temp_file("w"), "old");
	setenv("KW_FAIL_WRITE", "1", 1);
	kw_fail_reload();
	is_int(kw_file_write(temp_file("w"), "new", 3, &err), KW_ERR_IO, "a full disk");
	has_str(err.text, "No space left", "is told");
	unsetenv("KW_FAIL_WRITE");
	kw_fail_reload();
	is_content(temp_file("w"), "old", "and the old file is whole");
	put(temp_file("w"), "new");
	is_content(temp_file("w"), "new", "then it is replaced");
	is_int(symlink("w", temp_file("link")), 0, "a link");
	put(temp_file("link"), "through");
	is_content(temp_file("w"), "through", "is followed, not replaced");
	is_int(kw_file_write(temp_dir(), "x", 1, &err), KW_ERR_INPUT, "a folder is refused");
	is_int(kw_file_write("/dev/full", "x", 1, &err), KW_ERR_INPUT, "a device is refused");
	is_int(kw_file_write(temp_file("no/such"), "x", 1, &err), KW_ERR_IO, "no folder");
	kw_dir_list(temp_dir(), ".tmp", &a, &names, &n, &err);
	is_int(n, 0, "no temporary file is left");
	kw_arena_release(&a);
}

static void test_dirs(void)
{
	struct kw_arena a;
	struct stat st;
	char **names = NULL;
	size_t n = 0;

	kw_arena_init(&a, 1 << 20);
	is_int(kw_mkdirs(temp_file("d/e//f/"), &err), KW_OK, "mkdirs");
	is_int(kw_mkdirs(temp_file("d/e/f"), &err), KW_OK, "again");
	put(temp_file("d/b.yaml"), "");
	put(temp_file("d/a.yaml"), "");
	put(temp_file("d/c.txt"), "");
	is_int(kw_mkdirs(temp_file("d/c.txt/x"), &err), KW_ERR_IO, "not below a file");
	is_int(kw_dir_list(temp_file("d"), NULL, &a, &names, &n, &err), KW_OK, "list");
	is_int(n, 4, "four entries");
	is_str(n ? names[0] : NULL, "a.yaml", "sorted");
	is_int(kw_dir_list(temp_file("d"), ".yaml", &a, &names, &n, &err), KW_OK, "by suffix");
	is_int(n, 2, "two");
	is_int(kw_dir_list(temp_file("x"), NULL, &a, &names, &n, &err), KW_ERR_NOT_FOUND, "none");
	put(temp_file("outside"), "kept");
	is_int(symlink(temp_dir(), temp_file("d/e/up")), 0, "a link to the folder above");
	is_int(chmod(temp_file("d/e"), 0500), 0, "a read-only folder");
	if (getuid() == 0)
		is_int(kw_rmtree(temp_file("d"), &err), KW_OK, "rmtree");
	else {
		chmod(temp_file("d/e"), 0700);
		is_int(kw_rmtree(temp_file("d"), &err), KW_OK, "rmtree");
	}
	ok(lstat(temp_file("d"), &st) < 0, "removes all");
	is_content(temp_file("outside"), "kept", "but nothing behind a link");
	is_int(kw_rmtree(temp_file("d"), &err), KW_OK, "nothing there is fine");
	kw_arena_release(&a);
}

static void test_paths(void)
{
	struct kw_arena a;

	kw_arena_init(&a, 1 << 20);
	is_str(kw_path_join(&a, "a", "b"), "a/b", "join");
	is_str(kw_path_join(&a, "a//", "/b"), "a/b", "one slash");
	is_str(kw_path_join(&a, "/", "b"), "/b", "the root");
	is_str(kw_path_join(&a, "", "b"), "b", "nothing before");
	is_str(kw_path_base("a/b.c"), "b.c", "base");
	setenv("XDG_DATA_HOME", "/x", 1);
	is_str(kw_path_data_home(&a), "/x/kernelwright", "XDG_DATA_HOME");
	setenv("XDG_DATA_HOME", "relative", 1);
	setenv("HOME", "/h", 1);
	is_str(kw_path_data_home(&a), "/h/.local/share/kernelwright", "a relative one is ignored");
	unsetenv("XDG_CACHE_HOME");
	is_str(kw_path_cache_home(&a), "/h/.cache/kernelwright", "the cache");
	kw_arena_release(&a);
}

static int differing_from_source(struct kw_arena *a, char **paths, size_t count)
{
	const char *top = getenv("KW_TOP");
	int differing = 0;

	for (size_t i = 0; i < count; i++) {
		char *built_in, *source, *path = kw_path_join(a, top ? top : ".", paths[i]);
		size_t n = 0, m = 0;

		if (kw_data_read(paths[i], a, &built_in, &n, &err) == KW_OK &&
		    kw_file_read_arena(path, 8 << 20, a, &source, &m, &err) == KW_OK && n == m &&
		    memcmp(built_in, source, n) == 0)
			continue;
		diag("%s differs", paths[i]);
		differing++;
	}
	return differing;
}

static void test_data(void)
{
	struct kw_arena a;
	char **paths, *text;
	size_t n, built_in, len;

	kw_arena_init(&a, 256 << 20);
	is_int(kw_data_read("../etc/passwd", &a, &text, &len, &err), KW_ERR_NOT_FOUND, "no ..");
	is_int(kw_data_read("/etc/passwd", &a, &text, &len, &err), KW_ERR_NOT_FOUND, "no root");
	is_int(kw_data_read("zz/none", &a, &text, &len, &err), KW_ERR_NOT_FOUND, "not built in");
	is_int(kw_data_list("", NULL, &a, &paths, &built_in, &err), KW_OK, "list what is built in");
	for (size_t i = 0; i < built_in; i++)
		if ((i > 0 && strcmp(paths[i - 1], paths[i]) >= 0) ||
		    kw_data_read(paths[i], &a, &text, &len, &err) != KW_OK)
			ok(false, "%s is in order and readable", paths[i]);
	is_int(differing_from_source(&a, paths, built_in), 0, "%zu built-in files are as in the sources",
	       built_in);
	kw_mkdirs(temp_file("data/zz/sub"), &err);
	put(temp_file("data/zz/one.yaml"), "one");
	put(temp_file("data/zz/sub/two.yaml"), "two");
	put(temp_file("data/zz/three.txt"), "three");
	kw_data_set_dir(temp_file("data"));
	is_int(kw_data_read("zz/one.yaml", &a, &text, &len, &err), KW_OK, "--data overrides");
	is_str(text, "one", "with its text");
	is_int(len, 3, "and length");
	kw_data_list("zz/", ".yaml", &a, &paths, &n, &err);
	is_int(n, 2, "two below a prefix");
	is_str(n == 2 ? paths[1] : NULL, "zz/sub/two.yaml", "folders inside too");
	kw_data_list("", NULL, &a, &paths, &n, &err);
	is_int(n, built_in + 3, "merged with what is built in");
	kw_data_set_dir(NULL);
	kw_arena_release(&a);
}

static int scenario(void *path)
{
	struct kw_error e = { 0 };
	struct kw_arena a;
	char *text;
	enum kw_status s;

	kw_arena_init(&a, 1 << 20);
	s = kw_file_write(path, "0123456789", 10, &e);
	if (s == KW_OK)
		s = kw_file_read_arena(path, 100, &a, &text, NULL, &e);
	kw_arena_release(&a);
	return s == KW_OK ? 0 : e.text[0] && e.where[0] ? 1 : 2;
}

int main(void)
{
	char path[PATH_MAX];

	test_read();
	test_write();
	test_dirs();
	test_paths();
	test_data();
	snprintf(path, sizeof(path), "%s", temp_file("scenario"));
	fails_cleanly("KW_FAIL_ALLOC", 50, scenario, path, "a file");
	fails_cleanly("KW_FAIL_WRITE", 50, scenario, path, "a file");
	return done();
}
