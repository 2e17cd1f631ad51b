#include "tap.h"
#include "temp.h"

#include "base/proc.h"
#include "memory/memory.h"

static struct kw_arena arena;

static bool known_family(const char *name)
{
	static const char *const names[] = {
#define X(e, text) text,
		KW_FAMILY_LIST(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* As it stands, without a warning. */
static void compiles(const char *compiler, const char *path)
{
	const char *argv[] = { compiler,
			       "-std=gnu17",
			       "-O1",
			       "-fopenmp",
			       "-Wall",
			       "-Wextra",
			       "-Werror",
			       "-include",
			       "src/backend/builtin/kw.h",
			       "-c",
			       path,
			       "-o",
			       temp_file("pattern.o"),
			       NULL };
	struct kw_proc_opts o = { .timeout_ms = 60000,
				  .max_out_bytes = 1 << 16,
				  .cwd = getenv("KW_TOP") };
	struct kw_proc_result r = { 0 };
	struct kw_error err = { 0 };
	char found[4096];

	if (!kw_proc_which(compiler, found, sizeof(found))) {
		skip(1, "no such compiler here");
		return;
	}
	if (!ok(kw_proc_run(argv, &o, &r, &err) == KW_OK && r.exit_code == 0, "%s compiles %s",
		compiler, path))
		diag("%.2000s", r.err.ptr ? r.err.ptr : err.text);
	kw_proc_result_release(&r);
}

int main(void)
{
	struct kw_pattern *p;
	struct kw_error err = { 0 };
	size_t n, other;

	kw_arena_init(&arena, 32 << 20);
	ok(kw_memory_patterns("c", &arena, &p, &n, &err) == KW_OK && n >= 6,
	   "there are patterns for c");
	for (size_t i = 0; i < n; i++) {
		ok(known_family(p[i].family) || strcmp(p[i].family, "any") == 0, "%s: the family %s is one", p[i].name, p[i].family);
		ok(p[i].title && *p[i].title && p[i].why_count,
		   "%s says what it is and why it is good", p[i].name);
		has_str(p[i].path, p[i].name, "%s is in the file of its name", p[i].name);
		if (i)
			ok(strcmp(p[i - 1].name, p[i].name) < 0, "sorted by name, each once");
		compiles("gcc", p[i].path);
		compiles("clang", p[i].path);
	}
	ok(kw_memory_patterns("no such backend", &arena, &p, &other, &err) == KW_OK && other == 0,
	   "a backend without patterns has none");
	ok(kw_memory_patterns(NULL, &arena, &p, &other, &err) == KW_OK && other >= n,
	   "no backend: all");
	kw_mkdirs(temp_file("data/knowledge/patterns/c"), &err);
	kw_file_write(temp_file("data/knowledge/patterns/c/zz.c"), "//@ pattern\n", 12, &err);
	kw_data_set_dir(temp_file("data"));
	ok(kw_memory_patterns("c", &arena, &p, &n, &err) == KW_ERR_INPUT,
	   "a pattern that does not parse");
	has_str(err.where, "zz.c", "is named");
	kw_data_set_dir(NULL);
	kw_arena_release(&arena);
	return done();
}
