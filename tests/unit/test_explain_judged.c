/* What is found in a kernel that was judged, without a profiler. */
#include "tap.h"
#include "temp.h"

#include "explain/explain.h"
#include "explain/judged.h"
#include "explain/rule.h"

static struct kw_error err;
static struct kw_rule *rules;
static size_t rule_count;

/* A verdict with one timed case: how long it took, and what it has to move. */
static void timed(struct kw_verdict *v, double ns, double bytes, double bytes_per_s)
{
	struct kw_case_result *c;

	kw_verdict_init(v);
	c = kw_arena_calloc(&v->arena, 1, sizeof(*c));
	*c = (struct kw_case_result){ .label = "n=1", .perf = true, .has_times = true, .bytes = bytes, .flops = 1000,
				      .ceiling_bytes_per_s = bytes_per_s };
	c->times.median_ns = ns;
	v->backend = "cuda";
	v->cases = c;
	v->case_count = 1;
}

static bool all_told(const struct kw_finding *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!f[i].id || !f[i].sentence || !f[i].sentence[0] || !f[i].directive.text)
			return false;
	return true;
}

/* A profiler's page joins the case that it is of; the time stays the judge's. */
static void profiled(struct kw_arena *a)
{
	static const char two[] = "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"launch__registers_per_thread\"\n"
				  "\"\",\"\",\"ns\",\"register/thread\"\n\"0\",\"first\",\"7000\",\"40\"\n\"1\",\"second\",\"8000\",\"41\"\n";
	static const char one[] = "==PROF== Connected\n\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"launch__registers_per_thread\"\n"
				  "\"\",\"\",\"ns\",\"register/thread\"\n\"0\",\"first\",\"7000\",\"40\"\n";
	static const char none[] = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n";
	struct kw_launches l, facts;
	struct kw_verdict v;

	kw_launches_init(&l, a, "k.cu");
	kw_launches_init(&facts, a, "k.cu");
	timed(&v, 1e6, 1e6, 1e12);
	kw_explain_add_case(&l, &v.cases[0], true, &facts);
	ok(kw_explain_add_profile(&l, "n=1", one, sizeof(one) - 1), "a page with one launch");
	is_int(l.count, 1, "is about the case's launch");
	is_int((long)l.list[0]->value[KW_M_REGISTERS], 40, "which has its values");
	is_int((long)l.list[0]->value[KW_M_DURATION_NS], 1000000, "and the judge's time");
	ok(kw_explain_add_profile(&l, "n=1", two, sizeof(two) - 1), "a page with two");
	is_int(l.count, 3, "adds a launch for each");
	is_str(l.list[2]->kernel, "n=1: second", "named by case and kernel");
	is_int(l.outcome_count, 0, "nothing went wrong so far");
	ok(kw_explain_add_profile(&l, "n=1", none, sizeof(none) - 1), "no permission");
	is_int(l.outcome_count ? (int)l.outcomes[0] : -1, KW_OUTCOME_PERMISSION, "is told as such");
	ok(kw_explain_add_profile(&l, "n=1", "", 0), "an empty page");
	is_int(l.count, 3, "adds nothing");
	kw_verdict_release(&v);
}

static int place(const struct kw_finding *f, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(f[i].id, id) == 0)
			return (int)i;
	return -1;
}

/* What names the change comes before what only says that time is lost; the bytes that must move are never given back. */
static void ranked(struct kw_arena *a)
{
	static const char serial[] = "void f(const float *restrict x, float *restrict y, long n)\n{\n\tfloat s = 0;\n"
				     "\tfor (long i = 0; i < n; i++)\n\t\ts += x[i];\n\ty[0] = s;\n}\n";
	struct kw_verdict v;
	struct kw_finding *f = NULL;
	size_t n = 0;
	int at;

	timed(&v, 1e6, 1e6, 4e9);
	v.backend = "c";
	is_int(kw_explain_judged(serial, "k.c", &v, rules, rule_count, NULL, a, &f, &n, &err), KW_OK, "a serial sum at a quarter of its roof");
	at = place(f, n, "serial_reduction");
	is_int(at, 0, "is told first");
	ok(place(f, n, "cpu_far_from_roof") > 0, "before what only says that it is far from its roof");
	ok(at == 0 && f[0].gain_ns > 0 && f[0].gain_ns <= 0.75e6 * 1.0001, "and gives back no more than what is above the roof: %g",
	   at == 0 ? f[0].gain_ns : -1);
	kw_verdict_release(&v);
}

/* What its promises were worth decides where a rule's advice stands. */
static void by_record(struct kw_arena *a)
{
	static const char source[] = "void f(const float *restrict x, float *restrict y, long n)\n{\n\tfloat s = 0;\n"
				     "\tfor (long i = 0; i < n; i++)\n\t\ts += x[i];\n\ty[0] = s;\n}\n";
	char path[PATH_MAX + 8];
	struct kw_store *memory = NULL;
	struct kw_verdict v;
	struct kw_finding *f = NULL;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/memory", temp_dir());
	is_int(kw_store_open(path, false, &memory, &err), KW_OK, "a store");
	for (int i = 0; i < 5; i++)
		kw_ledger_add(memory, "serial_reduction", 0.5, i == 2 ? 0.4 : -0.1, a, &err);
	timed(&v, 1e6, 1e6, 4e9);
	v.backend = "c";
	is_int(kw_explain_judged(source, "k.c", &v, rules, rule_count, memory, a, &f, &n, &err), KW_OK, "a serial sum, with a bad record of its rule");
	ok(n > 1 && place(f, n, "serial_reduction") > 0, "its finding is no longer first: %d of %zu", place(f, n, "serial_reduction"), n);
	kw_verdict_release(&v);
	kw_store_close(memory);
}

int main(void)
{
	static const char source[] = "__global__ void f(float *x, int n)\n{\n\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n"
				     "\tif (i < n)\n\t\tx[i] = x[i] > 0 ? x[i] * 0.5 : sin(x[i]) / 3.0;\n}\n";
	struct kw_arena a;
	struct kw_verdict v;
	struct kw_finding *f = NULL;
	size_t n = 0;

	kw_arena_init(&a, 16 << 20);
	is_int(kw_rules_load(&a, &rules, &rule_count, &err), KW_OK, "the rules");
	timed(&v, 1e6, 1e6, 1e12);
	is_int(kw_explain_judged(source, "k.cu", &v, rules, rule_count, NULL, &a, &f, &n, &err), KW_OK, "a kernel at a thousandth of its roof");
	ok(n > 0, "has findings: %zu", n);
	ok(all_told(f, n), "each with its evidence and what to do");
	kw_verdict_release(&v);
	timed(&v, 0, 0, 0);
	v.cases[0].has_times = false;
	is_int(kw_explain_judged(source, "k.cu", &v, rules, rule_count, NULL, &a, &f, &n, &err), KW_OK, "without a time");
	is_int(n, 0, "nothing is said");
	kw_verdict_release(&v);
	ranked(&a);
	profiled(&a);
	by_record(&a);
	kw_rules_release(rules, rule_count);
	kw_arena_release(&a);
	return done();
}
