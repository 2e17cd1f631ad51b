/* What the profiler's own rules say. Their numbers serve where the export has no metric for them; their estimates are
 * kept apart from ours, because a "local" one is no speedup of the kernel. */
#include "profile/ncu.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { MAX_SAID = 800 };

/* The number that ends right before a phrase: "27% of its fp64 peak", with "of its fp64 peak". */
static double number_before(const char *text, const char *phrase)
{
	const char *at = strcasestr(text, phrase), *start;
	double v;

	if (!at)
		return NAN;
	while (at > text && (at[-1] == ' ' || at[-1] == '%' || at[-1] == '('))
		at--;
	for (start = at; start > text && (isdigit((unsigned char)start[-1]) || start[-1] == '.' || start[-1] == ',');)
		start--;
	return kw_number_read((struct kw_str){ start, (size_t)(at - start) }, KW_NUMBER_POINT, &v) ? v : NAN;
}

static double number_after(const char *text, const char *phrase)
{
	const char *at = strstr(text, phrase);
	size_t n;
	double v;

	if (!at)
		return NAN;
	at += strlen(phrase);
	at += strspn(at, " (");
	n = strspn(at, "0123456789.,");
	return n && kw_number_read((struct kw_str){ at, n }, KW_NUMBER_POINT, &v) ? v : NAN;
}

static void set_if_missing(struct kw_launch *k, int metric, double v)
{
	if (!isnan(v) && !kw_launch_has(k, metric))
		kw_launch_set(k, metric, v);
}

/* "FP64 is the highest-utilized pipeline (85.2%)" */
static void busiest_pipe(struct kw_launch *k, const char *text)
{
	static const struct {
		const char *word;
		int metric;
	} pipes[] = { { "FP64", KW_M_FP64_PCT },     { "XU", KW_M_XU_PCT },   { "LSU", KW_M_LSU_PCT },
		      { "Tensor", KW_M_TENSOR_PCT }, { "ALU", KW_M_ALU_PCT }, { "FMA", KW_M_FMA_PCT } };
	const char *at = strstr(text, " is the highest-utilized pipeline");
	const char *start = at;
	double v = number_after(text, " is the highest-utilized pipeline");

	if (!at || isnan(v))
		return;
	while (start > text && start[-1] != '.' && at - start < 40)
		start--;
	for (size_t i = 0; i < sizeof(pipes) / sizeof(pipes[0]); i++) {
		const char *word = memmem(start, (size_t)(at - start), pipes[i].word, strlen(pipes[i].word));

		if (!word)
			continue;
		set_if_missing(k, pipes[i].metric, v);
		if (pipes[i].metric == KW_M_FP64_PCT)
			set_if_missing(k, KW_M_SAID_FP64_BUSY_PCT, v);
		return;
	}
}

/* "each warp spends 15.7 cycles being stalled waiting for ... This stall type represents about 90.5% of the total average of 17.4 cycles" */
static void stall(struct kw_launch *k, const char *text)
{
	static const struct {
		const char *phrase;
		int metric;
	} reasons[] = {
		{ "scoreboard dependency on a L1TEX", KW_M_STALL_LONG_SCOREBOARD_PCT },
		{ "scoreboard dependency on an L1TEX", KW_M_STALL_LONG_SCOREBOARD_PCT },
		{ "scoreboard dependency on a MIO", KW_M_STALL_SHORT_SCOREBOARD_PCT },
		{ "scoreboard dependency on an MIO", KW_M_STALL_SHORT_SCOREBOARD_PCT },
		{ "MIO (memory input/output) instruction queue", KW_M_STALL_MIO_THROTTLE_PCT },
		{ "local/global) instruction queue", KW_M_STALL_LG_THROTTLE_PCT },
		{ "for local and global (LG) memory operations", KW_M_STALL_LG_THROTTLE_PCT },
		{ "sibling warps at a CTA barrier", KW_M_STALL_BARRIER_PCT },
		{ "execution pipe to be available", KW_M_STALL_MATH_PIPE_PCT },
		{ "fixed latency execution dependency", KW_M_STALL_WAIT_PCT },
		{ "instruction cache miss", KW_M_STALL_NO_INSTRUCTION_PCT },
		{ "immediate constant cache", KW_M_STALL_IMC_MISS_PCT },
		{ "memory barrier", KW_M_STALL_MEMBAR_PCT },
	};
	double v = number_after(text, "stall type represents about");

	if (isnan(v))
		v = number_after(text, "This represents about");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strstr(text, reasons[i].phrase)) {
			set_if_missing(k, reasons[i].metric, v);
			/* The metric before a share is the same in cycles. */
			set_if_missing(k, reasons[i].metric - 1, number_before(text, "cycles being stalled"));
			return;
		}
}

static void conflicts(struct kw_launch *k, const char *text)
{
	const char *at = strstr(text, "bank conflict");
	double v;

	if (!at)
		return;
	v = number_after(text, "which represent");
	set_if_missing(k, strstr(text, "shared store") ? KW_M_ST_CONFLICT_PCT : KW_M_LD_CONFLICT_PCT, v);
}

/* "The memory access pattern for global stores ... only 4.0 of the 32 bytes transmitted per sector"; until 2022: "accesses 4.0 bytes per thread per
 * memory request; ... results in 12.2 sectors per request". Of local memory every lane has its own word, so bytes of a sector say nothing there. */
static void access_pattern(struct kw_launch *k, const char *text, double gain_pct)
{
	static const char about[] = "memory access pattern for ";
	const char *at = strstr(text, about);
	double sectors = number_before(text, "sectors per request"), used = number_before(text, "of the 32 bytes transmitted per sector");
	bool stores = false;
	double *gain;

	if (at) {
		at += sizeof(about) - 1;
		stores = strncmp(at, "global stores", 13) == 0;
		if (!stores && strncmp(at, "global loads", 12) != 0)
			return;
	}
	if (isnan(used) && sectors > 0)
		used = fmin(32, 32 * number_before(text, "bytes per thread per memory request") / sectors);
	set_if_missing(k, stores ? KW_M_ST_BYTES_PER_SECTOR : KW_M_SAID_BYTES_PER_SECTOR, used);
	set_if_missing(k, stores ? KW_M_ST_SECTORS_PER_REQUEST : KW_M_LD_SECTORS_PER_REQUEST, sectors);
	/* What the profiler itself says that it could give back, at L1, L2 or DRAM: the most of them bounds it. */
	gain = &k->value[stores ? KW_M_SAID_ST_GAIN_PCT : KW_M_SAID_LD_GAIN_PCT];
	if (at && gain_pct >= 0 && gain_pct <= 100)
		*gain = fmax(*gain, gain_pct);
}

static void take_numbers(struct kw_launch *k, const char *text, double gain_pct)
{
	set_if_missing(k, KW_M_SAID_FP64_PEAK_PCT, number_before(text, "of its fp64 peak"));
	access_pattern(k, text, gain_pct);
	/* "One or more SMs have a much higher number of active cycles than the average ... Maximum instance value is 39.99% above the average" */
	if (strstr(text, "One or more SMs have"))
		set_if_missing(k, KW_M_SAID_SM_ABOVE_PCT, number_before(text, "above the average"));
	if (strstr(text, "uncoalesced shared accesses")) {
		set_if_missing(k, KW_M_CONFLICT_ALL, number_before(text, "excessive wavefronts"));
		set_if_missing(k, KW_M_WAVEFRONTS_ALL, number_after(text, "of the total"));
	}
	if (strstr(text, "accesses local memory"))
		set_if_missing(k, KW_M_SAID_LOCAL_PCT, number_after(text, "accounting for"));
	if (strstr(text, "excessive sectors"))
		set_if_missing(k, KW_M_SAID_EXCESS_PCT, number_after(text, "excessive sectors"));
	busiest_pipe(k, text);
	stall(k, text);
	conflicts(k, text);
}

void kw_ncu_said(struct kw_launch *k, struct kw_str name, struct kw_str type, struct kw_str text, struct kw_str kind,
		 double estimate_pct)
{
	struct kw_profiler_rule *r = kw_arena_calloc(k->owner->arena, 1, sizeof(*r));

	if (!r)
		return;
	text.len = text.len < MAX_SAID ? text.len : MAX_SAID;
	r->name = kw_launches_intern(k->owner, name);
	r->type = kw_launches_intern(k->owner, type);
	r->text = kw_arena_str(k->owner->arena, text);
	r->estimate_kind = kw_launches_intern(k->owner, kind);
	r->estimate_pct = estimate_pct;
	if (!r->text)
		return;
	r->next = k->rules;
	k->rules = r;
	take_numbers(k, r->text, strcasecmp(r->estimate_kind, "global") == 0 ? estimate_pct : NAN);
}
