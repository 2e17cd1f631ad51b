/* Findings, profiles, results, hardware, patterns, artefacts. */
#include <math.h>

#include "core/artefact.h"
#include "core/finding.h"
#include "core/hardware.h"
#include "core/pattern.h"
#include "core/profile.h"
#include "core/run.h"
#include "base/alloc.h"
#include "tap.h"

static struct kw_arena arena;
static struct kw_error err;
static char line[2048];

static void test_finding(void)
{
	const struct kw_finding f = { "f1", "spills", "12 spills of 8 bytes", 1500.5,
		{ "fewer-registers", "Use fewer registers.", { "time", 0.7, 0.9 }, "when it is memory-bound", true,
		  0.8 } };
	struct kw_finding g;
	json_t *j = kw_finding_to_json(&f);

	is_int(kw_finding_from_json(&g, j, &arena, &err), KW_OK, "a finding there and back");
	ok(strcmp(g.id, "f1") == 0 && strcmp(g.rule, "spills") == 0 && g.gain_ns == 1500.5, "itself");
	is_str(g.sentence, f.sentence, "its sentence");
	ok(strcmp(g.directive.id, f.directive.id) == 0 && g.directive.applied &&
		   g.directive.measured_factor == 0.8 && strcmp(g.directive.wrong_when, f.directive.wrong_when) == 0,
	   "its directive");
	ok(strcmp(g.directive.prediction.metric, "time") == 0 && g.directive.prediction.factor_low == 0.7 &&
		   g.directive.prediction.factor_high == 0.9, "its prediction");
	json_decref(j);
	g.gain_ns = g.directive.prediction.factor_low = g.directive.prediction.factor_high = NAN;
	j = kw_finding_to_json(&g);
	ok(json_is_null(json_object_get(j, "gain_ns")), "a gain that is not known is null");
	ok(json_is_null(json_object_get(json_object_get(json_object_get(j, "directive"), "prediction"), "factor_low")),
	   "and so is its prediction");
	is_int(kw_finding_from_json(&g, j, &arena, &err), KW_OK, "and back");
	ok(isnan(g.gain_ns) && isnan(g.directive.prediction.factor_high), "not known is not 0");
	json_decref(j);
	j = json_pack("{s:i}", "id", 3);
	is_int(kw_finding_from_json(&g, j, &arena, &err), KW_ERR_INPUT, "a wrong type");
	has_str(err.text, "'id' of a finding must be a text", "is told");
	json_decref(j);
}

static void test_profile(void)
{
	struct kw_metric metrics[] = {
		{ "dram_read", "bytes", "perf", KW_METRIC_PRESENT, 0 },
		{ "dram_write", "bytes", "perf", KW_METRIC_MISSING, 0 },
		{ "ratio", "", "ncu", KW_METRIC_PRESENT, NAN },
	};
	struct kw_profile p = { "cpu", "softmax", "perf 6.1", metrics, 3 }, q;
	json_t *j = kw_profile_to_json(&p);

	is_int(kw_profile_from_json(&q, j, &arena, &err), KW_OK, "a profile there and back");
	is_int((int64_t)q.metric_count, 3, "with all its metrics");
	ok(kw_profile_find(&q, "dram_read")->state == KW_METRIC_PRESENT, "0 is a value");
	ok(kw_profile_find(&q, "dram_write")->state == KW_METRIC_MISSING, "missing is missing");
	ok(isnan(kw_profile_find(&q, "ratio")->value), "NaN is a value");
	ok(kw_profile_find(&q, "none") == NULL, "what was not looked for is not there");
	ok(json_is_null(json_object_get(json_array_get(json_object_get(j, "metrics"), 1), "value")),
	   "missing is null");
	json_decref(j);
	j = json_pack("{s:i}", "metrics", 3);
	is_int(kw_profile_from_json(&q, j, &arena, &err), KW_ERR_INPUT, "metrics that are no list");
	json_decref(j);
	j = json_pack("{s:[{s:s}]}", "metrics", "value", "many");
	is_int(kw_profile_from_json(&q, j, &arena, &err), KW_ERR_INPUT, "a value that is no number");
	json_decref(j);
}

static void test_run(void)
{
	struct kw_result_entry entries[] = { { "cols % 8 == 0", "abc", "T=2", "rows=4 cols=8" }, { "", "", "", "" } };
	struct kw_result_list l = { entries, 2 }, m;
	const struct kw_round r = { 3, "row_reduce", 12, 100, 50, 0.6, 55 };
	const struct kw_model_call c = { .provider = "mailbox", .model = "none", .role = "coder", .tokens_in = 10, .tokens_out = 20,
					 .latency_ns = 30, .cost_usd = 0.5, .prompt_sha = "p", .answer_sha = "a", .outcome = "ok" };
	json_t *j = kw_result_list_to_json(&l);

	is_int(kw_result_list_from_json(&m, j, &arena, &err), KW_OK, "a result there and back");
	ok(m.count == 2 && strcmp(m.entries[0].require, "cols % 8 == 0") == 0 &&
		   strcmp(m.entries[0].tune, "T=2") == 0 && !*m.entries[1].candidate_sha, "its entries");
	json_decref(j);
	j = json_object();
	is_int(kw_result_list_from_json(&m, j, &arena, &err), KW_ERR_INPUT, "a result that is no list");
	json_decref(j);
	j = json_pack("[{}]");
	kw_result_list_from_json(&m, j, &arena, &err);
	ok(m.entries[0].require && !*m.entries[0].require, "what is left out is empty, not NULL");
	json_decref(j);
	j = kw_round_to_json(&r);
	ok(kw_json_get_i64(j, "round", 0) == 3 && kw_json_get_i64(j, "evaluations", 0) == 12 &&
		   kw_json_get_f64(j, "best_ns_after", 0) == 50, "a round");
	json_decref(j);
	j = kw_model_call_to_json(&c);
	ok(kw_json_get_i64(j, "tokens_out", 0) == 20 && kw_json_get_f64(j, "cost_usd", 0) == 0.5, "a model call");
	json_decref(j);
	is_str(kw_run_state_text(KW_RUN_NO_PATTERN), "no pattern fits; give a model", "why a run ended");
	is_str(kw_run_state_text((enum kw_run_state)99), "unknown", "or that nobody knows");
}

static void test_hardware(void)
{
	struct kw_hardware h = { .name = "Some CPU", .arch = "sm_90a", .units = 4, .simd_bytes = 64,
				 .memory_bytes = 1ll << 40 };
	struct kw_intenv_var vars[8];
	struct kw_intenv env;
	int64_t v = -1;
	json_t *j = kw_hardware_to_json(&h);

	ok(kw_json_get_i64(j, "memory_bytes", 0) == 1ll << 40 && kw_json_get_i64(j, "units", 0) == 4, "a sheet");
	json_decref(j);
	kw_hardware_env(&h, vars, &env);
	ok(kw_intenv_get(&env, "sm", &v) && v == 90, "sm_90a is 90");
	ok(kw_intenv_get(&env, "cores", &v) && v == 4, "cores");
	ok(kw_intenv_get(&env, "simd_bytes", &v) && v == 64, "simd_bytes");
	snprintf(h.arch, sizeof(h.arch), "x86-64 avx2");
	kw_hardware_env(&h, vars, &env);
	ok(kw_intenv_get(&env, "sm", &v) && v == 0, "no sm on a CPU");
}

static enum kw_status parse_pattern(struct kw_pattern *p, const char *text)
{
	enum kw_status s;

	kw_error_reset(&err);
	s = kw_pattern_parse("knowledge/p.c", text, strlen(text), &arena, p, &err);
	kw_error_line(&err, line, sizeof(line));
	return s;
}

static void test_pattern(void)
{
	static const char text[] = "//@ pattern rows family=row_reduce backend=c\n"
				   "//@ title One row per thread\n"
				   "//@ why The row stays in L1.\n"
				   "//@ why  It is read once. \n"
				   "//@ when cols <= 262144\n"
				   "//@ roles x=input y=output\n"
				   "//@ kernel f args=(x, y)\n";
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "int f;\n", "p.c:1:1: has no line `//@ pattern NAME" },
		{ "//@ pattern\n", "p.c:1:4: the pattern's name should follow" },
		{ "//@ pattern family=x\n", "the pattern's name should follow" },
		{ "//@ pattern p backend=c\n", "does not say family=" },
		{ "//@ pattern p family=x\n", "does not say backend=" },
		{ "//@ pattern p family=x backend=c\n", "has no 'title' line" },
		{ "//@ pattern p famly=x backend=c\n", "unknown key 'famly'; did you mean 'family'?" },
		{ "//@ pattern p family\n", "'family' should be KEY=VALUE" },
		{ "//@ pattern p family=x\n//@ pattern q family=y\n", "p.c:2:4: a second 'pattern' line" },
		{ "\n  //@ when rows >\n", "p.c:2:18: the expression ends where a value should follow" },
	};
	struct kw_pattern p;

	is_int(parse_pattern(&p, text), KW_OK, "a pattern: %s", line);
	ok(strcmp(p.name, "rows") == 0 && strcmp(p.family, "row_reduce") == 0 && strcmp(p.backend, "c") == 0,
	   "its name, family and backend");
	is_str(p.title, "One row per thread", "title");
	ok(p.why_count == 2 && strcmp(p.why[1], "It is read once.") == 0, "why, trimmed");
	ok(p.when_count == 1 && strcmp(kw_intexpr_text(p.when[0]), "cols <= 262144") == 0, "when");
	is_str(p.text, text, "the whole text");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(parse_pattern(&p, cases[i].text), KW_ERR_INPUT, "refused, row %zu", i);
		has_str(line, cases[i].message, "with the reason");
	}
}

static void test_artefact(void)
{
	struct kw_artefact a = { .kind = "elf-so" };

	a.code = kw_alloc(10);
	a.diagnostics = kw_calloc(2, sizeof(*a.diagnostics));
	a.log = kw_strdup("log");
	a.facts = json_object();
	kw_artefact_release(&a);
	ok(!a.code && !a.diagnostics && !a.log && !a.facts, "an artefact is released");
	kw_artefact_release(&a);
	ok(true, "twice does no harm");
}

int main(void)
{
	kw_arena_init(&arena, 16 << 20);
	test_finding();
	test_profile();
	test_run();
	test_hardware();
	test_pattern();
	test_artefact();
	kw_arena_release(&arena);
	return done();
}
