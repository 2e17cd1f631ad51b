/* file.h - whole files, safely: bounded reads, atomic writes, directories.
 *
 * Every failure names the path and what the system said. KW_FAIL_WRITE=n fails the n-th
 * write (alloc.h). A write is to a temporary file beside the target, fsync, rename: a full
 * disk or a kill leaves the old file whole. */
#ifndef KW_BASE_FILE_H
#define KW_BASE_FILE_H

#include <limits.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Appends the file to out. KW_ERR_NOT_FOUND, KW_ERR_LIMIT over max_bytes (says both sizes),
 * KW_ERR_INPUT when it is a directory or device, KW_ERR_IO otherwise. */
enum kw_status kw_file_read(const char *path, size_t max_bytes, struct kw_buf *out,
			    struct kw_error *err);
/* As above, NUL-terminated in the arena; *len may be NULL. */
enum kw_status kw_file_read_arena(const char *path, size_t max_bytes, struct kw_arena *a,
				  char **text, size_t *len, struct kw_error *err);
enum kw_status kw_file_write(const char *path, const void *bytes, size_t len, struct kw_error *err);
/* The same without fsync: for what a power cut may take, as folders of a build and caches that check what they read. */
enum kw_status kw_file_write_scratch(const char *path, const void *bytes, size_t len, struct kw_error *err);
enum kw_status kw_fd_write_all(int fd, const void *bytes, size_t len, const char *name,
			       struct kw_error *err);
enum kw_status kw_mkdirs(const char *path, struct kw_error *err);           /* mode 0777 & ~umask */
/* Removes a tree; a path that is not there is fine. Never follows links. */
enum kw_status kw_rmtree(const char *path, struct kw_error *err);
/* A new folder in $TMPDIR, else /tmp, called NAME- and six letters; out is empty when there is none. */
enum kw_status kw_temp_folder(const char *name, char out[PATH_MAX], struct kw_error *err);
bool kw_path_exists(const char *path);
/* dir + "/" + name in the arena (one slash). */
char *kw_path_join(struct kw_arena *a, const char *dir, const char *name);
const char *kw_path_base(const char *path);                                 /* after last '/' */
/* $XDG_DATA_HOME/kernelwright or ~/.local/share/kernelwright; likewise the cache. */
char *kw_path_data_home(struct kw_arena *a);
char *kw_path_cache_home(struct kw_arena *a);
/* Names (not paths) in a directory, sorted, without . and ..; suffix may be NULL. */
enum kw_status kw_dir_list(const char *path, const char *suffix, struct kw_arena *a,
			   char ***names, size_t *count, struct kw_error *err);

/* Files built into the program (knowledge/, tasks/, prompts/, python/, and the builder header):
 * path is as in the repository ("tasks/softmax.yaml"). A `--data DIR` overrides by file. */
void kw_data_set_dir(const char *dir);                                      /* borrowed; NULL resets */
enum kw_status kw_data_read(const char *path, struct kw_arena *a, char **text, size_t *len,
			    struct kw_error *err);
/* Paths under a prefix ("tasks/"), sorted, override and built-in merged. */
enum kw_status kw_data_list(const char *prefix, const char *suffix, struct kw_arena *a,
			    char ***paths, size_t *count, struct kw_error *err);

#endif
