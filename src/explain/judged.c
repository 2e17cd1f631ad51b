#include "explain/judged.h"

#include <string.h>

#include "backend/backend.h"
#include "explain/explain.h"
#include "explain/explanation.h"
#include "explain/ledger.h"
#include "profile/input.h"

enum { SCRATCH_BYTES = 64 << 20, MAX_KNOWN = 4 };

bool kw_explain_on_gpu(const struct kw_verdict *v)
{
	const struct kw_backend *b = kw_backend_find(v->backend ? v->backend : "");

	return b && strcmp(b->device, "cpu") != 0;
}

/* What is true of a source and not counted in its functions. */
static bool is_no_count(int metric)
{
	return metric == KW_M_CORES || metric == KW_M_OPENCL || metric == KW_M_HIP || metric == KW_M_TRITON;
}

static void add_facts(struct kw_launch *k, const struct kw_launches *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		for (int m = 0; m < KW_M_COUNT; m++)
			if (kw_launch_has(facts->list[i], m) && m != KW_M_GPU)
				kw_launch_add_count(k, m, is_no_count(m) && kw_launch_has(k, m) ? 0 : facts->list[i]->value[m]);
		for (const struct kw_place *p = facts->list[i]->places; p; p = p->next)
			kw_launch_place(k, p->metric, p->line, kw_str_from(p->text));
	}
}

bool kw_explain_add_case(struct kw_launches *l, const struct kw_case_result *c, bool gpu, const struct kw_launches *facts)
{
	const struct kw_baseline_time *best = kw_case_best_baseline(c);
	struct kw_launch *k;

	if (!c->perf || !c->has_times)
		return true;
	k = kw_launches_add(l, kw_str_from(c->label), 0);
	if (!k)
		return false;
	k->value[KW_M_GPU] = gpu;
	kw_launch_set(k, KW_M_DURATION_NS, c->times.median_ns);
	kw_launch_set(k, KW_M_MIN_BYTES, c->bytes);
	kw_launch_set(k, KW_M_FLOPS, c->flops);
	if (c->ceiling_bytes_per_s > 0)
		kw_launch_set(k, KW_M_PEAK_RATE, c->ceiling_bytes_per_s);
	if (c->ceiling_flops_per_s > 0)
		kw_launch_set(k, KW_M_PEAK_FLOPS, c->ceiling_flops_per_s);
	if (gpu && c->ceiling_bytes_per_s > 0)
		kw_launch_set(k, KW_M_MEMORY_CEILING_PCT, 100 * c->bytes / c->times.median_ns * 1e9 / c->ceiling_bytes_per_s);
	if (best)
		kw_launch_set(k, KW_M_BASELINE_NS, best->times.median_ns);
	add_facts(k, facts);
	return true;
}

static struct kw_launch *launch_of(const struct kw_launches *l, const char *label)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i]->kernel, label) == 0)
			return l->list[i];
	return NULL;
}

static void add_measured(struct kw_launch *to, const struct kw_launch *k)
{
	for (int m = 0; m < KW_M_COUNT; m++)
		if (kw_launch_has(k, m) && !kw_launch_has(to, m))
			to->value[m] = k->value[m];
	if (!to->device[0])
		to->device = k->device;
	memcpy(to->grid, k->grid, sizeof(to->grid));
	memcpy(to->block, k->block, sizeof(to->block));
	to->unknown = k->unknown;
	to->unknown_count = k->unknown_count;
	to->rules = k->rules;
}

bool kw_explain_add_profile(struct kw_launches *l, const char *label, const char *text, size_t len)
{
	struct kw_launch *of_case = launch_of(l, label);
	struct kw_launches own;
	size_t notes;

	kw_launches_init(&own, l->arena, l->file);
	kw_input_read(kw_input_recognise("", text, len), text, len, &own);
	notes = own.note_count;
	/* How many cores worked is a share of the counted call's own time, which is not the one that is told. */
	for (size_t i = 0; i < own.count; i++)
		if (own.list[i]->value[KW_M_GPU] <= 0)
			kw_explain_derive(own.list[i]);
	for (size_t i = 0; i < own.count; i++) {
		const char *name = kw_arena_printf(l->arena, "%s: %s", label, own.list[i]->kernel);
		struct kw_launch *k = own.count == 1 && of_case ? of_case : kw_launches_add(l, kw_str_from(name ? name : ""), 0);

		if (!name || !k)
			return false;
		add_measured(k, own.list[i]);
	}
	for (size_t i = 0; i < notes; i++)
		kw_launches_note(l, 0, "the profiler: %s", own.notes[i].text);
	for (size_t i = 0; i < own.outcome_count; i++)
		kw_launches_outcome(l, own.outcomes[i]);
	if (own.count == 0 && own.note_count == 0 && own.outcome_count == 0)
		kw_launches_note(l, 0, "the profiler measured no kernel of %s", label);
	return !own.full && !l->full;
}

static const char *copy(struct kw_arena *a, const char *text, bool *good)
{
	const char *out = text ? kw_arena_strdup(a, text) : NULL;

	*good = *good && (!text || out);
	return out;
}

/* Out of the scratch arena, and out of rules that go. */
static bool keep(const struct kw_explained *e, struct kw_arena *a, struct kw_finding **out, size_t *count)
{
	bool good = true;

	*out = kw_arena_calloc(a, e->count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < e->count && good; i++) {
		struct kw_finding *f = &(*out)[(*count)++];

		kw_explained_core(&e->findings[i], e->launch, f);
		f->id = copy(a, f->id, &good);
		f->rule = copy(a, f->rule, &good);
		f->sentence = copy(a, f->sentence, &good);
		f->directive.id = copy(a, f->directive.id, &good);
		f->directive.text = copy(a, f->directive.text, &good);
		f->directive.wrong_when = copy(a, f->directive.wrong_when, &good);
		f->directive.prediction.metric = copy(a, f->directive.prediction.metric, &good);
	}
	return *out && good;
}

/* The launch that takes longest; NULL: none was timed. */
static struct kw_launch *longest(const struct kw_launches *l)
{
	struct kw_launch *out = NULL;

	for (size_t i = 0; i < l->count; i++)
		if (kw_launch_has(l->list[i], KW_M_DURATION_NS) &&
		    (!out || l->list[i]->value[KW_M_DURATION_NS] > out->value[KW_M_DURATION_NS]))
			out = l->list[i];
	return out;
}

const struct kw_case_result *kw_explain_longest(const struct kw_verdict *v)
{
	const struct kw_case_result *out = NULL;

	for (size_t i = 0; i < v->case_count; i++)
		if (v->cases[i].perf && v->cases[i].has_times && (!out || v->cases[i].times.median_ns > out->times.median_ns))
			out = &v->cases[i];
	return out;
}

enum kw_status kw_explain_judged(const char *source, const char *name, const struct kw_verdict *v, const struct kw_rule *rules,
				 size_t rule_count, struct kw_store *memory, struct kw_arena *a, struct kw_finding **out, size_t *count,
				 struct kw_error *err)
{
	struct kw_rule_record *records = NULL;
	struct kw_rule_set set = { .rules = rules, .count = rule_count };
	struct kw_launches facts, cases;
	struct kw_arena scratch;
	struct kw_explained e = { 0 };
	struct kw_launch *k;
	bool good = true, gpu = kw_explain_on_gpu(v);
	enum kw_status status = KW_OK;

	*out = NULL;
	*count = 0;
	kw_arena_init(&scratch, SCRATCH_BYTES);
	if (memory)
		status = kw_ledger_read(memory, rules, set.count, &scratch, &records, &set.record_count, err);
	if (status == KW_OK) {
		set.records = records;
		kw_launches_init(&facts, &scratch, name);
		kw_launches_init(&cases, &scratch, name);
		kw_input_read(kw_input_recognise(name, source, strlen(source)), source, strlen(source), &facts);
		for (size_t i = 0; i < v->case_count && good; i++)
			good = kw_explain_add_case(&cases, &v->cases[i], gpu, &facts);
		k = longest(&cases);
		good = good && (!k || (kw_explain_launch(&set, k, NULL, &scratch, &e) && keep(&e, a, out, count)));
		if (!good)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for findings");
	}
	kw_arena_release(&scratch);
	return status;
}

/* Told already, or explained away by what was. */
static bool is_told(const struct kw_rule *rule, const struct kw_rule **told, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (told[i] == rule || kw_rule_hides(told[i], rule))
			return true;
	return false;
}

const char *kw_explain_refused(const char *evidence, const struct kw_rule *rules, size_t rule_count, struct kw_arena *a)
{
	const struct kw_rule_set set = { .rules = rules, .count = rule_count };
	const struct kw_rule *told[MAX_KNOWN];
	struct kw_str rest = kw_str_from(evidence), part;
	const char *text = "";
	size_t count = 0;

	while (rest.len && text && kw_str_split(&rest, '\n', &part)) {
		struct kw_explained_finding f[MAX_KNOWN];
		const char *line = kw_arena_str(a, part);
		size_t n = line ? kw_explain_line(&set, line, a, f, MAX_KNOWN) : 0;

		if (!line)
			return NULL;
		for (size_t i = 0; i < n && text && count < MAX_KNOWN; i++) {
			/* The evidence is told as it stands, so that it is an error is known. */
			if (f[i].rule->fallback || is_told(f[i].rule, told, count))
				continue;
			told[count++] = f[i].rule;
			text = kw_arena_printf(a, "%s- %s: %s Do: %s\n", text, f[i].rule->title, f[i].evidence, f[i].directive);
		}
	}
	return text;
}

static bool keep_shortfall(const struct kw_case_result *c, const struct kw_baseline_time *best, const struct kw_explained *e, struct kw_arena *a,
			   struct kw_falls_short *out)
{
	bool good = true;

	*out = (struct kw_falls_short){ .ns = c->times.median_ns, .baseline_ns = best->times.median_ns, .sol = c->sol };
	out->label = copy(a, c->label, &good);
	out->baseline = copy(a, best->name, &good);
	out->evidence = copy(a, e->count ? e->findings[0].evidence : "", &good);
	out->missing = copy(a, e->count ? e->findings[0].directive : "", &good);
	return good;
}

enum kw_status kw_explain_shortfalls(const char *source, const char *name, const struct kw_verdict *v, struct kw_arena *a,
				     struct kw_falls_short **out, size_t *count, struct kw_error *err)
{
	struct kw_rule *rules = NULL;
	struct kw_rule_set set = { 0 };
	struct kw_arena scratch;
	struct kw_launches facts;
	bool good, gpu = kw_explain_on_gpu(v);
	enum kw_status status;

	*count = 0;
	*out = kw_arena_calloc(a, v->case_count + 1, sizeof(**out));
	kw_arena_init(&scratch, SCRATCH_BYTES);
	status = *out ? kw_rules_load(&scratch, &rules, &set.count, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a report");
	set.rules = rules;
	kw_launches_init(&facts, &scratch, name);
	if (status == KW_OK)
		kw_input_read(kw_input_recognise(name, source, strlen(source)), source, strlen(source), &facts);
	for (size_t i = 0; i < v->case_count && status == KW_OK; i++) {
		const struct kw_case_result *c = &v->cases[i];
		const struct kw_baseline_time *best = kw_case_best_baseline(c);
		struct kw_explained e = { 0 };
		struct kw_launches one;

		if (!c->perf || !c->has_times || !best || !(best->times.median_ns < c->times.median_ns))
			continue;
		kw_launches_init(&one, &scratch, name);
		good = kw_explain_add_case(&one, c, gpu, &facts) &&
		       (one.count == 0 || (kw_explain_launch(&set, one.list[0], NULL, &scratch, &e) && keep_shortfall(c, best, &e, a, &(*out)[(*count)++])));
		if (!good)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a report");
	}
	kw_rules_release(rules, set.count);
	kw_arena_release(&scratch);
	return status;
}
