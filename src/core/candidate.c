#include "core/candidate.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

static const struct {
	const char *ending, *backend;
} endings[] = {
	{ ".c", "c" },	     { ".cu", "cuda" },	  { ".cuh", "cuda" },
	{ ".cl", "opencl" }, { ".py", "triton" }, { ".hip", "hip" },
};

const char *kw_candidate_backend(const char *path)
{
	const char *dot = strrchr(kw_path_base(path), '.');

	for (size_t i = 0; dot && i < sizeof(endings) / sizeof(endings[0]); i++)
		if (strcmp(dot, endings[i].ending) == 0)
			return endings[i].backend;
	return NULL;
}

/* Python without a kernel line is host code, which is judged from outside. */
static bool is_module(const char *backend, const char *text, size_t len)
{
	struct kw_str rest = { text, len }, line;

	if (strcmp(backend, "triton") != 0)
		return false;
	while (kw_str_split(&rest, '\n', &line)) {
		line = kw_str_trim(line);
		if (line.len < 3 || memcmp(line.ptr, "#@", 2) != 0)
			continue;
		line = kw_str_trim((struct kw_str){ line.ptr + 2, line.len - 2 });
		if (line.len > 6 && memcmp(line.ptr, "kernel", 6) == 0)
			return false;
	}
	return true;
}

static enum kw_status check_text(const char *name, const char *text, size_t len,
				 struct kw_error *err)
{
	const char *what;
	char where[512];
	bool blank = true;
	int line;

	if (len > KW_CANDIDATE_MAX_BYTES)
		return kw_fail(err, KW_ERR_LIMIT, name,
			       "the candidate has %zu bytes; at most %u are read", len,
			       KW_CANDIDATE_MAX_BYTES);
	for (size_t i = 0; i < len && blank; i++)
		blank = strchr(" \t\r\n", text[i]) != NULL && text[i];
	if (blank)
		return kw_fail(err, KW_ERR_INPUT, name, "the candidate is empty");
	line = kw_text_bad_line(text, len, &what);
	if (!line)
		return KW_OK;
	if (len >= 4 && memcmp(text, "\177ELF", 4) == 0)
		return kw_fail(err, KW_ERR_INPUT, name,
			       "is a compiled program; a candidate is source text");
	snprintf(where, sizeof(where), "%.490s:%d", name, line);
	return kw_fail(err, KW_ERR_INPUT, where, "%s: the candidate is no source text", what);
}

enum kw_status kw_candidate_from_text(struct kw_candidate *c, const char *name, const char *backend,
				      const char *text, size_t len, const struct kw_task *task,
				      struct kw_arena *a, struct kw_error *err)
{
	struct kw_hasher h;
	enum kw_status s;

	*c = (struct kw_candidate){ 0 };
	if (!backend)
		backend = kw_candidate_backend(name);
	if (!backend)
		return kw_fail(err, KW_ERR_INPUT, name,
			       "the ending says no backend (.c .cu .cl .hip .py are known); give --backend");
	s = check_text(name, text, len, err);
	if (s != KW_OK)
		return s;
	if (is_module(backend, text, len))
		backend = "module";
	c->name = kw_arena_strdup(a, kw_path_base(name));
	c->backend = kw_arena_strdup(a, backend);
	c->source = kw_arena_strndup(a, text, len);
	c->origin = kw_arena_printf(a, "file:%s", name);
	if (!c->name || !c->backend || !c->source || !c->origin || kw_hasher_init(&h) != 0)
		return kw_fail(err, KW_ERR_NOMEM, name, "out of memory");
	c->source_len = len;
	kw_hasher_addz(&h, "backend", backend);
	kw_hasher_add(&h, "source", text, len);
	kw_hasher_final(&h, c->sha256);
	if (strcmp(backend, "module") == 0) {
		c->plan.file = c->name;
		return KW_OK;
	}
	return kw_plan_parse(name, c->source, len, task, a, &c->plan, err);
}

enum kw_status kw_candidate_load(struct kw_candidate *c, const char *path, const char *backend,
				 const struct kw_task *task, struct kw_arena *a, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status s;

	*c = (struct kw_candidate){ 0 };
	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + 1);
	s = kw_file_read(path, KW_CANDIDATE_MAX_BYTES, &text, err);
	if (s == KW_OK && text.full)
		s = kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	if (s == KW_OK)
		s = kw_candidate_from_text(c, path, backend, text.len ? text.ptr : "", text.len, task,
					   a, err);
	kw_buf_release(&text);
	return s;
}
