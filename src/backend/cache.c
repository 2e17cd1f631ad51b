#include "backend/cache.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Layout: MAGIC, hash of the rest in hex, '\n', length of the JSON in 8 digits, '\n', JSON, code. */
#define MAGIC "kernelwright build 1\n"
enum { HEAD_BYTES = sizeof(MAGIC) - 1 + 64 + 1, LENGTH_BYTES = 9, MAX_ENTRY = 80 << 20, STALE_S = 3600 };
#define MAX_CACHE ((int64_t)1 << 30)

static const char *entry_dir(struct kw_arena *a)
{
	const char *home = kw_path_cache_home(a);

	return home ? kw_path_join(a, home, "build") : NULL;
}

static const char *entry_path(struct kw_arena *a, const char *key)
{
	const char *dir = entry_dir(a);

	return dir ? kw_arena_printf(a, "%s/%s.kwb", dir, key) : NULL;
}

/* ---- the JSON beside the code ---- */

static json_t *meta_to_json(const struct kw_artefact *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->diagnostic_count; i++) {
		const struct kw_diagnostic *d = &a->diagnostics[i];

		json_array_append_new(list, json_pack("{s:i,s:i,s:s,s:i,s:i,s:s}", "severity", (int)d->severity, "class",
						      (int)d->cls, "file", d->file, "line", d->line, "column", d->column,
						      "message", d->message));
	}
	return json_pack("{s:s,s:s,s:o,s:O?,s:s}", "kind", a->kind, "toolchain", a->toolchain, "diagnostics", list,
			 "facts", a->facts, "log", a->log ? a->log : "");
}

static bool meta_from_json(struct kw_artefact *a, const json_t *j)
{
	const json_t *list = json_object_get(j, "diagnostics"), *d;
	size_t n = json_array_size(list), i;

	a->diagnostics = n ? kw_calloc(n, sizeof(*a->diagnostics)) : NULL;
	if (n && !a->diagnostics)
		return false;
	json_array_foreach(list, i, d) {
		struct kw_diagnostic *out = &a->diagnostics[i];

		out->severity = (enum kw_severity)kw_json_get_i64(d, "severity", KW_NOTE);
		out->cls = (enum kw_subclass)kw_json_get_i64(d, "class", KW_S_NONE);
		out->line = (int)kw_json_get_i64(d, "line", 0);
		out->column = (int)kw_json_get_i64(d, "column", 0);
		snprintf(out->file, sizeof(out->file), "%s", kw_json_get_str(d, "file", ""));
		snprintf(out->message, sizeof(out->message), "%s", kw_json_get_str(d, "message", ""));
	}
	a->diagnostic_count = n;
	snprintf(a->toolchain, sizeof(a->toolchain), "%s", kw_json_get_str(j, "toolchain", ""));
	a->log = kw_strdup(kw_json_get_str(j, "log", ""));
	a->facts = json_deep_copy(json_object_get(j, "facts"));
	return a->log != NULL;
}

/* ---- entries ---- */

/* Whole and unaltered: then meta and code point into it. */
static bool check_entry(const struct kw_buf *b, struct kw_str *meta, struct kw_str *code)
{
	char hash[KW_SHA256_HEX], digits[LENGTH_BYTES];
	int64_t meta_len;
	size_t rest = HEAD_BYTES + LENGTH_BYTES;

	if (b->len < rest || memcmp(b->ptr, MAGIC, sizeof(MAGIC) - 1) != 0)
		return false;
	kw_sha256_hex(b->ptr + HEAD_BYTES, b->len - HEAD_BYTES, hash);
	if (memcmp(hash, b->ptr + sizeof(MAGIC) - 1, 64) != 0)
		return false;
	memcpy(digits, b->ptr + HEAD_BYTES, LENGTH_BYTES);
	if (!kw_str_to_i64((struct kw_str){ digits, LENGTH_BYTES - 1 }, &meta_len) || meta_len < 0 ||
	    (uint64_t)meta_len > b->len - rest)
		return false;
	*meta = (struct kw_str){ b->ptr + rest, (size_t)meta_len };
	*code = (struct kw_str){ b->ptr + rest + meta_len, b->len - rest - (size_t)meta_len };
	return true;
}

/* As a static string; NULL when it is none of ours. */
static const char *known_kind(const char *kind)
{
	static const char *const kinds[] = { "elf-so", "cubin", "opencl-binary", "hsaco", "triton-source", "module", "task" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return kinds[i];
	return NULL;
}

static bool load_entry(const struct kw_buf *b, struct kw_artefact *a)
{
	struct kw_str meta, code;
	json_t *j = NULL;
	bool good = false;

	if (!check_entry(b, &meta, &code) || kw_json_parse("build cache", meta.ptr, meta.len, &j, NULL) != KW_OK)
		return false;
	a->code = kw_alloc(code.len ? code.len : 1);
	if (a->code && meta_from_json(a, j)) {
		memcpy(a->code, code.ptr, code.len);
		a->code_bytes = code.len;
		a->kind = known_kind(kw_json_get_str(j, "kind", ""));
		good = a->kind != NULL;
	}
	json_decref(j);
	return good;
}

bool kw_cache_get(const char key[KW_SHA256_HEX], struct kw_artefact *a)
{
	struct kw_arena arena;
	struct kw_buf b;
	const char *path;
	bool found = false;

	kw_arena_init(&arena, 1 << 16);
	kw_buf_init(&b, MAX_ENTRY);
	path = entry_path(&arena, key);
	if (!path || !kw_path_exists(path) || kw_file_read(path, MAX_ENTRY, &b, NULL) != KW_OK)
		goto out;
	found = load_entry(&b, a);
	if (found) {
		a->cached = true;
		utimensat(AT_FDCWD, path, NULL, 0); /* used now */
	} else {
		kw_artefact_release(a);
		memset(a, 0, sizeof(*a));
		unlink(path);
		kw_log(KW_LOG_DEBUG, "%s was damaged; building anew", path);
	}
out:
	kw_buf_release(&b);
	kw_arena_release(&arena);
	return found;
}

void kw_cache_put(const char key[KW_SHA256_HEX], const struct kw_artefact *a)
{
	struct kw_arena arena;
	struct kw_buf meta, body;
	struct kw_error err;
	json_t *j = meta_to_json(a);
	const char *path, *dir;
	char hash[KW_SHA256_HEX];

	kw_arena_init(&arena, 1 << 16);
	kw_buf_init(&meta, 1 << 20);
	kw_buf_init(&body, MAX_ENTRY);
	dir = entry_dir(&arena);
	path = entry_path(&arena, key);
	if (!j || !path || kw_json_canonical(j, &meta, NULL) != KW_OK || kw_mkdirs(dir, NULL) != KW_OK)
		goto out;
	kw_buf_printf(&body, MAGIC "%064d\n%08zu\n", 0, meta.len);
	kw_buf_add(&body, meta.ptr, meta.len);
	kw_buf_add(&body, a->code, a->code_bytes);
	if (body.full || meta.len > 99999999)
		goto out;
	kw_sha256_hex(body.ptr + HEAD_BYTES, body.len - HEAD_BYTES, hash);
	memcpy(body.ptr + sizeof(MAGIC) - 1, hash, 64);
	if (kw_file_write_scratch(path, body.ptr, body.len, &err) != KW_OK)
		kw_log(KW_LOG_DEBUG, "the build is not cached: %s", err.text);
	else if (key[0] == '0') /* one in sixteen */
		kw_cache_trim(MAX_CACHE);
out:
	json_decref(j);
	kw_buf_release(&body);
	kw_buf_release(&meta);
	kw_arena_release(&arena);
}

/* ---- keeping it small ---- */

struct aged {
	const char *path;
	int64_t bytes, used_s;
};

static int by_age(const void *pa, const void *pb)
{
	const struct aged *a = pa, *b = pb;

	return (a->used_s > b->used_s) - (a->used_s < b->used_s);
}

void kw_cache_trim(int64_t max_bytes)
{
	struct kw_arena a;
	char **names;
	struct aged *list;
	size_t count = 0, kept = 0;
	int64_t total = 0, now_s = kw_wall_ms() / 1000;
	const char *dir;

	kw_arena_init(&a, 64 << 20);
	dir = entry_dir(&a);
	if (!dir || kw_dir_list(dir, NULL, &a, &names, &count, NULL) != KW_OK)
		goto out;
	list = kw_arena_calloc(&a, count ? count : 1, sizeof(*list));
	for (size_t i = 0; list && i < count; i++) {
		struct stat st;
		const char *path = kw_path_join(&a, dir, names[i]);
		size_t len = strlen(names[i]);

		if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		if (len < 4 || strcmp(names[i] + len - 4, ".kwb") != 0) {
			if (now_s - st.st_mtime > STALE_S) /* a killed writer's */
				unlink(path);
			continue;
		}
		list[kept++] = (struct aged){ path, st.st_size, st.st_mtime };
		total += st.st_size;
	}
	if (list)
		qsort(list, kept, sizeof(*list), by_age);
	for (size_t i = 0; list && i < kept && total > max_bytes; i++) {
		unlink(list[i].path);
		total -= list[i].bytes;
	}
out:
	kw_arena_release(&a);
}
