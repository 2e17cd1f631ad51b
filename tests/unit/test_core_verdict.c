#include "core/verdict.h"

#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tap.h"

static struct kw_error err;

static char *canonical(json_t *j)
{
	struct kw_buf b;

	kw_buf_init(&b, 1 << 20);
	kw_json_canonical(j, &b, &err);
	return kw_buf_take(&b);
}

/* A verdict with something in every member. */
static void fill(struct kw_verdict *v)
{
	static double samples[] = { 101, 99.5, 100.25 };
	static int64_t dims[] = { 4096, 7 };
	static struct kw_baseline_time baselines[4];
	static struct kw_case_result cases[3];
	static const char *flags[] = { "faster than the measured ceiling", "bad \xff byte, good \xc3\xa9" };

	kw_verdict_init(v);
	v->cls = KW_V_WRONG;
	v->subclass = KW_S_NAN;
	snprintf(v->summary, sizeof(v->summary), "NaN at [3, 17] of y");
	snprintf(v->evidence, sizeof(v->evidence), "y[3, 17]: got nan, expected 0.5\nsecond line");
	v->case_label = "rows=4096 cols=7";
	v->task_name = "softmax";
	v->backend = "c";
	v->device = "cpu";
	v->toolchain = "gcc 12.2.0";
	v->tune = "THREADS=256";
	v->sandbox_layers = "landlock seccomp";
	snprintf(v->task_sha, sizeof(v->task_sha), "%064d", 1);
	snprintf(v->candidate_sha, sizeof(v->candidate_sha), "%064d", 2);
	v->seed = 0xfedcba9876543210u;
	baselines[0] = (struct kw_baseline_time){ "naive -O3", { .median_ns = 1000, .method = "single",
			.ci_low_ns = 990, .ci_high_ns = 1010 }, 10, 9.5, 10.5, "", false };
	baselines[1] = (struct kw_baseline_time){ "naive -O3 openmp", { .median_ns = 600, .method = "single" }, 6, 5.5,
			6.5, "", false };
	baselines[2] = (struct kw_baseline_time){ "torch.compile", { .method = "" }, 0, 0, 0, "no compiler", false };
	baselines[3] = (struct kw_baseline_time){ "PyTorch eager TF32", { .median_ns = 90, .method = "single" }, 0.9, 0.8, 1,
			"some of its elements differ", true };
	cases[0] = (struct kw_case_result){ .label = "rows=4096 cols=7", .dims = dims, .dim_count = 2, .perf = true,
		.verdict = KW_V_WRONG, .subclass = KW_S_NAN, .trials = 5, .worst_output = "y",
		.error_ratio = INFINITY, .has_times = true, .baselines = baselines, .baseline_count = 4,
		.bytes = 1e9, .flops = 3, .sol = 0.75, .sol_bound = "memory", .ceiling_bytes_per_s = 2e10,
		.times = { .median_ns = 100.25, .ci_low_ns = 99, .ci_high_ns = 101, .min_ns = 99.5,
			   .samples_ns = samples, .sample_count = 3, .method = "batch-minus-empty", .cold = true,
			   .ci_reached = true },
		.worst = { .compared = 28672, .mismatched = 3, .nan_mismatched = 1, .max_abs = 0.5, .max_rel = NAN,
			   .norm_ratio = 1, .worst_index = { 3, 17 }, .worst_rank = 2, .worst_got = NAN,
			   .worst_want = -INFINITY, .worst_ratio = INFINITY, .tolerance_at_worst = 1e-7 } };
	cases[1] = (struct kw_case_result){ .label = "rows=3 cols=1", .dims = dims, .dim_count = 2, .unseen = true,
		.verdict = KW_V_NOT_APPLICABLE, .worst_output = "", .sol_bound = "" };
	snprintf(cases[1].why, sizeof(cases[1].why), "require cols > 4");
	cases[2] = (struct kw_case_result){ .label = "rows=1 cols=1", .dims = dims, .dim_count = 2, .worst_output = "", .sol_bound = "" };
	v->cases = cases;
	v->case_count = 3;
	v->flags = flags;
	v->flag_count = 2;
	v->geomean_speedup = 6;
	v->geomean_sol = 0.75;
	v->build_ns = 1;
	v->judge_ns = 2;
	v->generate_ns = 3;
	v->compare_ns = 4;
	v->run_ns = 5;
	v->total_ns = INT64_MAX;
	v->build_cached = true;
	v->when_ms = 1764435855000;
}

static void test_json(void)
{
	struct kw_verdict v, w;
	json_t *j, *k, *c;
	char *a, *b;

	fill(&v);
	j = kw_verdict_to_json(&v);
	if (!ok(j != NULL, "a verdict is JSON"))
		return;
	is_str(kw_json_get_str(j, "verdict", ""), "wrong", "verdict");
	is_str(kw_json_get_str(j, "subclass", ""), "nan", "subclass");
	is_str(kw_json_get_str(j, "candidate", ""), v.candidate_sha, "candidate");
	is_str(kw_json_get_str(j, "seed", ""), "fedcba9876543210", "a seed keeps its 64 bits");
	is_str(json_string_value(json_array_get(json_object_get(j, "flags"), 1)), "bad ? byte, good \xc3\xa9",
	       "bytes that are not UTF-8 are replaced");
	c = json_array_get(json_object_get(j, "cases"), 0);
	is_str(kw_json_get_str(c, "case", ""), "rows=4096 cols=7", "case");
	ok(kw_json_get_f64(c, "median_ns", 0) == 100.25, "median_ns");
	ok(json_number_value(json_array_get(json_object_get(c, "ci_ns"), 1)) == 101, "ci_ns");
	is_str(kw_json_get_str(c, "baseline", ""), "naive -O3 openmp", "the fastest baseline that computes the same");
	ok(kw_json_get_f64(c, "speedup", 0) == 6, "is what the speedup is against");
	ok(kw_json_get_f64(c, "sol", 0) == 0.75, "sol");
	is_str(kw_json_get_str(c, "error", ""), "inf", "an infinite error is a text");
	is_str(kw_json_get_str(json_object_get(c, "worst"), "got", ""), "nan", "so is a NaN that was got");
	ok(!json_object_get(json_array_get(json_object_get(j, "cases"), 1), "median_ns"), "no times, no keys");

	ok(json_is_null(json_object_get(json_array_get(json_object_get(j, "cases"), 2), "verdict")), "a case that was not judged has no verdict");

	kw_verdict_init(&w);
	is_int(kw_verdict_from_json(&w, j, &err), KW_OK, "it reads back: %s", err.text);
	is_int((int64_t)w.case_count, 3, "with all cases");
	ok(w.cases[0].has_times && !w.cases[1].has_times && w.cases[0].baseline_count == 4, "times and baselines");
	is_str(w.cases[0].baselines[2].why, "no compiler", "why one has no time");
	ok(w.cases[0].baselines[3].wrong && !w.cases[0].baselines[2].wrong, "which one is wrong");
	ok(isnan(w.cases[0].worst.worst_got) && isinf(w.cases[0].worst.worst_want), "NaN and infinity");
	ok(w.cases[0].worst.worst_rank == 2 && w.cases[0].worst.worst_index[1] == 17, "the worst index");
	is_int((int64_t)(w.seed >> 32), 0xfedcba98, "the seed");
	is_str(w.cases[1].why, "require cols > 4", "a reason");
	k = kw_verdict_to_json(&w);
	a = canonical(j);
	b = canonical(k);
	is_str(b, a, "and is the same JSON again");
	kw_free(a);
	kw_free(b);
	json_decref(j);
	json_decref(k);
	kw_verdict_release(&v);
	kw_verdict_release(&w);
}

static void test_record(void)
{
	struct kw_verdict v, w;
	json_t *r, *again;
	char *text, sha[KW_SHA256_HEX];

	fill(&v);
	r = kw_verdict_record(&v, "abc");
	is_str(kw_json_get_str(r, "prev_sha", ""), "abc", "a record holds the hash before it");
	is_int((int64_t)strlen(kw_json_get_str(r, "sha256", "")), 64, "and its own");
	kw_verdict_init(&w);
	is_int(kw_verdict_from_json(&w, r, &err), KW_OK, "it reads back as a verdict");
	again = kw_verdict_record(&w, "abc");
	is_str(kw_json_get_str(again, "sha256", "-"), kw_json_get_str(r, "sha256", ""),
	       "that makes the same record");
	json_decref(again);
	again = kw_verdict_record(&w, "abd");
	ok(strcmp(kw_json_get_str(again, "sha256", "-"), kw_json_get_str(r, "sha256", "")) != 0,
	   "another hash before it makes another");
	json_decref(again);
	snprintf(sha, sizeof(sha), "%s", kw_json_get_str(r, "sha256", ""));
	json_object_del(r, "sha256");
	text = canonical(r);
	kw_sha256_hex(text, strlen(text), w.task_sha);
	is_str(w.task_sha, sha, "the hash is that of the canonical text without it");
	kw_free(text);
	json_decref(r);
	kw_verdict_release(&v);
	kw_verdict_release(&w);
}

static void test_bad_json(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "[]", "a verdict must be a JSON object" },
		{ "{}", "'' is no verdict" },
		{ "{\"verdict\": \"good\"}", "'good' is no verdict" },
		{ "{\"verdict\": \"ok\", \"subclass\": \"nan\"}", "'nan' is no sub-class of 'ok'" },
		{ "{\"verdict\": \"ok\", \"task\": 3}", "'task' of a verdict must be a text" },
		{ "{\"verdict\": \"ok\", \"when_ms\": 1.5}", "'when_ms' of a verdict must be a whole number" },
		{ "{\"verdict\": \"ok\", \"build_cached\": 1}", "'build_cached' of a verdict must be true or false" },
		{ "{\"verdict\": \"ok\", \"speedup\": \"fast\"}", "'speedup' of a verdict must be a number" },
		{ "{\"verdict\": \"ok\", \"seed\": \"xyz\"}", "'seed' must be hexadecimal digits" },
		{ "{\"verdict\": \"ok\", \"flags\": [3]}", "'flags' must hold texts" },
		{ "{\"verdict\": \"ok\", \"cases\": [3]}", "a case must be a JSON object" },
		{ "{\"verdict\": \"ok\", \"cases\": [{\"verdict\": \"ok\", \"trials\": 5000000000}]}",
		  "'trials' of a case must be a whole number" },
		{ "{\"verdict\": \"ok\", \"cases\": [{\"verdict\": \"ok\", \"median_ns\": 1, \"ci_ns\": [1]}]}",
		  "'ci_ns' must hold two numbers" },
		{ "{\"verdict\": \"ok\", \"cases\": [{\"verdict\": \"ok\", \"dims\": [1.5]}]}",
		  "'dims' must hold whole numbers" },
		{ "{\"verdict\": \"ok\", \"cases\": [{\"verdict\": \"ok\", \"dims\": 4}]}", "'dims' must be a list" },
		{ "{\"verdict\": \"ok\", \"cases\": [{\"verdict\": \"ok\", \"worst\": {\"index\": [1,2,3,4,5,6,7,8,9]}}]}",
		  "'index' has more than 8 numbers" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kw_verdict v;
		json_t *j = NULL;

		kw_verdict_init(&v);
		kw_json_parse("v.json", cases[i].text, strlen(cases[i].text), &j, &err);
		is_int(kw_verdict_from_json(&v, j, &err), KW_ERR_INPUT, "refused, row %zu", i);
		has_str(err.text, cases[i].message, "with the reason");
		json_decref(j);
		kw_verdict_release(&v);
	}
}

static void test_tables(void)
{
	enum kw_verdict_class v;
	enum kw_subclass s;

	for (int i = 0; i < KW_V_COUNT; i++)
		ok(kw_verdict_parse(kw_verdict_name((enum kw_verdict_class)i), &v) && (int)v == i &&
			   *kw_verdict_meaning(v), "class %s", kw_verdict_name(v));
	for (int i = 1; i < KW_S_COUNT; i++) {
		enum kw_verdict_class cls = kw_subclass_class((enum kw_subclass)i);

		ok(kw_subclass_parse(cls, kw_subclass_name((enum kw_subclass)i), &s) && (int)s == i &&
			   *kw_subclass_meaning(s) && cls != KW_V_OK, "%s/%s", kw_verdict_name(cls),
		   kw_subclass_name(s));
	}
	ok(kw_subclass_parse(KW_V_BUILD_ERROR, "timeout", &s) && s == KW_S_BUILD_TIMEOUT, "timeout of the compiler");
	ok(kw_subclass_parse(KW_V_RUNTIME_ERROR, "timeout", &s) && s == KW_S_TIMEOUT, "timeout of the kernel");
	ok(!kw_subclass_parse(KW_V_CHEAT, "timeout", &s), "a cheat has none");
	ok(kw_subclass_parse(KW_V_OK, "", &s) && s == KW_S_NONE, "no sub-class");
	ok(!kw_verdict_parse("", &v), "no verdict has no name");
}

/* docs/verdicts.md has a row "| `name` | meaning |" for every class and sub-class, and no other. */
static void test_docs(void)
{
	struct kw_buf doc;
	struct kw_str rest, row;
	char path[512], want[512], section[128];
	const char *top = getenv("KW_TOP");
	int missing = 0, rows = 0;

	snprintf(path, sizeof(path), "%s/docs/verdicts.md", top ? top : ".");
	kw_buf_init(&doc, 1 << 20);
	if (!is_int(kw_file_read(path, 1 << 20, &doc, &err), KW_OK, "docs/verdicts.md is there"))
		return;
	for (int v = 0; v < KW_V_COUNT; v++) {
		const char *at;

		snprintf(section, sizeof(section), "\n## `%s`\n", kw_verdict_name((enum kw_verdict_class)v));
		at = strstr(doc.ptr, section);
		if (!ok(at != NULL, "a section for %s", kw_verdict_name((enum kw_verdict_class)v)))
			continue;
		for (int s = 1; s < KW_S_COUNT; s++) {
			const char *next = strstr(at + 4, "\n## "), *found;

			if ((int)kw_subclass_class((enum kw_subclass)s) != v)
				continue;
			snprintf(want, sizeof(want), "\n| `%s` | %s |", kw_subclass_name((enum kw_subclass)s),
				 kw_subclass_meaning((enum kw_subclass)s));
			found = strstr(at, want);
			rows++;
			if (!found || (next && found > next)) {
				missing++;
				diag("missing in the section of %s:%s",
				     kw_verdict_name((enum kw_verdict_class)v), want);
			}
		}
	}
	is_int(missing, 0, "every sub-class has its row");
	rest = (struct kw_str){ doc.ptr, doc.len };
	while (kw_str_split(&rest, '\n', &row))
		rows -= kw_str_starts(row, "| `") && !kw_str_starts(row, "| `ok`");
	is_int(rows, 0, "and there are no rows of what is not in the code");
	kw_buf_release(&doc);
}

static int json_scenario(void *arg)
{
	struct kw_verdict v, w;
	json_t *j;
	enum kw_status s = KW_ERR_NOMEM;

	(void)arg;
	fill(&v);
	kw_verdict_init(&w);
	j = kw_verdict_record(&v, "");
	kw_error_reset(&err);
	if (j) {
		s = kw_verdict_from_json(&w, j, &err);
		if (s != KW_OK && !err.text[0])
			return 2;
	}
	json_decref(j);
	kw_verdict_release(&w);
	kw_verdict_release(&v);
	return s == KW_OK ? 0 : s == KW_ERR_NOMEM ? 1 : 2;
}

/* What a speedup is against, and when the answer is no. */
static void test_standing(void)
{
	struct kw_baseline_time first[] = { { .name = "naive -O3", .times.median_ns = 100, .speedup = 0.5, .speedup_high = 0.6 },
					    { .name = "PyTorch eager", .why = "signal 11" },
					    { .name = "slow", .times.median_ns = 900, .speedup = 4.5, .speedup_high = 5 } };
	struct kw_baseline_time second[] = { { .name = "PyTorch eager", .times.median_ns = 50, .speedup = 0.9, .speedup_high = 1.1 } };
	struct kw_case_result cases[] = { { .baselines = first, .baseline_count = 3 }, { .baselines = second, .baseline_count = 1 } };
	struct kw_verdict v;
	const char *names[4], *name = "?";

	kw_verdict_init(&v);
	v.cls = KW_V_OK;
	v.cases = cases;
	v.case_count = 1;
	ok(kw_verdict_failed_baselines(&v, names, 4) == 1 && strcmp(names[0], "PyTorch eager") == 0, "one without a time has failed");
	ok(kw_verdict_failed_baselines(&v, names, 0) == 0, "no more of them than there is room for");
	ok(kw_verdict_is_slower(&v, &name) && strcmp(name, "naive -O3") == 0, "slower than the best that has a time");
	v.case_count = 2;
	ok(kw_verdict_failed_baselines(&v, names, 4) == 1, "nor is one told twice");
	ok(kw_verdict_is_slower(&v, &name) && !name, "over all cases, of which each has another best");
	first[0].speedup_high = 0.95;
	ok(!kw_verdict_is_slower(&v, NULL), "not slower where the intervals leave it open");
	first[0].speedup_high = 0.1;
	v.cls = KW_V_WRONG;
	ok(!kw_verdict_is_slower(&v, NULL), "what is wrong is not slower");
	v.cls = KW_V_OK;
	first[0].times.median_ns = first[2].times.median_ns = 0;
	v.case_count = 1;
	ok(!kw_verdict_is_slower(&v, NULL), "nor is it where every baseline failed");
	ok(kw_verdict_failed_baselines(&v, names, 4) == 3, "which are all told");
	v.case_count = 0;
	kw_verdict_release(&v);
}

int main(void)
{
	test_json();
	test_record();
	test_bad_json();
	test_tables();
	test_docs();
	test_standing();
	fails_cleanly("KW_FAIL_ALLOC", 3000, json_scenario, NULL, "a record there and back");
	return done();
}
