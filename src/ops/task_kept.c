/* What a problem's file says, as a task in YAML, is kept in the build cache: PyTorch's exporter, which finds it out, takes as long to import as PyTorch
 * itself, and seconds for a large network. Only what follows from the file's text is kept (python/lasting.py), and it is kept by all that it
 * depends on: that text, where the file is, the mode, the versions of Python and PyTorch, and our files that look at it. */
#include "ops/internal.h"

#include "backend/cache.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "python/python.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 4 << 20, FILES_BYTES = 16 << 20 };

static bool add_our_files(struct kw_hasher *h, struct kw_arena *a)
{
	char **paths, *text;
	size_t n = 0, len;
	bool good = kw_data_list("python/", ".py", a, &paths, &n, NULL) == KW_OK;

	for (size_t i = 0; i < n && good; i++) {
		good = kw_data_read(paths[i], a, &text, &len, NULL) == KW_OK;
		if (good)
			kw_hasher_add(h, paths[i], text, len);
	}
	return good;
}

bool kw_op_kept_key(const struct kw_task *t, char key[KW_SHA256_HEX])
{
	struct kw_python_found python;
	struct kw_hasher h;
	struct kw_arena a;
	char path[PATH_MAX], *text;
	size_t len;
	bool good;

	key[0] = '\0';
	if (t->torch_form != KW_TORCH_PROBLEM || kw_python_find(KW_PYTHON_TORCH, &python, NULL) != KW_OK ||
	    !realpath(t->reference_torch, path) || kw_hasher_init(&h) != 0)
		return false;
	kw_arena_init(&a, FILES_BYTES);
	good = kw_file_read_arena(path, FILE_MAX, &a, &text, &len, NULL) == KW_OK;
	kw_hasher_addz(&h, "what", "a problem's description");
	kw_hasher_addz(&h, "python", python.path);
	kw_hasher_addz(&h, "version", python.version);
	kw_hasher_addz(&h, "torch", python.torch);
	kw_hasher_addz(&h, "path", path);
	kw_hasher_addi(&h, "eval", t->torch_eval);
	if (good) {
		kw_hasher_add(&h, "file", text, len);
		good = add_our_files(&h, &a);
	}
	kw_hasher_final(&h, key);
	kw_arena_release(&a);
	if (!good)
		key[0] = '\0';
	return key[0] != '\0';
}

char *kw_op_kept_get(const char *key)
{
	struct kw_artefact a = { 0 };
	char *text = NULL;

	if (!key[0])
		return NULL;
	if (kw_cache_get(key, &a) && strcmp(a.kind, "task") == 0 && (text = kw_alloc(a.code_bytes + 1))) {
		memcpy(text, a.code, a.code_bytes);
		text[a.code_bytes] = '\0';
	}
	kw_artefact_release(&a);
	return text;
}

void kw_op_keep(const char *key, const char *text)
{
	struct kw_artefact a = { .kind = "task", .code = (void *)(uintptr_t)text, .code_bytes = strlen(text) };

	if (key[0])
		kw_cache_put(key, &a);
}
