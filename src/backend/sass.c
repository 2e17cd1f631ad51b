#include "backend/sass.h"

#include "backend/cuda.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sandbox.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 64 << 20, TIMEOUT_MS = 30000 };

/* ---- the text ---- */

static void add(json_t *counts, const char *key)
{
	json_object_set_new(counts, key, json_integer(kw_json_get_i64(counts, key, 0) + 1));
}

/* Whether one of the words, "…*" by its beginning, is the opcode's base. */
static bool is_one_of(const char *base, const char *const *words)
{
	for (; *words; words++) {
		size_t n = strlen(*words);

		if ((*words)[n - 1] == '*' ? strncmp(base, *words, n - 1) == 0
					   : strcmp(base, *words) == 0)
			return true;
	}
	return false;
}

/* Bits that one thread moves: ".128" and the like; 32 when nothing is said. */
static const char *width(const char *opcode)
{
	static const struct {
		const char *part, *bits;
	} parts[] = { { ".256", "256" }, { ".128", "128" }, { ".64", "64" }, { ".U16", "16" },
		      { ".S16", "16" },	 { ".U8", "8" },    { ".S8", "8" } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *at = strstr(opcode, parts[i].part);

		if (at && !isdigit((unsigned char)at[strlen(parts[i].part)]))
			return parts[i].bits;
	}
	return "32";
}

static void count(json_t *kernel, const char *opcode)
{
	static const char *const fp64[] = { "DADD", "DMUL", "DFMA", "DSETP", "DMNMX", NULL };
	static const char *const local[] = { "LDL", "STL", NULL };
	static const char *const convert[] = { "I2F", "UI2F", NULL };
	static const char *const matrix[] = { "HMMA",  "IMMA",	"DMMA",	 "BMMA",  "QMMA", "OMMA",
					      "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTC*", NULL };
	char base[32];

	snprintf(base, sizeof(base), "%.*s", (int)strcspn(opcode, "."), opcode);
	add(kernel, "instructions");
	add(json_object_get(kernel, "opcodes"), base);
	if (strcmp(base, "LDG") == 0)
		add(json_object_get(kernel, "global_loads"), width(opcode));
	if (strcmp(base, "STG") == 0)
		add(json_object_get(kernel, "global_stores"), width(opcode));
	if (is_one_of(base, local))
		add(kernel, "local");
	if (is_one_of(base, fp64) || (strchr(opcode, '.') && strstr(opcode, "F64")))
		add(kernel, "fp64");
	if (is_one_of(base, matrix))
		add(kernel, "matrix");
	/* Rounded up: how the reciprocal of an integer divisor begins, and nothing else does. */
	if (is_one_of(base, convert) && strstr(opcode, ".RP"))
		add(kernel, "divisions");
}

static json_t *new_kernel(void)
{
	return json_pack("{s:i,s:{},s:{},s:{},s:i,s:i,s:i,s:i}", "instructions", 0, "opcodes", "global_loads",
			 "global_stores", "local", 0, "fp64", 0, "matrix", 0, "divisions", 0);
}

/* "//------- .text.NAME  -------": where a function's code begins. */
static bool section_name(struct kw_str line, char *out, size_t out_bytes)
{
	static const char word[] = " .text.";
	const char *at = kw_str_starts(line, "//---")
				 ? memmem(line.ptr, line.len, word, strlen(word))
				 : NULL;
	size_t n = 0;

	if (!at)
		return false;
	for (at += strlen(word); at + n < line.ptr + line.len && at[n] != ' ' && n < out_bytes - 1;
	     n++)
		out[n] = at[n];
	out[n] = '\0';
	return true;
}

/* The opcode of an instruction line, behind its address and guard: "LDG.E.128". */
static bool opcode_of(struct kw_str line, char *out, size_t out_bytes)
{
	const char *end = line.ptr + line.len, *p = line.ptr;
	size_t n = 0;

	if (!kw_str_starts(line, "/*") || !(p = memmem(p, line.len, "*/", 2)))
		return false;
	for (p += 2; p < end && *p == ' ';)
		p++;
	if (p < end && *p == '@') {
		while (p < end && *p != ' ')
			p++;
		while (p < end && *p == ' ')
			p++;
	}
	while (p < end && n < out_bytes - 1 &&
	       (isupper((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '.' || *p == '_'))
		out[n++] = *p++;
	out[n] = '\0';
	return n > 0 && strcmp(out, "NOP") != 0;
}

json_t *kw_sass_parse(const char *text, size_t len)
{
	struct kw_str rest = { text, len }, line;
	json_t *all = json_object(), *kernel = NULL;
	char name[256], opcode[64];

	while (all && len && kw_str_split(&rest, '\n', &line)) {
		line = kw_str_trim(line);
		if (section_name(line, name, sizeof(name))) {
			kernel = new_kernel();
			if (json_object_set_new(all, name, kernel) != 0)
				kernel = NULL;
		} else if (kernel && opcode_of(line, opcode, sizeof(opcode))) {
			count(kernel, opcode);
		}
	}
	return all;
}

/* ---- the program ---- */

static bool find_program(char out[PATH_MAX])
{
	struct kw_cuda_toolkit kit;
	struct kw_error ignored;
	const char *dirs[2] = { NULL, "/usr/local/cuda" };

	kw_error_reset(&ignored);
	if (kw_cuda_find(NULL, &kit, &ignored) == KW_OK)
		dirs[0] = kit.home[0] ? kit.home : NULL;
	for (size_t i = 0; i < 2; i++) {
		if (!dirs[i])
			continue;
		snprintf(out, PATH_MAX, "%s/bin/nvdisasm", dirs[i]);
		if (access(out, X_OK) == 0)
			return true;
	}
	return kw_proc_which("nvdisasm", out, PATH_MAX);
}

static enum kw_status run(const char *program, const char *dir, struct kw_proc_result *r,
			  struct kw_error *err)
{
	const char *const argv[] = { program, "-c", "object.cubin", NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
	struct kw_proc_opts o = {
		.env = env, .cwd = dir, .timeout_ms = TIMEOUT_MS, .max_out_bytes = MAX_TEXT
	};
	char home[PATH_MAX];
	const char *read[] = { home, NULL };
	struct kw_sandbox *box = NULL;
	char *slash;
	enum kw_status s;

	if (!realpath(program, home))
		return kw_fail(err, KW_NO, program, "it is not there");
	slash = strrchr(home, '/');
	if (slash && slash != home)
		*slash = '\0';
	s = kw_sandbox_compiler_new(dir, read, &box, err);
	if (s != KW_OK)
		return s;
	o.before_exec = kw_sandbox_enter;
	o.before_exec_arg = box;
	s = kw_proc_run(argv, &o, r, err);
	kw_sandbox_free(box);
	return s;
}

enum kw_status kw_sass_count(const void *cubin, size_t bytes, json_t **out, struct kw_error *err)
{
	struct kw_proc_result r = { 0 };
	char program[PATH_MAX], dir[PATH_MAX], path[PATH_MAX + 16];
	enum kw_status s;

	*out = NULL;
	if (!find_program(program))
		return kw_fail(err, KW_NO, "", "there is no nvdisasm here");
	if ((s = kw_temp_folder("kw-sass", dir, err)) != KW_OK)
		return s;
	snprintf(path, sizeof(path), "%s/object.cubin", dir);
	s = kw_file_write_scratch(path, cubin, bytes, err);
	if (s == KW_OK)
		s = run(program, dir, &r, err);
	if (s == KW_OK && (r.exit_code != 0 || r.truncated || r.out.len == 0))
		s = kw_fail(err, KW_NO, program, "it cannot read this object: %.200s",
			    r.err.len ? r.err.ptr : "");
	if (s == KW_OK) {
		*out = kw_sass_parse(r.out.ptr, r.out.len);
		s = *out ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	kw_proc_result_release(&r);
	kw_rmtree(dir, NULL);
	return s;
}
