#include "explain/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_GAIN_PCT = 2 };
#define FALLBACK_RANK 0.5
#define HINT 0.15 /* a rule about code that is no surer than this tells what may be looked at */

/* ---- the roof ---- */

static double larger(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : fmax(a, b);
}

/* The part of the time that multiprocessors were active, at most: where it was not measured, one without a block is not. */
static double active_share(const double *v)
{
	if (!isnan(v[KW_M_SM_ACTIVE_SHARE]))
		return v[KW_M_SM_ACTIVE_SHARE] / 100;
	return v[KW_M_GRID] < v[KW_M_SMS] ? v[KW_M_GRID] / v[KW_M_SMS] : 1;
}

/* Busy shares of the whole kernel's time. The profiler gives L1 and pipes for the time that multiprocessors were active. */
static void roof(const struct kw_launch *k, struct kw_explained *e)
{
	const double *v = k->value;
	double share = active_share(v);
	double l1 = v[KW_M_L1_PCT] * share, other = v[KW_M_MEMORY_PCT],
	       sm = larger(larger(v[KW_M_SM_BUSY_PCT], v[KW_M_PIPE_PCT]) * share, v[KW_M_PIPE_ELAPSED_PCT]);
	/* Bytes that cannot have moved in that time did not: a counter of them says more. */
	bool over = v[KW_M_MEMORY_CEILING_PCT] > 105 && !isnan(v[KW_M_DRAM_PCT]);
	double dram = over ? v[KW_M_DRAM_PCT] : larger(v[KW_M_DRAM_PCT], v[KW_M_MEMORY_CEILING_PCT]), known;

	if (isnan(v[KW_M_SM_ACTIVE_SHARE]) && l1 > other)
		l1 = other;
	if (!isnan(v[KW_M_L1_ELAPSED_PCT]))
		l1 = v[KW_M_L1_ELAPSED_PCT];
	sm = larger(v[KW_M_COMPUTE_PCT], larger(sm, v[KW_M_FLOP_PCT]));
	known = larger(dram, larger(v[KW_M_L2_PCT], l1));
	if (other < known + 2)
		other = NAN;
	e->unit[0] = (struct kw_roof_unit){ "DRAM", dram, KW_RELIEVES_DRAM };
	e->unit[1] = (struct kw_roof_unit){ "L2", v[KW_M_L2_PCT], KW_RELIEVES_L2 };
	e->unit[2] = (struct kw_roof_unit){ "L1 and shared memory", l1, KW_RELIEVES_L1 };
	e->unit[3] = (struct kw_roof_unit){ "compute", sm, KW_RELIEVES_SM };
	e->unit[4] = (struct kw_roof_unit){ "memory units", other, KW_RELIEVES_DRAM | KW_RELIEVES_L2 | KW_RELIEVES_L1 };
	e->roof_pct = NAN;
	e->roof_name = "";
	for (size_t i = 0; i < KW_ROOF_UNITS; i++)
		if (!isnan(e->unit[i].pct) && !(e->unit[i].pct <= e->roof_pct)) {
			e->roof_pct = e->unit[i].pct;
			e->roof_name = e->unit[i].name;
		}
}

/* The share of the time that stays whatever a change that relieves these units does. The bytes that the operation must move
 * stay in any case. */
static double floor_of(const struct kw_explained *e, const struct kw_launch *k, unsigned relieves, const char **name)
{
	double least = 0, must = k->value[KW_M_MEMORY_CEILING_PCT];

	*name = "";
	for (size_t i = 0; i < KW_ROOF_UNITS; i++) {
		double pct = e->unit[i].pct;

		/* No kernel comes to DRAM's data-sheet rate. */
		if (e->unit[i].relieved_by == KW_RELIEVES_DRAM && k->value[KW_M_DRAM_REACH_PCT] > 0)
			pct = fmax(100 * k->value[KW_M_DRAM_PCT] / k->value[KW_M_DRAM_REACH_PCT], pct);
		if (!(e->unit[i].relieved_by & relieves) && pct > least) {
			least = fmin(pct, 100);
			*name = e->unit[i].name;
		}
	}
	if (must > least && !(must > 105 && !isnan(k->value[KW_M_DRAM_PCT]))) {
		least = fmin(must, 100);
		*name = "memory, with the bytes that must move,";
	}
	return least / 100;
}

/* ---- findings ---- */

static const struct kw_rule_record *record_of(const struct kw_rule_set *set, const char *rule)
{
	for (size_t i = 0; i < set->record_count; i++)
		if (strcmp(set->records[i].rule, rule) == 0)
			return &set->records[i];
	return NULL;
}

/* why: NULL where memory is out, which ends the explanation elsewhere. */
static void drop(struct kw_explained *e, const struct kw_rule *r, const char *why)
{
	if (e->dropped_count < KW_MAX_FINDINGS)
		e->dropped[e->dropped_count++] = (struct kw_dropped){ r, why ? why : "" };
}

struct uses {
	const struct kw_launch *k;
	struct kw_buf *out;
	int left;
	bool seen[KW_M_COUNT];
	int first;                        /* line of what was told last: two facts about one line are told once */
};

/* "line 5, line 9: atomicAdd(&out[b], v);" for a fact that the rule looks at. */
static void tell_places(void *arg, int metric)
{
	struct uses *u = arg;
	int list[8], n = 0, all = 0;
	const char *text = NULL;

	/* Where the inner loops are is for the vectoriser's report, not for people. */
	if (u->seen[metric] || metric == KW_M_C_LOOPS)
		return;
	u->seen[metric] = true;
	for (const struct kw_place *p = u->k->places; p; p = p->next)
		if (p->metric == metric) {
			all++;
			if (n == 8) {
				memmove(list, list + 1, 7 * sizeof(list[0]));
				n--;
			}
			list[n++] = p->line;
			text = p->text;
		}
	if (n == 0 || (n == 1 && list[0] == u->first) || u->left-- <= 0)
		return;
	u->first = n == 1 ? list[0] : 0;
	kw_buf_printf(u->out, "%s%s", u->out->len ? "; " : "", n == 1 ? "line " : "lines ");
	for (int i = n; i-- > 0;)
		kw_buf_printf(u->out, "%d%s", list[i], i ? ", " : "");
	if (all > n)
		kw_buf_printf(u->out, " and %d more", all - n);
	if (text && text[0])
		kw_buf_printf(u->out, ": %s", text);
}

static const char *places(const struct kw_rule *r, const struct kw_launch *k, struct kw_arena *a)
{
	struct kw_buf out;
	struct uses u = { .k = k, .out = &out, .left = 2 };
	const char *text;

	if (!k->places || !r->when)
		return "";
	kw_buf_init(&out, 1024);
	kw_condition_metrics(r->when, tell_places, &u);
	text = kw_arena_str(a, kw_buf_str(&out));
	kw_buf_release(&out);
	return text ? text : "";
}

/* False: out of memory. */
static bool add(const struct kw_rule_set *set, const struct kw_rule *r, const struct kw_facts *f,
		const struct kw_launch *k, struct kw_arena *a, struct kw_explained *e)
{
	const struct kw_rule_record *record = record_of(set, r->name);
	struct kw_explained_finding *out = &e->findings[e->count];
	const char *limit;
	double most, least = floor_of(e, k, r->relieves, &limit), gain = r->gain ? kw_condition_eval(r->gain, f) : NAN;

	if (e->count == KW_MAX_FINDINGS)
		return true;
	/* Text and opcodes say what is odd, not how much time it takes. */
	if (r->about == KW_ABOUT_CODE && isnan(k->value[KW_M_DURATION_NS]))
		gain = NAN;
	if (!isnan(gain) && !r->final) {
		gain = fmin(fmax(gain, 0), 1 - least);
		if (100 * gain < LEAST_GAIN_PCT) {
			drop(e, r, least > 0.5 ? kw_arena_printf(a, "%s is at %.0f%% of what it can do anyway", limit, 100 * least)
					       : "under 2% of the time could come back");
			return true;
		}
	}
	*out = (struct kw_explained_finding){ .rule = r, .gain = r->final ? 0 : gain, .rank = gain,
					      .bound = isnan(e->roof_pct) ? NAN : 1 - least,
					      .factor_low = 1 - gain, .factor_high = 1 - gain * r->sure };
	if (record && record->tried > 0 && !isnan(gain))
		out->rank = gain * fmin(fmax(record->kept, 0.05), 1.5);
	most = r->rank ? kw_condition_eval(r->rank, f) : NAN;
	if (!isnan(most) && !isnan(gain))
		out->rank = fmin(out->rank, fmax(0, most));
	if (r->fallback)
		out->rank *= FALLBACK_RANK;
	out->evidence = kw_rule_say(r, r->evidence, f, a);
	out->directive = kw_rule_say(r, r->directive, f, a);
	out->check = kw_rule_say(r, r->check, f, a);
	out->where = places(r, k, a);
	if (!out->evidence || !out->directive || !out->check)
		return false;
	e->count++;
	return true;
}

static bool fits(const struct kw_rule *r, const struct kw_launch *k, bool compared)
{
	switch (r->about) {
	case KW_ABOUT_GPU:
		return !(k->value[KW_M_GPU] <= 0);
	case KW_ABOUT_CPU:
		return k->value[KW_M_GPU] <= 0;
	case KW_ABOUT_COMPARE:
		return compared;
	case KW_ABOUT_MESSAGE:
		return false;
	default:
		return true;
	}
}

static void remove_finding(struct kw_explained *e, size_t i)
{
	memmove(&e->findings[i], &e->findings[i + 1], (e->count - i - 1) * sizeof(e->findings[0]));
	e->count--;
}

/* A cause that would give back less than half of what a symptom costs does not explain it. */
static bool explains(double cause, double symptom)
{
	return isnan(cause) || isnan(symptom) || cause >= symptom / 2;
}

/* A rule that explains others away; a choice is kept as one. */
static void resolve(struct kw_explained *e, struct kw_arena *a)
{
	const char *hidden[KW_MAX_FINDINGS * KW_RULE_MAX_LIST], *by[KW_MAX_FINDINGS * KW_RULE_MAX_LIST];
	double gain[KW_MAX_FINDINGS * KW_RULE_MAX_LIST];
	size_t n = 0;

	for (size_t i = 0; i < e->count; i++)
		for (size_t k = 0; k < e->findings[i].rule->hides_count; k++) {
			by[n] = e->findings[i].rule->name;
			gain[n] = e->findings[i].gain;
			hidden[n++] = e->findings[i].rule->hides[k];
		}
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < e->count; i++)
			if (strcmp(e->findings[i].rule->name, hidden[k]) == 0 && explains(gain[k], e->findings[i].gain)) {
				drop(e, e->findings[i].rule, kw_arena_printf(a, "explained by: %s", by[k]));
				remove_finding(e, i);
				break;
			}
	for (size_t i = 0; i < e->count; i++)
		for (size_t k = 0; k < e->count; k++)
			if (e->findings[i].rule->choice &&
			    strcmp(e->findings[i].rule->choice, e->findings[k].rule->name) == 0) {
				e->findings[i].against = e->findings[k].rule->name;
				e->findings[k].against = e->findings[i].rule->name;
			}
}

/* At the roof, only what takes work from the unit that is full can help. */
static void keep_to_the_roof(struct kw_explained *e)
{
	bool final = false;

	for (size_t i = 0; i < e->count; i++)
		final = final || e->findings[i].rule->final;
	for (size_t i = e->count; final && i-- > 0;) {
		const struct kw_explained_finding *f = &e->findings[i];

		if (f->rule->final || f->rule->about == KW_ABOUT_COMPARE ||
		    (!isnan(f->gain) && f->gain >= 1.05 - e->roof_pct / 100))
			continue;
		drop(e, f->rule, "the kernel is at its roof: this would take nothing from the unit that is full");
		remove_finding(e, i);
	}
}

/* A unit that is full of work for nothing is at no roof: what takes that work away is the advice. */
static void no_roof_of_waste(struct kw_explained *e, struct kw_arena *a)
{
	const struct kw_explained_finding *waste = NULL;

	for (size_t i = 0; i < e->count; i++)
		if (e->findings[i].rule->waste && e->findings[i].gain >= 0.1)
			waste = &e->findings[i];
	for (size_t i = e->count; waste && i-- > 0;)
		if (e->findings[i].rule->final) {
			drop(e, e->findings[i].rule, kw_arena_printf(a, "the unit is full of work for nothing: %s", waste->rule->name));
			remove_finding(e, i);
		}
}

static int by_rank(const void *x, const void *y)
{
	const struct kw_explained_finding *p = x, *q = y;
	double a = isnan(p->rank) ? -1 : p->rank, b = isnan(q->rank) ? -1 : q->rank;

	/* What a change did comes before what could be done next. */
	if ((p->rule->about == KW_ABOUT_COMPARE) != (q->rule->about == KW_ABOUT_COMPARE))
		return p->rule->about == KW_ABOUT_COMPARE ? -1 : 1;
	if (p->rule->final != q->rule->final)
		return p->rule->final ? -1 : 1;
	if (a < b || a > b)
		return a > b ? -1 : 1;
	if (p->rule->sure < q->rule->sure || p->rule->sure > q->rule->sure)
		return p->rule->sure > q->rule->sure ? -1 : 1;
	return strcmp(p->rule->name, q->rule->name);
}

/* ---- the verdict line ---- */

static const char *without_findings(const struct kw_explained *e, const struct kw_launch *k, struct kw_arena *a)
{
	size_t known = 0;

	for (int m = 0; m < KW_M_COUNT; m++)
		known += kw_launch_has(k, m);
	if (isnan(e->roof_pct) && isnan(k->value[KW_M_DURATION_NS]) &&
	    (kw_launch_has(k, KW_M_CODE_BARRIER) || kw_launch_has(k, KW_M_C_LOOPS) || kw_launch_has(k, KW_M_LOOPS_VECTOR) ||
	     kw_launch_has(k, KW_M_STACK) || kw_launch_has(k, KW_M_CODE_MATRIX)))
		return e->count ? "no rule finds a fault in the code, only what may be worth a look; what limits it takes a profile"
				: "no rule finds a fault in the code; what limits it takes a profile";
	if (isnan(e->roof_pct))
		return known ? "what was measured says nothing about a limit: no unit's share of its peak is among it"
			     : "nothing was measured";
	if (isnan(e->unit[3].pct))
		return kw_arena_printf(
			a,
			"the busiest unit that was measured, %s, is used for %.1f%% of the time and is not the limit; "
			"compute was not measured",
			e->roof_name, e->roof_pct);
	if (isnan(e->unit[0].pct) && isnan(e->unit[1].pct) && isnan(e->unit[2].pct) && isnan(e->unit[4].pct))
		return kw_arena_printf(a, "compute is used for %.1f%% of the time; %s, so what limits it is not known", e->roof_pct,
				       k->value[KW_M_DRAM_RATE] > 0 ? "memory's share of its rate takes the device's name (--device)" : "memory was not measured");
	return kw_arena_printf(a, "no rule finds a fault; the busiest unit, %s, is used for %.1f%% of the time",
			       e->roof_name, e->roof_pct);
}

static bool conclude(struct kw_explained *e, const struct kw_facts *f, const struct kw_launch *k, struct kw_arena *a)
{
	const struct kw_rule *first = e->count ? e->findings[0].rule : NULL;

	/* What a text may well be meant to hold is worth a line, and is not what limits it. */
	if (first && first->about == KW_ABOUT_CODE && first->sure <= HINT && isnan(e->findings[0].gain) &&
	    isnan(k->value[KW_M_DURATION_NS]))
		first = NULL;
	if (!first) {
		e->bottleneck = isnan(e->roof_pct) ? "unknown" : "none";
		e->verdict = without_findings(e, k, a);
	} else {
		e->bottleneck = first->name;
		e->verdict = kw_rule_say(first, first->verdict ? first->verdict : first->title, f, a);
	}
	return e->verdict != NULL;
}

static enum kw_words words_of(const double *v)
{
	/* Triton first: its kernels run on AMD's devices too. */
	if (v[KW_M_TRITON] > 0)
		return KW_WORDS_TRITON;
	if (v[KW_M_OPENCL] > 0)
		return KW_WORDS_OPENCL;
	return v[KW_M_HIP] > 0 ? KW_WORDS_HIP : KW_WORDS_CUDA;
}

bool kw_explain_launch(const struct kw_rule_set *set, struct kw_launch *k, const struct kw_launch *before,
		       struct kw_arena *a, struct kw_explained *out)
{
	struct kw_facts f = { .now = k->value, .before = before ? before->value : NULL };
	struct kw_explained_finding findings[KW_MAX_FINDINGS] = { 0 };
	struct kw_dropped dropped[KW_MAX_FINDINGS] = { 0 };
	enum kw_words words;

	kw_explain_derive(k);
	words = words_of(k->value);
	*out = (struct kw_explained){ .launch = k, .findings = findings, .dropped = dropped };
	roof(k, out);
	k->value[KW_M_ROOF_PCT] = out->roof_pct;
	for (size_t i = 0; i < set->count; i++) {
		const struct kw_rule *r = kw_rule_in_words_of(&set->rules[i], words);

		if (fits(r, k, before != NULL) && kw_rule_fires(r, &f) && !add(set, r, &f, k, a, out))
			return false;
	}
	resolve(out, a);
	keep_to_the_roof(out);
	no_roof_of_waste(out, a);
	qsort(out->findings, out->count, sizeof(out->findings[0]), by_rank);
	out->findings = kw_arena_copy(a, findings, (out->count ? out->count : 1) * sizeof(findings[0]));
	out->dropped = kw_arena_copy(a, dropped, (out->dropped_count ? out->dropped_count : 1) * sizeof(dropped[0]));
	out->resources = kw_explain_resources(k, a);
	return out->findings && out->dropped && out->resources && conclude(out, &f, k, a);
}

size_t kw_explain_line(const struct kw_rule_set *set, const char *line, struct kw_arena *a,
		       struct kw_explained_finding *out, size_t max)
{
	double nothing[KW_M_COUNT];
	struct kw_facts f = { .now = nothing };
	size_t n = 0;

	for (int m = 0; m < KW_M_COUNT; m++)
		nothing[m] = NAN;
	for (size_t i = 0; i < set->count && n < max; i++) {
		const struct kw_rule *r = &set->rules[i];

		if (r->about != KW_ABOUT_MESSAGE || !kw_rule_matches(r, line, &f) || !kw_rule_fires(r, &f))
			continue;
		out[n] = (struct kw_explained_finding){ .rule = r, .gain = NAN, .bound = NAN, .rank = NAN, .factor_low = NAN,
							.factor_high = NAN, .where = "" };
		out[n].evidence = kw_rule_say(r, r->evidence, &f, a);
		out[n].directive = kw_rule_say(r, r->directive, &f, a);
		out[n].check = kw_rule_say(r, r->check, &f, a);
		n += out[n].evidence && out[n].directive && out[n].check;
	}
	return n;
}

void kw_explained_core(const struct kw_explained_finding *f, const struct kw_launch *k, struct kw_finding *out)
{
	double ns = k ? k->value[KW_M_DURATION_NS] : NAN;

	*out = (struct kw_finding){ .id = f->rule->name, .rule = f->rule->file, .sentence = f->evidence };
	out->gain_ns = isnan(f->gain) || isnan(ns) ? NAN : f->gain * ns;
	out->directive = (struct kw_directive){ .id = f->rule->directive_id, .text = f->directive,
						.wrong_when = f->rule->wrong_when };
	out->directive.prediction = (struct kw_prediction){ "time", f->factor_low, f->factor_high };
}
