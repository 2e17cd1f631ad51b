/* A hundred evaluations in one process, as a search makes them, right and wrong ones: nothing of theirs is left. */
#include "tap.h"
#include "temp.h"

#include "judge/judge.h"

#include <dirent.h>

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifndef ASAN
#define ASAN 0
#endif

enum { EVALUATIONS = 100, SETTLED = 30, SLACK_KIB = 4096 };

static const char task_text[] = "name: affine\n"
				"dims: { n: { min: 0, max: 4096 } }\n"
				"inputs:\n  x: { dtype: f32, shape: [n], dist: normal }\n"
				"outputs:\n  y: { dtype: f32, shape: [n] }\n"
				"reference:\n  expr: |\n    y = 2.0 * x + 1.0\n"
				"perf: [ { n: 256 } ]\n"
				"check: [ { n: 100 } ]\n";

#define KERNEL(body)                                                                        \
	"//@ kernel k args=(x, y, n:i64)\n#include <stdint.h>\n"                            \
	"void k(const float *x, float *y, int64_t n)\n{\n\tfor (int64_t i = 0; i < n; i++)\n\t\t" body "\n}\n"

/* The build cache spares all but the last two the compiler. */
static const struct {
	const char *name, *source;
	enum kw_verdict_class cls;
} candidates[] = {
	{ "right", KERNEL("y[i] = 2.0f * x[i] + 1.0f;"), KW_V_OK },
	{ "with threads", "//@ kernel k args=(x, y, n:i64)\n#include <stdint.h>\nvoid k(const float *x, float *y, int64_t n)\n{\n"
			  "\t#pragma omp parallel for\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = 2.0f * x[i] + 1.0f;\n}\n",
	  KW_V_OK },
	{ "with a workspace", "//@ workspace w f32[n]\n//@ kernel k args=(x, w, n:i64)\n//@ kernel l args=(w, y, n:i64)\n"
			      "#include <stdint.h>\nvoid k(const float *x, float *w, int64_t n)\n{\n"
			      "\tfor (int64_t i = 0; i < n; i++)\n\t\tw[i] = 2.0f * x[i];\n}\n"
			      "void l(const float *w, float *y, int64_t n)\n{\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = w[i] + 1.0f;\n}\n",
	  KW_V_OK },
	{ "wrong", KERNEL("y[i] = 2.0f * x[i] + (i == 3 ? 2.0f : 1.0f);"), KW_V_WRONG },
	{ "keeps state", KERNEL("{ static float f; f += 1.0f; y[i] = f > 150.0f ? 7.0f : 2.0f * x[i] + 1.0f; }"), KW_V_CHEAT },
	{ "out of bounds", KERNEL("y[i + 65536] = x[i];"), KW_V_WRONG },
	{ "ends its process", KERNEL("__builtin_trap();"), KW_V_RUNTIME_ERROR },
	{ "does not apply", "//@ require n < 0\n" KERNEL("y[i] = x[i];"), KW_V_NOT_APPLICABLE },
	{ "no kernel", "//@ kernel k args=(x, y, n:i64)\nvoid other(void) {}\n", KW_V_LAUNCH_ERROR },
	{ "does not compile", KERNEL("y[i] = 2.0f * x[i] + ;"), KW_V_BUILD_ERROR },
};
enum { CANDIDATES = sizeof(candidates) / sizeof(candidates[0]), COMPILED = 2 };

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static int lines(const char *path)
{
	FILE *f = fopen(path, "r");
	int n = 0, c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* Zombies count: they are children too. */
static int children(void)
{
	char path[300];
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0, pid;

	while (d && (e = readdir(d))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/children", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f && fscanf(f, "%d", &pid) == 1)
			n++;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

struct held {
	int descriptors, children, threads, maps, files;
	long kib;
};

static struct held held(void)
{
	return (struct held){ entries("/proc/self/fd"), children(), entries("/proc/self/task"), lines("/proc/self/maps"),
			      entries(temp_dir()), resident_kib() };
}

static bool evaluate(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, int i, enum kw_judge_effort effort)
{
	struct kw_judge_opts o;
	struct kw_verdict v;
	struct kw_candidate c;
	struct kw_arena a;
	struct kw_error err = { 0 };
	bool as_expected;

	kw_arena_init(&a, 16 << 20);
	kw_verdict_init(&v);
	kw_judge_opts_default(&o, effort);
	o.with_baselines = false;
	o.time_limit_ns = 1000000;
	o.call_timeout_ms = 2000;
	as_expected = kw_candidate_from_text(&c, "k.c", "c", candidates[i].source, strlen(candidates[i].source), t, &a, &err) == KW_OK &&
		      kw_judge_eval(j, t, e, &c, &o, &v, &err) == KW_OK && v.cls == candidates[i].cls;
	if (!as_expected)
		diag("%s: %s/%s %s %s", candidates[i].name, kw_verdict_name(v.cls), kw_subclass_name(v.subclass), v.summary, err.text);
	kw_verdict_release(&v);
	kw_arena_release(&a);
	return as_expected;
}

int main(void)
{
	struct kw_judge *j = NULL;
	struct kw_task t, check;
	struct kw_expr *e;
	struct kw_arena a;
	struct kw_error err = { 0 };
	struct held before = { 0 }, after;
	int expected = 0;

	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	setenv("TMPDIR", temp_dir(), 1);
	kw_arena_init(&a, 16 << 20);
	if (!ok(kw_task_parse_yaml(&t, "affine.yaml", task_text, strlen(task_text), &err) == KW_OK &&
			kw_expr_parse(&t, &a, &e, &err) == KW_OK && kw_judge_new("cpu", &j, &err) == KW_OK, "a judge and a task")) {
		diag("%s", err.text);
		return done();
	}
	check = t; /* mostly without the timed case */
	check.cases += t.perf_count;
	check.case_count -= t.perf_count;
	check.perf_count = 0;
	for (int i = 0; i < EVALUATIONS; i++) {
		if (i == SETTLED)
			before = held();
		/* Now and then the slow ones: timing, fresh shapes and processes, the compiler. */
		if (i % 10 == 0)
			expected += evaluate(j, &t, e, 0, KW_EFFORT_FULL);
		else if (i % 40 == 1)
			expected += evaluate(j, &check, e, 1, KW_EFFORT_FINAL);
		else
			expected += evaluate(j, &check, e, i % (i % 20 < 10 ? CANDIDATES : CANDIDATES - COMPILED), KW_EFFORT_FULL);
	}
	after = held();
	is_int(expected, EVALUATIONS, "verdicts as expected");
	is_int(after.descriptors, before.descriptors, "descriptors");
	is_int(after.children, 0, "child processes");
	is_int(after.threads, before.threads, "threads");
	is_int(after.files, before.files, "temporary files");
	if (ASAN) {
		skip(2, "a sanitizer keeps what was freed");
	} else { /* the allocator may ask for another arena or two */
		ok(after.maps <= before.maps + 8, "mappings: %d, then %d", before.maps, after.maps);
		ok(after.kib <= before.kib + SLACK_KIB, "resident memory: %ld KiB, then %ld", before.kib, after.kib);
	}
	kw_judge_free(j);
	kw_task_release(&t);
	kw_arena_release(&a);
	return done();
}
