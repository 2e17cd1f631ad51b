/* Times of one perf case: batches on rotating slots, turns with the baselines, until the interval is small enough.
 * Every timed call has fresh inputs and is checked. */
#include "judge/gpu.h"
#include "judge/matrix.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "device/perf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SAMPLES 400
#define LONG_CALL_NS 1000000   /* from here on: single calls */
#define MODULE_BATCH_NS 2e6    /* long enough beside what starting a batch takes; filling and comparing more takes time from other turns */
#define MODULE_CALLS 16
#define MOST_WAITS 16          /* turns that may wait for a compiler */
#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)
#define SMALL_WORK 1e6         /* bytes and operations that never take so long: who waited for a core is asked again */
#define WARM_UPS 4
#define WHOLE_CHECKS 5         /* timed calls whose outputs are compared whole; then a random eighth */
#define START_NS 60000         /* that the first launch of a batch may cost beside an empty one: 35 us were seen */
#define MUCH 0.25              /* of a batch that an empty one may take before it is looked at again */
#define KNOWN_TO 0.005         /* of a batch */
#define EMPTY_AGAIN 3          /* batches a turn, of the first EARLY ones: samples that are thrown away later would be missed */
#define EARLY 3
#define EMPTY_TIMEOUT_MS 1000
#define CLOCKS_AGREE 0.6       /* of the time by the device's clock, which also has what the host takes to start a batch */
#define BASELINE_TIMEOUT_MS 120000
#define BASELINE_BATCH_NS 2e8 /* that a baseline's batch should take at most */
#define HOST_BOUND_NS 30000
#define CALL_UNKNOWN 0.05      /* of what a call of a module that does nothing takes: how well that is known */
#define BASELINE_SHARE 0.45    /* of the time spent so far that slow baselines may take together */
#define KNOWN_SAMPLES 5        /* of a baseline, from which on it may be known well enough */
#define KNOWN_TURNS 5          /* one of so many then has it; odd, so that it goes first and last in turns */

enum clock { JUDGES, DEVICES, CLOCKS };
struct series {
	double ns[CLOCKS][MAX_SAMPLES];    /* 0 where the device has no clock */
	size_t n;
	int64_t spent_ns;
};
struct turns {
	struct stage *s;
	struct series mine, base[KW_BASELINES];
	size_t pair[KW_BASELINES][MAX_SAMPLES];       /* my sample of the same turn, for the ratio */
	bool known[KW_BASELINES];                     /* as well as the candidate is to be */
	int order[KW_MOST_SLOTS];
	int batch;                         /* slots a timed batch uses */
	int base_batch[KW_BASELINES];                 /* slots at most of a baseline's: a slow one's would take seconds */
	int playing;                       /* baselines that there are */
	int flushed;                       /* and how many of them are being flushed */
	int batches, claimed_less;         /* of a module: those that took less by its own clock */
	bool shared;                       /* the answers of a batch lie in the same memory */
	bool flip;                         /* which of two batches goes first */
	bool anew;                         /* the samples so far had too much taken off */
	bool waited;                       /* a batch of the turn waited for a compiler: it is no sample */
	int waits;                         /* turns that did */
	int checked;
};

static void shuffle(int *order, int n, uint64_t *rng)
{
	for (int i = n - 1; i > 0; i--) {
		int j = (int)(kw_next_u64(rng) % (uint64_t)(i + 1)), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

/* Fresh contents in every slot of the batch. The last written slot comes last in the order too, so that what the
 * judge left in the caches is what was written longest ago. */
static enum kw_status prepare(struct turns *t, struct kw_error *err)
{
	struct stage *s = t->s;
	enum kw_status st = KW_OK;

	for (int i = 0; i < s->slots; i++)
		t->order[i] = i;
	shuffle(t->order, s->slots, &s->w->counter);
	for (int i = 0; i < t->batch && st == KW_OK; i++)
		st = kw_stage_fill(s, t->order[i], KW_FILL_DECLARED, err);
	return st;
}

/* What filling, poisoning and the turn before left in the caches would make some turns warm. */
static void flush_part(void *arg, int64_t part)
{
	struct turns *t = arg;

	for (int i = 0; i < t->flushed; i++)
		kw_session_flush(t->s->session, t->order[i], (int)part, t->s->w->j->threads);
}

static void flush(struct turns *t, int n)
{
	int64_t start = kw_now_ns();

	t->flushed = n;
	if (t->s->w->j->dev->ops->compute) /* its caches are emptied as a whole */
		kw_session_flush(t->s->session, t->order[0], 0, 1);
	else
		kw_parallel(t->s->w->j->threads, t->s->w->j->threads, flush_part, t);
	t->s->w->v->run_ns += kw_now_ns() - start; /* a cold call is a call and its flush */
}

/* The first calls are compared whole. Later: on the host a random eighth of each; on a device with references a random eighth of
 * the calls whole, and no element of the others may be unwritten. */
static enum kw_status check_call(struct turns *t, int slot, struct kw_error *err)
{
	struct stage *s = t->s;
	bool whole = t->checked++ < WHOLE_CHECKS, there = s->reference.opened && s->reference.usable;
	int64_t unwritten = 0;
	enum kw_status st = KW_OK;

	if (!whole && there && kw_random_u64() % 8 != 0) {
		for (int o = 0; o < s->outputs && st == KW_OK && unwritten == 0; o++)
			st = kw_gpu_unwritten(s, slot, o, &unwritten, err);
		if (st != KW_OK || unwritten == 0)
			return st;
	}
	return kw_trial_check(s, slot, KW_FILL_DECLARED, whole || there ? 1 : 0.125, err);
}

/* One batch of the first n slots of the order, cold. mine: the candidate's, whose faults are verdicts. device_ns: by the clock
 * of the device; 0 where it has none. */
static enum kw_status play(struct turns *t, int base, int n, int64_t *wall_ns, int64_t *device_ns, struct kw_error *err)
{
	struct stage *s = t->s;
	struct kw_play_result r = { .buffer = -1 };
	int64_t waited_ns = kw_module_waited_ns(s->w);
	bool mine = base < 0;
	enum kw_status st;

	for (int i = 0; mine && i < n; i++)
		kw_stage_poison(s, t->order[i]);
	flush(t, n);
	st = s->w->j->dev->ops->run(mine ? s->player : s->base[base].player, t->order, n,
				    mine ? kw_stage_timeout_ms(s) : BASELINE_TIMEOUT_MS, &r, err);
	if (st != KW_OK)
		return st;
	*wall_ns = r.wall_ns;
	*device_ns = r.device_ns;
	kw_count_run(s->w, r.wall_ns, waited_ns);
	if (mine) {
		if (r.end != KW_PLAY_DONE)
			kw_trial_fault(s, &r, KW_FILL_DECLARED);
		kw_trial_late(s, &r);
		kw_trial_alias(s, &r);
		t->shared = t->shared || r.shared_outputs;
		t->batches++;
		t->waited = t->waited || r.asked > 0;
		t->claimed_less += (double)r.claimed_ns < CLOCKS_AGREE * (double)(r.wall_ns - s->fixed_ns);
	} else {
		t->base[base].spent_ns += r.wall_ns;
		if (kw_trial_killed(s, &r))
			;
		else if (r.end != KW_PLAY_DONE && s->w->baselines->item[base].may_fail)
			kw_baseline_drop(s, base, r.detail);
		else if (r.end != KW_PLAY_DONE)
			st = kw_fail(err, KW_ERR_BUG, "", "the baseline '%s' of %s failed on %s (end %d, signal %d)",
				     s->w->baselines->item[base].name, s->w->t->name, s->c->label, (int)r.end, r.signal);
	}
	kw_trial_release(&r);
	return st;
}

/* A batch with calls took less than an empty one: those had to wait for a core, and what was taken off so far was too much. Only
 * ever less, so that nobody gains by it. */
static void lower_fixed(struct turns *t, int64_t *fixed_ns, int64_t whole_ns)
{
	if (whole_ns >= *fixed_ns)
		return;
	*fixed_ns = whole_ns;
	t->anew = true;
}

/* Much of a batch would be taken off: then what an empty one costs is looked at again, as all of those that came first may have waited for a
 * core, and a kernel would be as fast as they were slow. */
static enum kw_status empty_again(struct turns *t, struct kw_player *p, int64_t *fixed_ns, int64_t whole_ns, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	for (int i = 0; i < EMPTY_AGAIN && st == KW_OK && (double)*fixed_ns > MUCH * (double)whole_ns; i++) {
		struct kw_play_result r = { .buffer = -1 };

		st = t->s->w->j->dev->ops->run(p, NULL, 0, EMPTY_TIMEOUT_MS, &r, err);
		if (st == KW_OK && r.end == KW_PLAY_DONE && (double)(*fixed_ns - r.wall_ns) > KNOWN_TO * (double)whole_ns)
			lower_fixed(t, fixed_ns, r.wall_ns);
		kw_trial_release(&r);
	}
	return st;
}

static bool plays(const struct turns *t, int base)
{
	return base < 0 ? !t->s->w->failed : t->s->base[base].player != NULL;
}

static int batch_of(const struct turns *t, int base)
{
	return base < 0 || t->batch < t->base_batch[base] ? t->batch : t->base_batch[base];
}

/* Whether what is taken off was measured in its own process. Of a baseline that is like the candidate it is the candidate's: both do the
 * same nothing there, and two measurements of that would differ by chance, which then were a speedup. */
static bool has_empty_batch(const struct stage *s, int base)
{
	bool mine = s->module.spec != NULL;

	if (base < 0)
		return false;
	return s->base[base].module.spec ? !mine || s->w->j->dev->ops->compute : mine;
}

/* A batch, less what an empty one costs. Where a batch with anything in it costs more than an empty one (a graph of launches),
 * the slope: a whole batch less half a one, in turns as to which goes first. Who made the shorter one slow to look fast
 * would gain nothing: no more than START_NS of the whole batch is taken for its start. Where other programs use the device
 * too, an empty batch or a half may have waited longer than the whole one, and nothing would be left; the device's own clock,
 * which no code of a candidate reaches, saw all calls of this one. Likewise a module's calls may have waited less than those of the one
 * that does nothing: what is left is no less than how well that is known. ns: by each clock. */
static enum kw_status measure(struct turns *t, int base, double ns[CLOCKS], struct kw_error *err)
{
	struct stage *s = t->s;
	int n = batch_of(t, base), half = n / 2;
	int64_t whole = 0, part = 0, device_whole = 0, device_part = 0;
	bool own = has_empty_batch(s, base);
	double least, *mine = &ns[JUDGES], call_ns = own ? s->base[base].call_ns : s->call_ns;
	int64_t start_ns = own ? s->base[base].start_ns : base < 0 ? s->start_ns : 0;
	int64_t *fixed_ns = own ? &s->base[base].fixed_ns : &s->fixed_ns;
	bool slope = s->w->j->dev->batches_by_slope && half > 0, part_first = slope && t->flip;
	enum kw_status st = KW_OK;

	t->flip = !t->flip;
	if (part_first)
		st = play(t, base, half, &part, &device_part, err);
	if (st == KW_OK && plays(t, base))
		st = play(t, base, n, &whole, &device_whole, err);
	if (slope && !part_first && st == KW_OK && plays(t, base))
		st = play(t, base, half, &part, &device_part, err);
	if (!slope && whole > 0) {
		lower_fixed(t, fixed_ns, whole);
		if (st == KW_OK && plays(t, base) && t->mine.n < EARLY)
			st = empty_again(t, own ? s->base[base].player : s->player, fixed_ns, whole, err);
	}
	*mine = fmax((double)(whole - *fixed_ns) / n - call_ns, call_ns * CALL_UNKNOWN);
	if (slope)
		*mine = fmax((double)(whole - part) / (n - half), (double)(whole - *fixed_ns - (start_ns > START_NS ? start_ns : START_NS)) / n);
	least = (double)(device_whole - START_NS) / n;
	if (*mine < CLOCKS_AGREE * least)
		*mine = least;
	*mine = fmax(*mine, 1);
	ns[DEVICES] = slope && device_part > 0 ? fmax((double)(device_whole - device_part) / (n - half), 0) : 0;
	if (n == 1 && t->s->w->j->dev->batches_by_slope)
		ns[DEVICES] = (double)device_whole;
	if (base >= 0 && s->base[base].module.spec && !slope)
		ns[DEVICES] = (double)device_whole / n;
	return st;
}

/* What is trusted is believed where it has the device's clock: the judge's also has what it takes to wake a Python. */
static enum clock clock_of_baseline(const struct turns *t, int b)
{
	bool all = t->base[b].n > 0;

	for (size_t i = 0; i < t->base[b].n; i++)
		all = all && t->base[b].ns[DEVICES][i] > 0;
	return all ? DEVICES : JUDGES;
}

static enum clock believed(const struct turns *t, const struct series *x, int batch)
{
	return t->s->w->j->dev->batches_by_slope &&
	       kw_clocks_agree(x->ns[JUDGES], x->ns[DEVICES], x->n, batch - batch / 2) ? DEVICES : JUDGES;
}

static enum kw_status my_turn(struct turns *t, double ns[CLOCKS], struct kw_error *err)
{
	enum kw_status st = measure(t, -1, ns, err);

	for (int i = 0; i < t->batch && st == KW_OK && !t->s->w->failed; i++)
		st = check_call(t, t->order[i], err);
	return st;
}

static bool base_wanted(const struct turns *t, int b, int64_t spent_ns)
{
	if (!t->s->base[b].player || t->base[b].n >= MAX_SAMPLES)
		return false;
	if (t->base[b].n == 0)
		return true;
	if (t->base[b].n < 3)
		return t->base[b].ns[JUDGES][0] < 2e9; /* a very slow one is measured once */
	if (t->known[b] && t->mine.n % KNOWN_TURNS != 0)
		return false;
	return (double)t->base[b].spent_ns < BASELINE_SHARE / fmax(1, t->playing) * (double)spent_ns;
}

static void add_sample(struct series *x, const double ns[CLOCKS])
{
	for (int c = 0; c < CLOCKS; c++)
		x->ns[c][x->n] = ns[c];
	x->n++;
}

static bool is_within(const struct kw_times *x, double target)
{
	return x->ci_high_ns > 0 && (x->ci_high_ns - x->ci_low_ns) / 2 <= target * x->median_ns;
}

/* Further samples of it would only take time from the candidate's. */
static bool is_known(const struct turns *t, int b)
{
	struct kw_times now;

	if (t->base[b].n < KNOWN_SAMPLES)
		return false;
	kw_times_from_samples(t->base[b].ns[JUDGES], t->base[b].n, &now);
	return is_within(&now, t->s->w->o.ci_target);
}

/* A kernel that was compiled in a call which would have been timed: arguments differ in more than the first call has shown. A few times
 * it is left out; whose kernels are compiled again and again is not timed at all. */
static void leave_out(struct turns *t)
{
	struct work *w = t->s->w;
	char text[300];

	if (t->waits++ == 0) {
		snprintf(text, sizeof text, "%s: a Triton kernel was compiled in a call that would have been timed, which was left out", t->s->c->label);
		kw_note(w, text);
	}
	if (t->waits > MOST_WAITS)
		kw_fail_verdict(w, t->s->c->label, KW_S_CONFIGURATION, "it has Triton kernels compiled in one timed call after the other: what differs "
				"from call to call is no tl.constexpr", "more than " NUMBER(MOST_WAITS) " turns waited for the compiler");
}

static enum kw_status turn(struct turns *t, int index, int64_t spent_ns, struct kw_error *err)
{
	double ns[CLOCKS] = { 0 };
	bool base_first = index % 2 == 1; /* A B, B A, A B, ... */
	int did[KW_BASELINES] = { 0 };
	double got[KW_BASELINES][CLOCKS] = { { 0 } };
	enum kw_status st = prepare(t, err);

	t->waited = false;
	for (int half = 0; half < 2 && st == KW_OK && !t->s->w->failed; half++) {
		if ((half == 0) != base_first) {
			st = my_turn(t, ns, err);
			continue;
		}
		for (int b = 0; b < KW_BASELINES && st == KW_OK; b++) {
			if (!base_wanted(t, b, spent_ns))
				continue;
			st = measure(t, b, got[b], err);
			did[b] = plays(t, b);
		}
	}
	if (st != KW_OK || t->s->w->failed)
		return st;
	if (t->waited) {
		leave_out(t);
		return KW_OK;
	}
	if (t->anew) {
		t->mine.n = 0;
		for (int b = 0; b < KW_BASELINES; b++) {
			t->base[b].n = 0;
			t->known[b] = false;
		}
		t->anew = false;
		return KW_OK;
	}
	for (int b = 0; b < KW_BASELINES; b++)
		if (did[b]) {
			t->pair[b][t->base[b].n] = t->mine.n;
			add_sample(&t->base[b], got[b]);
			t->known[b] = is_known(t, b);
		}
	add_sample(&t->mine, ns);
	return st;
}

static void keep_times(struct work *w, struct kw_times *out, const struct series *x, enum clock clock, const char *method,
		       bool cold, double target)
{
	kw_times_from_samples(x->ns[clock], x->n, out);
	out->samples_ns = kw_arena_copy(w->a, x->ns[clock], x->n * sizeof x->ns[clock][0]);
	out->sample_count = out->samples_ns ? x->n : 0;
	out->method = method;
	out->cold = cold;
	out->ci_reached = is_within(out, target);
	kw_interval_widen(out->median_ns, w->j->dev->repeat_share, &out->ci_low_ns, &out->ci_high_ns);
}

/* Beside its time: that it is wrong, or that Python is what was timed. */
static const char *base_note(struct stage *s, int b, const struct turns *t)
{
	struct kw_times x;

	kw_times_from_samples(t->base[b].ns[clock_of_baseline(t, b)], t->base[b].n, &x);
	if (s->base[b].note[0] || !s->base[b].module.spec || x.median_ns >= HOST_BOUND_NS)
		return s->base[b].note;
	return "host-bound: most of it may be Python itself";
}

static void keep_results(struct turns *t, const char *method, bool cold)
{
	struct stage *s = t->s;
	struct work *w = s->w;
	struct kw_case_result *r = s->result;
	enum clock clock = believed(t, &t->mine, batch_of(t, -1));
	int count = 0;

	keep_times(w, &r->times, &t->mine, clock, method, cold, w->o.ci_target);
	r->has_times = true;
	r->baselines = kw_arena_calloc(w->a, KW_BASELINES, sizeof *r->baselines);
	for (int b = 0; b < KW_BASELINES && r->baselines; b++) {
		struct kw_baseline_time *bt = &r->baselines[count];
		bool torch = s->base[b].module.spec != NULL;
		enum clock its = torch		 ? clock_of_baseline(t, b) :
				 clock == JUDGES ? JUDGES :
						   believed(t, &t->base[b], batch_of(t, b));

		if (s->base[b].why[0] && t->base[b].n == 0) {
			bt->name = w->baselines->item[b].name;
			bt->why = kw_arena_strdup(w->a, s->base[b].why);
			count++;
		}
		if (t->base[b].n == 0)
			continue;
		bt->wrong = s->base[b].wrong;
		bt->why = kw_arena_strdup(w->a, base_note(s, b, t));
		bt->name = w->baselines->item[b].name;
		keep_times(w, &bt->times, &t->base[b], its, method, cold, w->o.ci_target);
		kw_ratio_interval(t->base[b].ns[its], t->base[b].n, t->mine.ns[torch ? clock : its], t->mine.n, t->pair[b],
				  &bt->speedup, &bt->speedup_low, &bt->speedup_high);
		kw_interval_widen(bt->speedup, w->j->dev->repeat_share, &bt->speedup_low, &bt->speedup_high);
		count++;
	}
	r->baseline_count = (size_t)count;
}

/* Of the units that the arithmetic may run on: measured, or by the data sheet where these cannot be measured. */
static enum kw_status arithmetic(struct stage *s, bool f64, enum kw_measure measure, struct kw_ceiling *out, struct kw_error *err)
{
	struct kw_device *dev = s->w->j->dev;
	enum kw_rate rate = dev->ops->compute ? kw_matrix_rate_of(s->w->t, s->w->e) : KW_RATE_COUNT;
	enum kw_status st;

	if (rate == KW_RATE_COUNT)
		return dev->ops->ceiling(dev, f64 ? KW_CEILING_FLOPS_F64 : KW_CEILING_FLOPS_F32, 0, measure, out, err);
	st = kw_matrix_ceiling(dev, rate, measure, out, err);
	if (st == KW_NO && dev->hardware.rates[rate] > 0) {
		out->per_s = dev->hardware.rates[rate];
		return KW_OK;
	}
	return st;
}

/* Share of speed of light: the time that measured ceilings allow for the same work, over the time taken. */
static enum kw_status speed_of_light(struct stage *s, struct kw_error *err)
{
	struct kw_case_result *r = s->result;
	struct kw_device *dev = s->w->j->dev;
	double bytes = s->cost.bytes_read + s->cost.bytes_written, memory_ns = 0, compute_ns = 0;
	enum kw_ceiling_kind kind = s->cost.bytes_written < 0.1 * bytes	 ? KW_CEILING_READ
				    : s->cost.bytes_read < 0.1 * bytes ? KW_CEILING_WRITE
								       : KW_CEILING_COPY;
	struct kw_ceiling m = { 0 }, f = { 0 };
	bool f64 = s->w->t->outputs[0].dtype == KW_F64, measure = s->w->o.effort != KW_EFFORT_SCREEN;
	enum kw_status st = KW_OK;

	if (bytes > 0) {
		st = dev->ops->ceiling(dev, kind, (int64_t)bytes, measure, &m, err);
		if (st == KW_OK && m.per_s > 0)
			memory_ns = bytes / m.per_s * 1e9;
	}
	if ((st == KW_OK || st == KW_NO) && s->cost.flops > 0) {
		/* Not worth a measurement where the data sheet says that memory takes far longer. */
		measure = measure && !(dev->hardware.flops_f32 > 0 && !f64 &&
				       memory_ns > 4 * s->cost.flops / dev->hardware.flops_f32 * 1e9);
		st = arithmetic(s, f64, measure, &f, err);
		if (st == KW_OK && f.per_s > 0)
			compute_ns = s->cost.flops / f.per_s * 1e9;
	}
	if (st == KW_NO && err)
		kw_error_reset(err);
	if (st != KW_OK && st != KW_NO)
		return st;
	r->bytes = bytes;
	if (s->w->c_reference) /* what a reference in C needs to read and compute is not known */
		return KW_OK;
	r->flops = s->cost.flops;
	r->ceiling_bytes_per_s = m.per_s;
	r->ceiling_flops_per_s = f.per_s;
	if (memory_ns > 0 || compute_ns > 0)
		r->sol = fmax(memory_ns, compute_ns) / r->times.median_ns;
	r->sol_bound = compute_ns > memory_ns ? "compute" : m.in_cache ? "cache" : "memory";
	/* On a CPU only the absurd is a verdict: beyond the caches, in less than half the time that memory allows. */
	if (r->sol > 2 && memory_ns > compute_ns && !m.in_cache && r->times.cold) {
		char text[300];

		snprintf(text, sizeof text, "%.3g ms is less than half of the %.3g ms that this machine's memory needs for its bytes",
			 r->times.median_ns / 1e6, memory_ns / 1e6);
		kw_fail_verdict(s->w, s->c->label, KW_S_IMPOSSIBLE, text, "measured against a copy of the same size");
	}
	return KW_OK;
}

static bool enough(const struct turns *t, int64_t spent_ns)
{
	const struct kw_judge_opts *o = &t->s->w->o;
	size_t least = o->effort == KW_EFFORT_SCREEN ? 3 : 8;
	struct kw_times now;

	if (t->mine.n == MAX_SAMPLES)
		return true;
	if (spent_ns > o->time_limit_ns && t->mine.n >= 3 && t->checked >= o->trials)
		return true;
	if (o->timings && t->checked >= o->timings && t->mine.n >= 3 && t->checked >= o->trials)
		return true;
	if (t->mine.n < least || t->checked < o->trials)
		return false;
	for (int b = 0; b < KW_BASELINES; b++)
		if (t->s->base[b].player && t->base[b].n < 3 && t->base[b].ns[JUDGES][0] < 2e9)
			return false;
	kw_times_from_samples(t->mine.ns[believed(t, &t->mine, batch_of(t, -1))], t->mine.n, &now);
	/* A screening round ends as soon as it is clear that this point does not lead. */
	if (o->effort == KW_EFFORT_SCREEN && o->best_ns > 0 && now.ci_low_ns > 2 * o->best_ns)
		return true;
	return is_within(&now, o->ci_target);
}

static bool is_small(const struct stage *s)
{
	return !kw_expr_is_external(s->w->e) && s->cost.bytes_read + s->cost.bytes_written + s->cost.flops < SMALL_WORK;
}

/* As many calls as of the candidate: one that waited for a core would make its batches shorter than the candidate's. */
static enum kw_status warm_up_baseline(struct turns *t, int b, struct kw_error *err)
{
	double least = INFINITY, ns[CLOCKS];
	enum kw_status st = KW_OK;

	for (int i = 0; i < WARM_UPS && plays(t, b); i++) {
		if ((st = measure(t, b, ns, err)) != KW_OK || !plays(t, b))
			return st;
		if (ns[JUDGES] >= 1e9) /* long enough that the first call counts */
			add_sample(&t->base[b], ns);
		least = fmin(least, ns[DEVICES] > 0 ? ns[DEVICES] : ns[JUDGES]);
		if (least <= LONG_CALL_NS || t->base[b].n > 0 || !is_small(t->s))
			break;
	}
	if (plays(t, b))
		t->base_batch[b] = (int)fmin(KW_MOST_SLOTS, fmax(2, BASELINE_BATCH_NS / least));
	return st;
}

/* One untimed call each, so that first-touch costs are behind us; it also says how long a call is. */
static enum kw_status warm_up(struct turns *t, double *call_ns, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	t->batch = 1;
	for (int b = 0; b < KW_BASELINES; b++) {
		t->base_batch[b] = 1;
		t->playing += t->s->base[b].player != NULL;
	}
	*call_ns = INFINITY;
	for (int i = 0; i < WARM_UPS && st == KW_OK && !t->s->w->failed; i++) {
		double ns[CLOCKS] = { 0 };

		if ((st = prepare(t, err)) == KW_OK)
			st = my_turn(t, ns, err);
		/* One call that waited for a core must not make all batches as short as those of a long kernel: no sample is taken here. */
		*call_ns = fmin(*call_ns, ns[DEVICES] > 0 ? fmin(ns[DEVICES], ns[JUDGES]) : ns[JUDGES]);
		if (*call_ns <= LONG_CALL_NS || !is_small(t->s))
			break;
	}
	for (int b = 0; b < KW_BASELINES && st == KW_OK && !t->s->w->failed; b++)
		st = warm_up_baseline(t, b, err);
	return st;
}

static enum kw_status play_pair(struct turns *t, struct kw_error *err)
{
	int64_t wall, device;
	enum kw_status st;

	t->batch = 2;
	st = prepare(t, err);
	return st == KW_OK ? play(t, -1, 2, &wall, &device, err) : st;
}

/* A module that answers in memory of its own, the same for every call, leaves the last answer of a batch only: then a batch is one
 * call. */
static enum kw_status one_at_a_time(struct turns *t, struct kw_error *err)
{
	int batch = t->batch;
	enum kw_status st = play_pair(t, err);

	t->batch = t->shared ? 1 : batch;
	return st;
}

/* Long calls are timed one by one, and a kernel could tell by the pause before each. Its users call it again at once. */
static enum kw_status two_in_a_row(struct turns *t, struct kw_error *err)
{
	enum kw_status st = play_pair(t, err);

	for (int i = 0; i < 2 && st == KW_OK && !t->s->w->failed; i++)
		st = check_call(t, t->order[i], err);
	t->batch = 1;
	return st;
}

/* Python itself takes about so long to start a few operations. */
static void note_host_bound(struct stage *s)
{
	char text[200];
	double ns = s->result->times.median_ns;

	if (!s->module.spec || ns >= HOST_BOUND_NS)
		return;
	if (ns <= s->call_ns * CALL_UNKNOWN)
		snprintf(text, sizeof text, "too short to be timed here: a call takes no longer than one of a module that does nothing, %.1f us",
			 s->call_ns / 1e3);
	else
		snprintf(text, sizeof text, "host-bound: a call takes %.1f us, most of which may be Python itself (a module that does nothing: "
			 "%.1f us, already taken off)", ns / 1e3, s->call_ns / 1e3);
	kw_note(s->w, text);
}

/* On a device with memory of its own a module's time has the copy of its outputs in it, which nobody can take off without a gift to
 * who writes to the judge's memory directly. How much that is, by a copy of our own of that size, is told instead. */
static enum kw_status note_copy(struct stage *s, struct kw_error *err)
{
	struct kw_device *dev = s->w->j->dev;
	struct kw_ceiling copy = { 0 };
	double bytes = 0;
	char text[200], took[32];
	enum kw_status st;

	if (!s->module.spec || !dev->ops->compute || s->w->o.effort == KW_EFFORT_SCREEN)
		return KW_OK;
	for (int o = 0; o < s->outputs; o++)
		bytes += 2 * (double)s->spec[s->inputs + o].bytes;
	st = bytes > 0 ? dev->ops->ceiling(dev, KW_CEILING_COPY, (int64_t)bytes, true, &copy, err) : KW_NO;
	if (st == KW_OK && copy.per_s > 0) {
		snprintf(text, sizeof text, "%s: in the time of the module is a copy of its outputs, which takes about %s by itself", s->c->label,
			 kw_human_ns(bytes / copy.per_s * 1e9, took, sizeof took));
		kw_note(s->w, text);
	}
	if (st == KW_NO && err)
		kw_error_reset(err);
	return st == KW_NO ? KW_OK : st;
}

static bool nothing_checked(const struct work *w)
{
	int trials = 0;

	for (size_t i = 0; i < w->v->case_count; i++)
		trials += w->v->cases[i].trials;
	return trials == 0;
}

/* A module's first call is no measure: much is made in it, and what it computes with is looked at. It comes before baselines in PyTorch, which
 * are imported and compiled for seconds: a wrong answer needs none, nor does a reference that cannot be used. */
static enum kw_status first_call(struct turns *t, struct kw_error *err)
{
	enum kw_status st;

	t->batch = 1;
	st = prepare(t, err);
	if (st != KW_OK)
		return st;
	kw_stage_poison(t->s, t->order[0]);
	return kw_trial_run(t->s, t->order[0], KW_FILL_DECLARED, 1, true, NULL, err);
}

/* The player's clock is no measure, but where it disagrees most of the time a person should know. */
static void note_clock(const struct turns *t)
{
	if (t->s->module.spec && t->batches > 2 && 2 * t->claimed_less > t->batches)
		kw_note(t->s->w, "by its own clock calls take less than by the judge's, which counts: it waited for a core, or somebody changed "
				 "that clock");
}

/* One more batch, with the kernel's counters around it, and the device's own clock where it has one. It is neither timed nor compared: counting could cost time. */
static enum kw_status count_case(struct turns *t, struct kw_error *err)
{
	struct stage *s = t->s;
	struct work *w = s->w;
	struct kw_play_result r = { .buffer = -1 };
	bool on_cpu = strcmp(w->j->dev->ops->name, "cpu") == 0 || w->j->dev->ceilings_of_host;
	struct kw_perf p = { .fd = NULL };
	struct kw_buf text;
	char why[400] = "";
	enum kw_status st = prepare(t, err);

	if (st != KW_OK || (on_cpu && !kw_perf_open(w->j->dev->ops->process(s->player), &p)))
		return st != KW_OK ? st : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for counters");
	for (int i = 0; i < t->batch; i++)
		kw_stage_poison(s, t->order[i]);
	flush(t, t->batch);
	kw_perf_start(&p);
	st = w->j->dev->ops->run(s->player, t->order, t->batch, kw_stage_timeout_ms(s), &r, err);
	kw_perf_stop(&p);
	kw_buf_init(&text, 1 << 16);
	if (st == KW_OK && r.end == KW_PLAY_DONE && p.granted)
		kw_perf_write(&p, t->batch, (double)r.wall_ns, &text);
	/* OpenCL's events. */
	if (st == KW_OK && r.end == KW_PLAY_DONE && r.device_ns > 0)
		kw_perf_write_device_time((double)r.device_ns / t->batch, (double)r.wall_ns / t->batch, &text);
	if (st == KW_OK && on_cpu)
		kw_perf_why(&p, why, sizeof(why));
	if (st == KW_OK && text.len)
		w->o.profiled(w->o.profiled_arg, s->c->label, text.ptr, text.len, why);
	if (st == KW_OK && (why[0] || (on_cpu && !text.len)))
		w->o.profiled(w->o.profiled_arg, NULL, NULL, 0, why[0] ? why : "the call did not end");
	kw_buf_release(&text);
	kw_perf_close(&p);
	kw_trial_release(&r);
	return st;
}

/* A batch of short calls. What PyTorch does in a call takes longer than a short kernel, and its batches need not all slots. */
static int calls_of_batch(const struct stage *s, double call_ns)
{
	double calls = fmax(MODULE_CALLS, ceil(MODULE_BATCH_NS / fmax(call_ns, 1)));

	return s->module.spec && !s->w->j->dev->ops->compute && calls < s->slots ? (int)calls : s->slots;
}

enum kw_status kw_timing_case(struct stage *s, struct kw_error *err)
{
	struct turns *t = kw_calloc(1, sizeof *t);
	int64_t begin = kw_now_ns();
	double call_ns = 0;
	enum kw_status st;

	if (!t)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	t->s = s;
	st = kw_trial_fresh(s, err);
	kw_log(KW_LOG_DEBUG, "judge: the process of its own is there");
	if (st == KW_OK && !s->w->failed && (s->module.spec || (kw_torch_baselines_wait(s) && nothing_checked(s->w)))) {
		st = first_call(t, err);
		kw_log(KW_LOG_DEBUG, "judge: its first call was checked");
	}
	if (st == KW_OK && !s->w->failed)
		st = kw_baselines_load(s, err);
	kw_log(KW_LOG_DEBUG, "judge: the candidate and the baselines are loaded");
	if (st == KW_OK && !s->w->failed)
		st = warm_up(t, &call_ns, err);
	kw_log(KW_LOG_DEBUG, "judge: a call takes %.3f ms", call_ns * 1e-6);
	t->anew = false;
	t->batch = call_ns <= LONG_CALL_NS ? calls_of_batch(s, call_ns) : s->w->j->dev->batches_by_slope ? 2 : 1;
	if (st == KW_OK && !s->w->failed && s->module.spec && t->batch > 1)
		st = one_at_a_time(t, err);
	if (st == KW_OK && !s->w->failed && !s->module.spec && t->batch == 1)
		st = two_in_a_row(t, err);
	begin = kw_turns_begin(begin, kw_now_ns(), s->w->o.time_limit_ns);
	for (int i = 0; st == KW_OK && !s->w->failed && !enough(t, kw_now_ns() - begin); i++) {
		if (kw_interrupted())
			st = kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
		else
			st = turn(t, i, kw_now_ns() - begin, err);
	}
	if (st == KW_OK && !s->w->failed) {
		keep_results(t, t->batch == 1 ? "single" : s->w->j->dev->batches_by_slope ? "slope" : "batch-minus-empty", true);
		note_host_bound(s);
		note_clock(t);
		st = note_copy(s, err);
	}
	if (st == KW_OK && !s->w->failed)
		st = speed_of_light(s, err);
	if (st == KW_OK && !s->w->failed && s->w->o.profiled && s->w->j->dev->ops->process && !s->module.spec)
		st = count_case(t, err);
	kw_free(t);
	return st;
}
