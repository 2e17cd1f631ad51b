/* Every rule: it loads, has what a reader needs, fires on its example and not on its counter-example; conditions. */
#include <math.h>

#include "report/explain.h"
#include "tap.h"

static struct kw_arena arena;
static struct kw_error err;
static char line[2400];

static void clear(double v[KW_M_COUNT])
{
	for (int m = 0; m < KW_M_COUNT; m++)
		v[m] = NAN;
}

static void put(const struct kw_rule_example *x, size_t n, double now[KW_M_COUNT], double before[KW_M_COUNT])
{
	clear(now);
	clear(before);
	for (size_t i = 0; i < n; i++)
		(x[i].before ? before : now)[x[i].metric] = x[i].value;
}

static void test_message(const struct kw_rule *r)
{
	double now[KW_M_COUNT];
	struct kw_facts f = { .now = now };
	const char *said;

	clear(now);
	ok(kw_rule_matches(r, r->example_text, &f) && kw_rule_fires(r, &f), "%s: explains its example", r->name);
	said = kw_rule_say(r, r->evidence, &f, &arena);
	ok(said && said[0] && !strstr(said, "unknown number"), "%s: its evidence has its numbers: %s", r->name, said);
	ok(r->quiet_text && !kw_rule_matches(r, r->quiet_text, &f), "%s: is silent on its counter-example", r->name);
}

static void test_rule(const struct kw_rule *r)
{
	double now[KW_M_COUNT], before[KW_M_COUNT];
	struct kw_facts f = { .now = now, .before = before };
	const char *said;

	ok(strlen(r->source) > 8 && strlen(r->wrong_when) > 8 && strlen(r->directive) > 8 && strlen(r->check) > 8,
	   "%s: source, directive, check, when it is wrong", r->name);
	if (r->about == KW_ABOUT_MESSAGE) {
		test_message(r);
		return;
	}
	put(r->example, r->example_count, now, before);
	ok(kw_rule_fires(r, &f), "%s: fires on its example", r->name);
	said = kw_rule_say(r, r->evidence, &f, &arena);
	ok(said && said[0] && !strstr(said, "unknown number"), "%s: its evidence has its numbers: %s", r->name, said);
	said = kw_rule_say(r, r->verdict ? r->verdict : r->title, &f, &arena);
	ok(said && !strstr(said, "unknown number"), "%s: its verdict too: %s", r->name, said);
	if (r->gain) {
		double gain = kw_condition_eval(r->gain, &f);

		ok(gain >= 0 && gain <= 1, "%s: its gain is a share: %g", r->name, gain);
	}
	ok(r->quiet_count > 0, "%s: has a counter-example", r->name);
	put(r->quiet, r->quiet_count, now, before);
	ok(!kw_rule_fires(r, &f), "%s: is silent on it", r->name);
	clear(now);
	clear(before);
	ok(!kw_rule_fires(r, &f), "%s: is silent where nothing was measured", r->name);
}

static uint64_t state = 88172645463325252u; /* of a xorshift: the same values in every run */

static double part(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static double any_value(int metric)
{
	double kind = part(), x = part();

	if (strstr(kw_metric_name(metric), "_pct"))
		return 100 * x;
	return kind < 0.15 ? 0 : kind < 0.25 ? 1 : kind < 0.6 ? floor(pow(10, 6 * x)) : kind < 0.8 ? 4 * x : pow(10, 9 * x);
}

struct used {
	bool metric[KW_M_COUNT];
};

static void use(void *arg, int metric)
{
	((struct used *)arg)->metric[metric] = true;
}

/* What is wrong with a sentence that was said; NULL: nothing. */
static const char *fault(const char *said)
{
	int open = 0;

	if (!said || !said[0])
		return "it is empty";
	if (strstr(said, "unknown number"))
		return "a number is unknown";
	for (const char *p = said; *p && open >= 0; p++)
		open += (*p == '(') - (*p == ')');
	return open ? "a parenthesis is left open" : strstr(said, ": .") || strstr(said, "  ") ? "a hole is left" : NULL;
}

/* A rule's own example, and anything that its condition does not ask for: a rare condition holds too. */
static void put_example(const struct kw_rule *r, const struct used *used, double *now, double *before)
{
	double now_only[KW_M_COUNT], before_only[KW_M_COUNT];

	put(r->example, r->example_count, now_only, before_only);
	for (int m = 0; m < KW_M_COUNT; m++) {
		if (used->metric[m] || !isnan(now_only[m]))
			now[m] = now_only[m];
		if (used->metric[m] || !isnan(before_only[m]))
			before[m] = before_only[m];
	}
}

/* Whatever else is missing, a rule that fires says only what it knows. */
static void test_missing(const struct kw_rule *r)
{
	double now[KW_M_COUNT], before[KW_M_COUNT], there;
	struct kw_facts f = { .now = now, .before = r->about == KW_ABOUT_COMPARE ? before : NULL };
	const char *sentences[] = { r->evidence, r->directive, r->verdict ? r->verdict : r->title, r->check }, *why = NULL, *said = "";
	struct used used = { 0 };
	int fired = 0;

	if (!r->when)
		return;
	kw_condition_metrics(r->when, use, &used);
	for (int t = 0; t < 20000 && fired < 100 && !why; t++) {
		struct kw_arena a;

		there = 0.2 + 0.8 * part();
		for (int m = 0; m < KW_M_COUNT; m++) {
			double share = used.metric[m] ? there : 0.02;

			now[m] = part() < share ? any_value(m) : NAN;
			before[m] = part() >= share ? NAN : isnan(now[m]) ? any_value(m) : now[m] * pow(2, 4 * part() - 2);
		}
		if (t % 4 == 3)
			put_example(r, &used, now, before);
		if (!kw_rule_fires(r, &f))
			continue;
		fired++;
		kw_arena_init(&a, 1 << 20);
		for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]) && !why; i++) {
			const char *text = kw_rule_say(r, sentences[i], &f, &a);

			why = fault(text);
			said = why ? kw_arena_strndup(&arena, text ? text : "", 200) : said;
		}
		kw_arena_release(&a);
	}
	ok(fired > 0 && !why, "%s: says only what it knows, in %d of its states%s%s: %s", r->name, fired, why ? "; " : "", why ? why : "", said);
}

/* Words that a kernel in OpenCL has no use for. */
static const char *cuda_word(const char *said)
{
	static const char *const words[] = { "threadIdx", "blockIdx", "warp", "__sync", "__shfl", "shuffle", "lane", "thread", "shared memory", "a block",
					     "the block", "each block", "SM(s)", "MUFU", "LDL", "DADD", "HMMA", "wmma", "ptxas", "template", "ncu", NULL };

	for (size_t i = 0; said && words[i]; i++)
		if (strstr(said, words[i]))
			return words[i];
	return NULL;
}

/* What only NVIDIA's tools and machine code have, in a sentence for AMD's. */
static const char *nvidia_word(const char *said)
{
	static const char *const words[] = { "ncu", "Nsight", "nvdisasm", "ptxas", "PTX", "SASS", "LDG", "LDL", "STL", "ATOMS", "HMMA", "DADD", "MUFU", "wgmma",
					     "__reduce_add_sync", "__shfl_down_sync", "tensor core", "ectors a request", NULL };

	for (size_t i = 0; said && words[i]; i++)
		if (strstr(said, words[i]))
			return words[i];
	return NULL;
}

/* A rule that a kernel in OpenCL (or HIP) can fire, by its source alone or with its time and ceilings, speaks its language. */
static size_t test_words(const struct kw_rule *r, enum kw_words words)
{
	static const int counted[] = { KW_M_CODE_DOUBLE_LITERAL, KW_M_CODE_DIV, KW_M_CODE_DIV_LOOP, KW_M_CODE_BARRIER, KW_M_CODE_BARRIER_LOOP,
				       KW_M_CODE_ATOMIC_GLOBAL, KW_M_CODE_ATOMIC_LOOP, KW_M_CODE_ATOMIC_SHARED, KW_M_CODE_ATOMIC_SHARED_LOOP,
				       KW_M_CODE_HALF, KW_M_CODE_MATMUL, KW_M_CODE_STRIDED, KW_M_CODE_DYNAMIC_ARRAY, KW_M_CODE_SERIAL,
				       KW_M_CODE_CONFLICT_WAYS, KW_M_CODE_CONFLICT_STRIDE, KW_M_CODE_AOS, KW_M_CODE_DIVERGENT, KW_M_CODE_BLOCKS_FIXED };
	double now[KW_M_COUNT];
	struct kw_facts f = { .now = now };
	const struct kw_rule *own = kw_rule_in_words_of(r, words);
	const char *sentences[] = { own->title, own->verdict, own->evidence, own->directive, own->check, own->wrong_when };

	clear(now);
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		now[counted[i]] = 4;
	now[KW_M_GPU] = now[words == KW_WORDS_HIP ? KW_M_HIP : KW_M_OPENCL] = 1;
	if (words == KW_WORDS_OPENCL)
		now[KW_M_CODE_BLOCKS_FIXED] = NAN;
	if (words == KW_WORDS_HIP)
		now[KW_M_VGPR_SPILLS] = 4;
	now[KW_M_CODE_DOUBLES] = now[KW_M_CODE_MATRIX] = now[KW_M_CODE_ASYNC] = 0;
	now[KW_M_DURATION_NS] = 1e6;
	now[KW_M_MIN_BYTES] = 1e6;
	now[KW_M_MEMORY_CEILING_PCT] = 10;
	if ((r->about != KW_ABOUT_CODE && r->about != KW_ABOUT_GPU) || !kw_rule_fires(own, &f))
		return 0;
	for (size_t i = 0; i < 6; i++) {
		const char *said = kw_rule_say(own, sentences[i], &f, &arena), *word = words == KW_WORDS_HIP ? nvidia_word(said) : cuda_word(said);

		ok(said && !word && !strstr(said, "unknown number"), "%s, in %s%s%s: %s", r->name, words == KW_WORDS_HIP ? "HIP" : "OpenCL", word ? ", says " : "", word ? word : "", said);
	}
	return 1;
}

/* What nobody can write in Triton, where threads, shared memory and instructions are the compiler's. */
static const char *no_word_of_triton(const char *said)
{
	static const char *const words[] = { "__", "threadIdx", "blockIdx", "float4", "uint4", "#pragma", "huffle", "template", "cp.async", "ldmatrix",
					     "maxrregcount", "launch bound", "-fmad", "sqrtf", "expf", "0.5f", "0.0f", "volatile", "swizzle of", "XOR",
					     "odd row stride", "constant memory", "128-bit", "128 bits", "tile a thread", "tiles a thread", "loads a thread",
					     "elements a thread", "lane 0", "LDS", NULL };

	for (size_t i = 0; said && words[i]; i++)
		if (strstr(said, words[i]))
			return words[i];
	return NULL;
}

/* A rule that a kernel in Triton can fire, by its counters or by its source, says what to change in Triton's words. */
static size_t test_triton(const struct kw_rule *r)
{
	/* What only C, source that is no Triton, or AMD's tools have. */
	static const int others[] = { KW_M_C_LOOPS, KW_M_C_FALSE_SHARING, KW_M_C_STRIDED, KW_M_C_REDUCTION, KW_M_C_MATH_CALL, KW_M_C_CHASE, KW_M_C_BRANCH_LOOP,
				      KW_M_C_ATOMIC_LOOP, KW_M_LOOPS_SCALAR, KW_M_CODE_AOS, KW_M_CODE_DIVERGENT, KW_M_CODE_DYNAMIC_ARRAY, KW_M_CODE_CONFLICT_WAYS,
				      KW_M_CODE_SHARED_PRODUCT, KW_M_CODE_ATOMIC_SHARED_LOOP, KW_M_CODE_BLOCKS_FIXED, KW_M_CODE_LOCAL,
				      KW_M_VGPR_SPILLS, KW_M_SCRATCH, KW_M_LDS_CONFLICT, KW_M_ACTIVE_LANES, KW_M_TRACE_BUSY };
	double now[KW_M_COUNT];
	struct kw_facts f = { .now = now };
	const struct kw_rule *own = kw_rule_in_words_of(r, KW_WORDS_TRITON);
	const char *said, *word;

	if (r->about != KW_ABOUT_CODE && r->about != KW_ABOUT_GPU)
		return 0;
	clear(now);
	for (size_t i = 0; i < r->example_count; i++)
		now[r->example[i].metric] = r->example[i].value;
	now[KW_M_GPU] = now[KW_M_TRITON] = 1;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!isnan(now[others[i]]))
			return 0;
	if (!kw_rule_fires(own, &f))
		return 0;
	said = kw_rule_say(own, own->directive, &f, &arena);
	word = no_word_of_triton(said);
	ok(said && !word && !strstr(said, "unknown number"), "%s, in Triton%s%s: %s", r->name, word ? ", says " : "", word ? word : "", said);
	return 1;
}

/* Its example beside one unit that is nearly full, of which its change takes nothing: the gain is what that unit leaves, at most. */
static void test_under_the_roof(const struct kw_rule *r)
{
	static const struct {
		int metric;
		double pct, left; /* left: of the time, at most */
		unsigned relieved;
		const char *name;
	} full[] = {
		{ KW_M_DRAM_PCT, 70, 1 - 70.0 / 88, KW_RELIEVES_DRAM, "DRAM" },
		{ KW_M_L2_PCT, 72, 0.28, KW_RELIEVES_L2, "L2" },
		{ KW_M_L1_ELAPSED_PCT, 80, 0.2, KW_RELIEVES_L1, "L1" },
		{ KW_M_COMPUTE_PCT, 85, 0.15, KW_RELIEVES_SM, "compute" },
		{ KW_M_MEMORY_CEILING_PCT, 80, 0.2, 0, "the bytes that must move" },
	};
	const struct kw_rule_set set = { .rules = r, .count = 1 };

	for (size_t i = 0; r->about == KW_ABOUT_GPU && r->gain && !r->final && i < sizeof(full) / sizeof(full[0]); i++) {
		struct kw_launches l;
		struct kw_launch *k;
		struct kw_explained e;
		struct kw_arena a;

		kw_arena_init(&a, 4 << 20);
		kw_launches_init(&l, &a, "f");
		k = kw_launches_add(&l, KW_STR("k"), 1);
		for (size_t x = 0; x < r->example_count; x++)
			k->value[r->example[x].metric] = r->example[x].value;
		k->value[KW_M_GPU] = 1;
		k->value[KW_M_DURATION_NS] = isnan(k->value[KW_M_DURATION_NS]) ? 1e6 : k->value[KW_M_DURATION_NS];
		if (!(r->relieves & full[i].relieved)) {
			k->value[full[i].metric] = full[i].pct;
			ok(kw_explain_launch(&set, k, NULL, &a, &e), "%s beside %s", r->name, full[i].name);
			for (size_t f = 0; f < e.count; f++)
				ok(isnan(e.findings[f].gain) || e.findings[f].gain <= full[i].left + 1e-9, "%s promises %g where %s leaves %g", r->name,
				   e.findings[f].gain, full[i].name, full[i].left);
		}
		kw_arena_release(&a);
	}
}

static double value(const char *text, const double *now)
{
	struct kw_condition *c;
	struct kw_facts f = { .now = now };

	if (kw_condition_parse(text, NULL, &arena, &c, "t", &err) != KW_OK)
		return -99;
	return kw_condition_eval(c, &f);
}

static bool is(double got, double want)
{
	return got >= want && got <= want;
}

static void test_conditions(void)
{
	double now[KW_M_COUNT];
	static const char *const bad[] = {
		"",    "dram_pct >", "(dram_pct",    "dram_pc > 1",	      "max()", "dram_pct 3",
		"1 +", "nosuch(1)",  "before.x > 1", "has(dram_pct, l2_pct)", ">= 3",  "1.2.3 > 1"
	};
	char deep[400];
	struct kw_condition *c;

	clear(now);
	now[KW_M_DRAM_PCT] = 60;
	ok(is(value("dram_pct >= 60", now), 1), "a comparison");
	ok(isnan(value("l2_pct >= 60", now)), "a comparison with a missing value is not known");
	ok(is(value("l2_pct >= 60 || dram_pct > 1", now), 1), "or: one side decides");
	ok(is(value("l2_pct >= 60 && dram_pct > 99", now), 0), "and: one side decides");
	ok(isnan(value("l2_pct >= 60 && dram_pct > 1", now)), "and: not known");
	ok(is(value("!(l2_pct >= 60)", now), 1), "not: not known to be so");
	ok(is(value("has(dram_pct) + has(l2_pct)", now), 1), "has");
	ok(is(value("first(l2_pct, dram_pct, 1)", now), 60), "first");
	ok(is(value("max(l2_pct, 5, dram_pct) - min(l2_pct, 7)", now), 53), "min and max of those that are there");
	ok(is(value("2 + 3 * 4 - 6 / 3", now), 12), "precedence");
	ok(is(value("-(2 - 5) * ceil(1.2) + floor(1.9) + abs(0 - 4)", now), 11), "functions");
	ok(isnan(value("1 / (dram_pct - 60)", now)), "a division by zero is missing, not infinite");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		kw_error_reset(&err);
		ok(kw_condition_parse(bad[i], NULL, &arena, &c, "r.yaml:3:7", &err) == KW_ERR_INPUT && !c &&
		   strcmp(err.where, "r.yaml:3:7") == 0, "refused: '%s': %s", bad[i], err.text);
	}
	kw_condition_parse("dram_pc > 1", NULL, &arena, &c, "t", &err);
	ok(strstr(err.text, "did you mean 'dram_pct'") != NULL, "a slip gets the nearest name: %s", err.text);
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	ok(kw_condition_parse(deep, NULL, &arena, &c, "t", &err) == KW_ERR_INPUT, "nested too deeply");
}

static void test_agreement(void)
{
	static const char rule[] = "title: t\nabout: cpu\nwhen: c_loops > 0\nevidence: \"{c_loops:int} loop(s) (is|are) slow and add(s|) (x) up\"\ndirective: d\n"
				   "change: c\ncheck: k\nwrong_when: w\nsource: s\nexample: { c_loops: 2 }\n";
	double now[KW_M_COUNT];
	struct kw_facts f = { .now = now };
	struct kw_rule r;

	is_int(kw_rule_parse("knowledge/rules/x.yaml", rule, strlen(rule), &arena, &r, &err), KW_OK, "a rule with words that agree");
	clear(now);
	now[KW_M_C_LOOPS] = 1;
	is_str(kw_rule_say(&r, r.evidence, &f, &arena), "1 loop is slow and adds (x) up", "with one");
	now[KW_M_C_LOOPS] = 11;
	is_str(kw_rule_say(&r, r.evidence, &f, &arena), "11 loops are slow and add (x) up", "with several");
}

static void test_bad_rules(void)
{
	static const char good[] = "title: t\nabout: gpu\nwhen: dram_pct > 1\nevidence: \"{dram_pct:1}\"\ndirective: "
				   "d\nchange: c\ncheck: k\n"
				   "wrong_when: w\nsource: s\nexample: { dram_pct: 2 }\n";
	static const struct {
		const char *from, *to, *says;
	} bad[] = {
		{ "source: s\n", "", "source" },
		{ "about: gpu", "about: gpus", "a rule is about" },
		{ "dram_pct > 1", "dram_pct >", "expected a value" },
		{ "{dram_pct:1}", "{dram_pc:1}", "did you mean" },
		{ "{dram_pct:1}", "{dram_pct", "no '}'" },
		{ "example: { dram_pct: 2 }\n", "", "has an example" },
		{ "{ dram_pct: 2 }", "{ dram: 2 }", "no metric is called" },
		{ "title: t\n", "title: t\nrelieves: [ tensor ]\n", "is no unit" },
		{ "title: t\n", "title: t\nsure: 2\n", "sure" },
		{ "title: t\n", "title: t\nclass: x\n", "class" },
		{ "title: t\n", "title: t\ntilte: x\n", "did you mean 'title'" },
		{ "about: gpu", "about: message\nmessage: '(x'", "not a pattern" },
		{ "about: gpu", "about: message\nmessage: '(((a?){20}){20}){20}'", "over 2048 characters" },
		{ "about: gpu", "about: message\nmessage: '[]{9}a]{,9}{9}{9}{9}'", "over 2048 characters" },
		{ "about: gpu", "about: message\nmessage: 'x(b+c)++++++++++++++++++++++'", "over 2048 characters" },
		{ "about: gpu", "about: message\nmessage: '((a{1,}){1,}b{7,}){1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}'", "over 2048 characters" },
		{ "about: gpu", "about: message\nmessage: 'b){99}{99}'", "over 2048 characters" },
		{ "about: gpu", "about: message\nmessage: 'a{99999999999999999999}'", "over 2048 characters" },
		{ "title: t\n", "title: t\nopencl: words\n", "must be a map of sentences" },
		{ "title: t\n", "title: t\nopencl:\n  chek: x\n", "did you mean 'check'" },
		{ "title: t\n", "title: t\nopencl:\n  check: \"{dram_pc:1}\"\n", "did you mean" },
	};
	struct kw_rule r;
	char text[1024];

	is_int(kw_rule_parse("knowledge/rules/x.yaml", good, strlen(good), &arena, &r, &err), KW_OK, "a small rule");
	is_str(r.name, "x", "its name is its file's");
	snprintf(text, sizeof(text), "%s", "title: t\nabout: message\nmessage: '[[:digit:]{]{4}([a-f{]{2}){3,9}\\{999999\\(x{40}'\nevidence: e\ndirective: d\n"
		 "change: c\ncheck: k\nwrong_when: w\nsource: s\nexample: \"123{a{a{a{{999999(xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"\n");
	is_int(kw_rule_parse("knowledge/rules/x.yaml", text, strlen(text), &arena, &r, &err), KW_OK, "a pattern with repeats");
	regfree(r.message);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *at = strstr(good, bad[i].from);

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, bad[i].to, at + strlen(bad[i].from));
		kw_error_reset(&err);
		ok(kw_rule_parse("knowledge/rules/x.yaml", text, strlen(text), &arena, &r, &err) == KW_ERR_INPUT &&
			   strstr(kw_error_line(&err, line, sizeof(line)), bad[i].says) && strstr(line, "x.yaml"),
		   "refused: %s", line);
	}
}

static void test_sentences(void)
{
	static const char text[] = "title: t\nabout: gpu\nwhen: dram_pct > 1\nevidence: \"a {dram_pct:1}%[[ b "
				   "{l2_pct:0}]][[ c {dram_bytes:bytes}]] "
				   "{duration_ns:time} {dram_bytes_per_s:rate} {dram_pct / 2:x}\"\ndirective: "
				   "d\nchange: c\ncheck: k\nwrong_when: w\nsource: s\n"
				   "example: { dram_pct: 2 }\n";
	double now[KW_M_COUNT];
	struct kw_facts f = { .now = now };
	struct kw_rule r;

	clear(now);
	now[KW_M_DRAM_PCT] = 12.345;
	now[KW_M_DRAM_BYTES] = 2048;
	now[KW_M_DURATION_NS] = 1500;
	now[KW_M_DRAM_RATE] = 4e9;
	is_int(kw_rule_parse("x.yaml", text, strlen(text), &arena, &r, &err), KW_OK, "a rule with forms");
	is_str(kw_rule_say(&r, r.evidence, &f, &arena), "a 12.3% c 2 KiB 1.50 us 4 GB/s 6.17x",
	       "numbers, and a part that is left out");
}

/* Rules, an export, source, reports: 0 when all went well, 1 when something said that it did not. */
static int scenario(void *unused)
{
	static const char export[] =
		"\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Description\"\n"
		"\"0\",\"k(int, \"\"a\"\")\",\"DRAM Throughput\",\"%\",\"30\",\"\"\n"
		"\"0\",\"k(int, \"\"a\"\")\",\"Waves Per SM\",\"\",\"1.5\",\"text\"\n";
	static const char source[] =
		"__global__ void k(float *x, int n) { for (int i = 0; i < n; i++) atomicAdd(x, 1.0f * (i % n)); }";
	struct kw_explained_input in[2] = { { .file = "a", .kind = KW_INPUT_NCU },
					    { .file = "b", .kind = KW_INPUT_CUDA } };
	struct kw_explanation all = { .inputs = in, .count = 2, .verdict_class = "" };
	struct kw_rule_set set = { .count = 0 };
	struct kw_rule *rules = NULL;
	struct kw_error e;
	struct kw_arena a;
	struct kw_buf out;
	json_t *j = NULL;
	bool good;

	(void)unused;
	kw_error_reset(&e);
	kw_arena_init(&a, 64 << 20);
	kw_buf_init(&out, 1 << 20);
	good = kw_rules_load(&a, &rules, &set.count, &e) == KW_OK;
	set.rules = rules;
	for (size_t i = 0; i < 2 && good; i++) {
		kw_launches_init(&in[i].launches, &a, in[i].file);
		kw_input_read(in[i].kind, i ? source : export, i ? sizeof(source) - 1 : sizeof(export) - 1,
			      &in[i].launches);
		good = !in[i].launches.full && kw_explain_input(&set, &in[i], NULL, &a);
	}
	good = good && kw_report_explain_text(&all, true, &out) && kw_report_explain_html(&all, &out);
	j = good ? kw_report_explain_json(&all) : NULL;
	good = good && j;
	json_decref(j);
	kw_buf_release(&out);
	kw_rules_release(rules, set.count);
	kw_arena_release(&a);
	return good ? 0 : 1;
}

int main(void)
{
	struct kw_rule *rules;
	size_t n, performance = 0, opencl = 0, hip = 0, triton = 0;

	kw_arena_init(&arena, 64 << 20);
	ok(kw_rules_load(&arena, &rules, &n, &err) == KW_OK, "the rules load: %s",
	   kw_error_line(&err, line, sizeof(line)));
	for (size_t i = 0; i < n; i++) {
		test_rule(&rules[i]);
		test_missing(&rules[i]);
		test_under_the_roof(&rules[i]);
		performance += rules[i].about != KW_ABOUT_MESSAGE;
		opencl += test_words(&rules[i], KW_WORDS_OPENCL);
		hip += test_words(&rules[i], KW_WORDS_HIP);
		triton += test_triton(&rules[i]);
	}
	ok(performance >= 40, "%zu rules about kernels", performance);
	ok(hip >= 11, "%zu rules that a kernel in HIP can fire", hip);
	ok(triton >= 50, "%zu rules that a kernel in Triton can fire", triton);
	ok(opencl >= 11, "%zu rules that a kernel in OpenCL can fire", opencl);
	ok(!kw_rule_find(rules, n, "no_such_rule"), "an unknown rule is not found");
	kw_rules_release(rules, n);
	test_conditions();
	test_bad_rules();
	test_agreement();
	test_sentences();
	fails_cleanly("KW_FAIL_ALLOC", 4000, scenario, NULL, "an explanation, out of memory");
	kw_arena_release(&arena);
	return done();
}
