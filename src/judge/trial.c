/* One checked call: run it in the player, and say what came of it. */
#include "judge/gpu.h"

#include "backend/triton.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define UNTIMED_FACTOR 10    /* an interpreter takes as long for a right kernel as a device for an endless one */
#define LOAD_TIMEOUT_MS 10000
#define MODULE_LOAD_TIMEOUT_MS 60000 /* it may import what it likes */
#define EMPTY_BATCHES 7
#define EMPTY_CALLS 32
#define SECOND_LOOKS 4
#define FAR 16             /* times the tolerance: on the task's own data no matter of rounding */
#define FEW_IN 1000        /* one in so many elements may be an outlier */
#define SOME_IN 10         /* on special values: a whole group whose statistics are hard to get */
#define LINGER_NS 1000000
#define LONG_PAUSES 3
#define SUSPICIONS 60      /* longer pauses that must all be busy: threads on their way to sleep get there meanwhile, also where
			    * a virtual machine's own memory arrives late and that counts as their time (35 ms were seen) */

void kw_trial_release(struct kw_play_result *r)
{
	kw_free(r->slot_ns);
	r->slot_ns = NULL;
}

int kw_stage_timeout_ms(const struct stage *s)
{
	int ms = s->w->o.call_timeout_ms > 0 ? s->w->o.call_timeout_ms : 10000;

	return s->w->j->dev->untimed || s->w->interpreted ? UNTIMED_FACTOR * ms : ms;
}

static int load_timeout_ms(const struct stage *s)
{
	return s->module.spec ? MODULE_LOAD_TIMEOUT_MS : LOAD_TIMEOUT_MS;
}

/* "it wrote to element 384 of y, which has elements 0 to 383" */
static void element_text(const struct stage *s, int buffer, int64_t offset, const char *verb, char *text, size_t n)
{
	int64_t unit = buffer < s->tensors ? (int64_t)kw_dtype_bytes((enum kw_dtype)s->view[buffer].dtype) : 1;
	int64_t index = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
	int64_t count = (int64_t)s->spec[buffer].bytes / unit;

	if (count > 0)
		snprintf(text, n, "it %s element %lld of %s, which has elements 0 to %lld", verb, (long long)index,
			 s->spec[buffer].name, (long long)count - 1);
	else
		snprintf(text, n, "it %s element %lld of %s, which is empty", verb, (long long)index, s->spec[buffer].name);
}

/* ---- faults of a call ------------------------------------------------------------------------- */

static enum kw_subclass misaligned(const struct stage *s, char *text, size_t n)
{
	for (int i = 0; i < s->tensors; i++)
		if (s->spec[i].misalign_bytes) {
			snprintf(text, n, "an aligned access to %s, which is only aligned to %zu bytes in this case; "
				 "use unaligned loads or `require %s.align >= 32`", s->spec[i].name, s->spec[i].misalign_bytes,
				 s->spec[i].name);
			return KW_S_MISALIGNED;
		}
	snprintf(text, n, "an aligned vector access to an address that is not aligned; buffers are aligned to 64 bytes, rows and "
		 "single elements only to their size");
	return KW_S_MISALIGNED;
}

static enum kw_subclass fault_inside(const struct stage *s, const struct kw_play_result *r, char *text, size_t n)
{
	const struct kw_buffer_spec *b = &s->spec[r->buffer];
	size_t unit = r->buffer < s->tensors ? kw_dtype_bytes((enum kw_dtype)s->view[r->buffer].dtype) : 1;
	long long index = (long long)(r->offset_bytes / (int64_t)unit);

	if (b->read_only && r->write) {
		snprintf(text, n, "it wrote to element %lld of input %s, which is read-only", index, b->name);
		return KW_S_INPUT_MODIFIED;
	}
	snprintf(text, n, "it %s element %lld of %s, whose memory it had taken away or locked", r->jumped ? "jumped to" :
		 r->write ? "wrote to" : "touched", index, b->name);
	return KW_S_ILLEGAL_ACCESS;
}

static enum kw_subclass fault_outside(const struct stage *s, const struct kw_play_result *r, char *text, size_t n)
{
	unsigned long long address = r->address;

	if (r->misaligned)
		return misaligned(s, text, n);
	if (r->jumped)
		snprintf(text, n, "it jumped to address 0x%llx, where there is no code: a pointer to no function, or to a function "
			 "inside a function, which needs a stack that can be executed", address);
	else
		snprintf(text, n, "it %s address 0x%llx, which is in none of its buffers", r->write ? "wrote to" : "touched", address);
	return KW_S_ILLEGAL_ACCESS;
}

static enum kw_subclass fault_of_signal(const struct stage *s, const struct kw_play_result *r, char *text, size_t n)
{
	const struct kw_buffer_spec *b = r->buffer >= 0 && (size_t)r->buffer < s->spec_count ? &s->spec[r->buffer] : NULL;

	if (r->signal != SIGSEGV && r->signal != SIGBUS) {
		snprintf(text, n, "it was ended by signal %d (%s)%s", r->signal, strsignal(r->signal),
			 r->signal == SIGFPE ? ": integer division by zero" : "");
		return KW_S_CRASH;
	}
	if (!b)
		return fault_outside(s, r, text, n);
	if (r->offset_bytes >= 0 && r->offset_bytes < (int64_t)b->bytes)
		return fault_inside(s, r, text, n);
	element_text(s, r->buffer, r->offset_bytes, r->write ? "wrote to" : "touched", text, n);
	return KW_S_OUT_OF_BOUNDS;
}

static uint64_t input_hash(struct stage *s, int slot, int i)
{
	return kw_xxh64(kw_session_ptr(s->session, slot, i), s->spec[i].bytes, 1);
}

/* A device that only says "illegal access": does it go through where inputs can be written, and which one changes? -1: it
 * was something else. */
static int written_input(struct stage *s, int slot)
{
	const struct kw_device_ops *ops = s->w->j->dev->ops;
	struct kw_player_opts o = kw_stage_player_opts(s, true);
	struct kw_player *player = NULL;
	struct kw_play_result r = { .buffer = -1 };
	uint64_t before[KW_MAX_TENSORS];
	bool through;
	int found = -1;

	for (int i = 0; i < s->inputs; i++)
		before[i] = input_hash(s, slot, i);
	through = ops->player_start(s->session, &o, &player, NULL) == KW_OK &&
		  ops->load(player, s->code, &s->plan, load_timeout_ms(s), &r, NULL) == KW_OK && r.end == KW_PLAY_DONE &&
		  ops->run(player, &slot, 1, kw_stage_timeout_ms(s), &r, NULL) == KW_OK && r.end == KW_PLAY_DONE;
	kw_trial_release(&r);
	kw_trial_killed(s, &r);
	for (int i = 0; i < s->inputs && through && found < 0; i++)
		found = input_hash(s, slot, i) != before[i] ? i : -1;
	if (player)
		ops->player_stop(player);
	return found;
}

static enum kw_subclass device_fault(struct stage *s, const struct kw_play_result *r, char *text, size_t n)
{
	/* PyTorch may say no more than that a copy was refused. */
	bool access = r->fault == KW_S_ILLEGAL_ACCESS || (s->module.spec && strstr(r->detail, "CUDA error"));
	int input = access && r->slot >= 0 ? written_input(s, r->slot) : -1;

	if (input >= 0) {
		snprintf(text, n, "it wrote to input %s, which is read-only", s->spec[input].name);
		return KW_S_INPUT_MODIFIED;
	}
	snprintf(text, n, "%s", r->detail);
	return r->fault;
}

bool kw_trial_killed(struct stage *s, const struct kw_play_result *r)
{
	if (r->end != KW_PLAY_KILLED || s->w->failed)
		return r->end == KW_PLAY_KILLED;
	s->killed = r->signal;
	s->killed_bytes = r->own_bytes;
	s->w->failed = true;
	return true;
}

/* In the words of a device the source has one name; the user's file has its own. */
static void name_source(const struct kw_candidate *c, struct kw_play_result *r)
{
	char *at = strstr(r->detail, KW_TRITON_FILE), rest[sizeof r->detail];

	if (!at)
		return;
	snprintf(rest, sizeof rest, "%s", at + strlen(KW_TRITON_FILE));
	snprintf(at, sizeof r->detail - (size_t)(at - r->detail), "%s%s", c->name, rest);
}

static void describe_fault(const struct stage *s, const struct kw_play_result *r, enum kw_fill fill, const char *told, char *out, size_t n)
{
	char buffer[160] = "", address[40] = "";
	bool more = r->detail[0] && !strstr(told, r->detail);

	if (r->buffer >= 0 && (size_t)r->buffer < s->spec_count)
		snprintf(buffer, sizeof buffer, "\nbuffer: %s, offset %lld bytes", s->spec[r->buffer].name, (long long)r->offset_bytes);
	if (r->address)
		snprintf(address, sizeof address, "\naddress: 0x%llx", (unsigned long long)r->address);
	snprintf(out, n, "case: %s\ninputs: %s%s%s%s%s", s->c->label, kw_fill_name(fill), buffer, address, more ? "\n" : "",
		 more ? r->detail : "");
}

void kw_trial_fault(struct stage *s, const struct kw_play_result *result, enum kw_fill fill)
{
	struct kw_play_result own = *result, *r = &own;
	char text[400] = "", evidence[900];
	enum kw_subclass sub = KW_S_CRASH;

	if (kw_trial_killed(s, r))
		return;
	if (r->too_much && s->w->interpreted) {
		s->too_much = s->w->failed = true;
		snprintf(s->result->why, sizeof s->result->why, "not judged here: %.300s", r->detail);
		return;
	}
	name_source(s->w->c, r);
	switch (r->end) {
	case KW_PLAY_DONE:
	case KW_PLAY_KILLED:
		return;
	case KW_PLAY_SIGNAL:
		sub = fault_of_signal(s, r, text, sizeof text);
		break;
	case KW_PLAY_EXIT:
		snprintf(text, sizeof text, "it ended its process with exit code %d instead of returning", r->exit_code);
		sub = KW_S_EXITED;
		break;
	case KW_PLAY_TIMEOUT:
		snprintf(text, sizeof text, "it did not return within %d ms", kw_stage_timeout_ms(s));
		sub = KW_S_TIMEOUT;
		break;
	case KW_PLAY_NO_ENTRY:
		snprintf(text, sizeof text, "%s", r->detail[0] ? r->detail : "the kernel name is not in the artefact");
		sub = KW_S_ENTRY;
		break;
	case KW_PLAY_LOAD_FAILED:
		snprintf(text, sizeof text, "it could not be loaded: %s", r->detail);
		sub = KW_S_CONFIGURATION;
		break;
	case KW_PLAY_FORGED:
		snprintf(text, sizeof text, "it meddled with the judge's channel: %s", r->detail[0] ? r->detail : "messages of its own");
		sub = KW_S_FORGED;
		break;
	case KW_PLAY_FAULT:
		sub = device_fault(s, r, text, sizeof text);
		break;
	case KW_PLAY_NO_MEMORY:
		snprintf(text, sizeof text, "it asked for more memory than it may have");
		sub = KW_S_OUT_OF_MEMORY;
		break;
	}
	if (r->blocked_syscall) {
		snprintf(text, sizeof text, "it asked the system for what a kernel never needs: %s",
			 r->detail[0] ? r->detail : "a refused system call");
		sub = KW_S_SANDBOX;
	}
	describe_fault(s, r, fill, text, evidence, sizeof evidence);
	kw_fail_verdict(s->w, s->c->label, sub, text, evidence);
}

/* The device read words of the outputs when the answer came and again after the stop. */
void kw_trial_late(struct stage *s, const struct kw_play_result *r)
{
	char text[200], evidence[300];

	if (!r->late || s->w->failed)
		return;
	snprintf(text, sizeof text, "%s was still being written when the call had returned", s->spec[r->buffer].name);
	snprintf(evidence, sizeof evidence, "case: %s\nslot %d, buffer %s, byte offset %lld changed between the answer and the stop",
		 s->c->label, r->slot, s->spec[r->buffer].name, (long long)r->offset_bytes);
	kw_fail_verdict(s->w, s->c->label, KW_S_LATE_WRITE, text, evidence);
}

/* An answer that lies in an input, and is right all the same: it is gone when the input is. */
void kw_trial_alias(struct stage *s, const struct kw_play_result *r)
{
	char text[200];

	if (!r->alias || s->w->failed)
		return;
	snprintf(text, sizeof text, "what it returns lies in the memory of input %s", s->spec[r->alias - 1].name);
	kw_fail_verdict(s->w, s->c->label, KW_S_ALIAS, text, "return a copy (clone) where the output is to have the input's values");
}

/* ---- players ---------------------------------------------------------------------------------- */

/* What Python takes to call a module that does nothing, arguments and answers included. */
static enum kw_status empty_calls(struct stage *s, struct kw_play_result *r, struct kw_error *err)
{
	int order[EMPTY_CALLS], n = s->slots < EMPTY_CALLS ? s->slots : EMPTY_CALLS;
	enum kw_status st = KW_OK;
	int64_t best = INT64_MAX;

	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = 0; i < EMPTY_BATCHES && st == KW_OK; i++) {
		st = s->w->j->dev->ops->run(s->player, order, n, 1000, r, err);
		kw_trial_release(r);
		if (st == KW_OK && r->wall_ns < best)
			best = r->wall_ns;
	}
	s->call_ns = fmax((double)(best - s->fixed_ns) / n, 0);
	kw_log(KW_LOG_DEBUG, "judge: of the module an empty batch takes %.1f us, an empty call %.2f us", (double)s->fixed_ns * 1e-3,
	       s->call_ns * 1e-3);
	best = INT64_MAX;
	for (int i = 0; i < EMPTY_BATCHES && st == KW_OK && s->w->j->dev->batches_by_slope; i++) {
		st = s->w->j->dev->ops->run(s->player, order, 1, 1000, r, err);
		kw_trial_release(r);
		if (st == KW_OK && r->wall_ns < best)
			best = r->wall_ns;
	}
	s->start_ns = best == INT64_MAX || best < s->fixed_ns ? 0 : best - s->fixed_ns;
	return st;
}

/* The fixed cost of a batch, before any code of the candidate is there to lower it. */
static enum kw_status empty_batches(struct stage *s, struct kw_play_result *r, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	s->fixed_ns = INT64_MAX;
	for (int i = 0; i < EMPTY_BATCHES && st == KW_OK; i++) {
		st = s->w->j->dev->ops->run(s->player, NULL, 0, 1000, r, err);
		kw_trial_release(r);
		if (st == KW_OK && r->wall_ns < s->fixed_ns)
			s->fixed_ns = r->wall_ns;
	}
	return st == KW_OK && s->module.spec ? empty_calls(s, r, err) : st;
}

enum kw_status kw_stage_player(struct stage *s, struct kw_play_result *r, struct kw_error *err)
{
	const struct kw_device_ops *ops = s->w->j->dev->ops;
	struct kw_player_opts o = kw_stage_player_opts(s, false);
	enum kw_status st = KW_OK;

	if (s->player && s->loaded) {
		kw_stage_note_starts(s);
		ops->player_stop(s->player);
		s->player = NULL;
	}
	s->loaded = true;
	if (!s->player && (st = ops->player_start(s->session, &o, &s->player, err)) != KW_OK)
		return st;
	if (s->c->perf && (st = empty_batches(s, r, err)) != KW_OK)
		return st;
	if (!s->w->v->sandbox_layers)
		s->w->v->sandbox_layers = kw_arena_strdup(s->w->a, kw_player_layers(s->player));
	if (s->module.spec && (st = kw_stage_weights(s, 0, s->weight_seed == 0, err)) != KW_OK)
		return st;
	return ops->load(s->player, s->code, &s->plan, load_timeout_ms(s), r, err);
}

enum kw_status kw_trial_fresh(struct stage *s, struct kw_error *err)
{
	struct kw_play_result r = { .buffer = -1 };
	enum kw_status st;

	s->weight_seed = 0; /* other weights for this process */
	st = kw_stage_player(s, &r, err);

	if (st == KW_OK && r.end != KW_PLAY_DONE)
		kw_trial_fault(s, &r, KW_FILL_DECLARED);
	kw_trial_release(&r);
	return st;
}

/* ---- a call and its check --------------------------------------------------------------------- */

static bool canaries(struct stage *s, int slot, enum kw_fill fill)
{
	for (size_t b = 0; b < s->spec_count; b++) {
		int64_t offset = 0;
		char text[200], evidence[300];

		if (kw_session_canary_ok(s->session, slot, (int)b, &offset))
			continue;
		element_text(s, (int)b, offset, "wrote to", text, sizeof text);
		snprintf(evidence, sizeof evidence, "case: %s\ninputs: %s\nbuffer: %s of %zu bytes, byte offset %lld", s->c->label,
			 kw_fill_name(fill), s->spec[b].name, s->spec[b].bytes, (long long)offset);
		kw_fail_verdict(s->w, s->c->label, KW_S_OUT_OF_BOUNDS, text, evidence);
		return false;
	}
	return true;
}

static void keep_worst(struct stage *s, int output, const struct kw_compare_stats *st)
{
	struct kw_case_result *r = s->result;

	if (!r || (r->trials > 0 && st->worst_ratio <= r->worst.worst_ratio && r->worst_output))
		return;
	r->worst = *st;
	if (!r->worst_output || strcmp(r->worst_output, s->w->t->outputs[output].name) != 0)
		r->worst_output = kw_arena_strdup(s->w->a, s->w->t->outputs[output].name); /* it outlives the task */
	r->error_ratio = st->worst_ratio;
}

/* What a suite's rule says of an output, on the task's own data. */
static void note_close(struct stage *s, int output, const struct kw_compare_stats *st)
{
	if (!s->result || kw_stage_close_rule(s, output) <= 0)
		return;
	s->result->close_compared += st->compared;
	s->result->not_close += st->not_close;
}

/* The tolerance comes from a plain f32 evaluation of a sample. A few elements just outside of it may be those where such an
 * evaluation errs most: asks it about the worst one itself. True: the tolerance grew. */
static bool widen(struct stage *s, enum kw_fill fill, int output, const struct kw_compare_stats *st)
{
	struct kw_tolerance *t = &s->tol[output];
	double error, far = fill == KW_FILL_DECLARED ? FAR : HUGE_VAL;
	int64_t share = fill == KW_FILL_DECLARED ? FEW_IN : SOME_IN;

	if (t->exact || s->steps || st->unwritten || st->nan_mismatched || st->mismatched == 0 || st->worst_ratio > far ||
	    st->mismatched * share > st->compared + share || kw_stage_plain_at(s, output, st->worst_index, &error) != KW_OK)
		return false;
	error *= PLAIN_TIMES;
	if (!(error > t->abs_part))
		return false;
	t->abs_part = fmin(error, far * st->tolerance_at_worst);
	return true;
}

/* Where the values of an output are of many magnitudes, or some of them are what large terms leave of each other, a sample's largest error
 * says nothing of the others': asks how far plain evaluations are off at each of the elements that are wrong. */
static enum kw_status by_elements(struct stage *s, int slot, enum kw_fill fill, int output, struct kw_compare_stats *stats,
				  struct kw_error *err)
{
	const struct kw_tolerance *t = &s->tol[output];
	int64_t wrong = stats->mismatched;
	struct kw_view views[KW_MAX_TENSORS];
	enum kw_status st = KW_OK;
	char text[300];

	if (t->exact || s->steps || t->rel >= 0 || t->abs >= 0 || stats->unwritten || stats->nan_mismatched || wrong == 0 ||
	    wrong * SOME_IN > stats->compared || stats->rms_rel > KW_RMS_SHARE)
		return KW_OK;
	kw_stage_views(s, slot, views);
	for (int round = 0; st == KW_OK; round++) {
		struct kw_compare_stats again;
		bool more = round == 0;

		if (s->torch_values)
			st = kw_torch_own_errors(s, views, output, round, &more, err);
		if (st != KW_OK || !more)
			return st;
		s->each = true;
		st = kw_stage_compare(s, slot, fill, 1, output, &again, err);
		s->each = false;
		if (st != KW_OK || !kw_compare_right(&again))
			continue;
		*stats = again;
		snprintf(text, sizeof text, "some elements of %s are beyond the tolerance of the others, and as exact as a plain kernel is at those "
			 "very elements", s->w->t->outputs[output].name);
		kw_note(s->w, text);
		return KW_OK;
	}
	return st;
}

/* Wrong by the plain formula: is it as exact as another one that people use? Tolerance and stats stay as they were when it is
 * not. On the task's own data no formula is allowed more than KW_RMS_SHARE (set_tolerance). */
static enum kw_status by_other_formulas(struct stage *s, int slot, enum kw_fill fill, int output, struct kw_compare_stats *stats,
					struct kw_error *err)
{
	struct kw_tolerance kept = s->tol[output];
	enum kw_status st = KW_OK;
	bool more = false;
	char text[400];

	if (stats->unwritten || stats->nan_mismatched || stats->mismatched == 0)
		return KW_OK;
	if (fill == KW_FILL_DECLARED && s->torch_values) {
		struct kw_view views[KW_MAX_TENSORS];

		kw_stage_views(s, slot, views);
		st = kw_torch_steady(s, views, output, err);
	}
	if (st == KW_OK)
		st = by_elements(s, slot, fill, output, stats, err);
	if (stats->mismatched == 0)
		return st;
	if (st != KW_OK || (fill == KW_FILL_DECLARED && stats->sum_want2 > 0 && stats->rms_rel > KW_RMS_SHARE))
		return st;
	for (int k = 1; k <= KW_EXPR_FORMS && st == KW_OK; k++) {
		struct kw_compare_stats again;

		st = kw_stage_rephrase(s, slot, fill, output, k, &more, err);
		if (st == KW_OK && more)
			st = kw_stage_compare(s, slot, fill, 1, output, &again, err);
		if (st != KW_OK || !more || !kw_compare_right(&again))
			continue;
		*stats = again;
		s->formulas = k > s->formulas ? k : s->formulas;
		snprintf(text, sizeof text, "%s is less exact than a plain kernel makes it, and as exact as with other formulas: %s",
			 s->w->t->outputs[output].name, s->formula[k - 1].says);
		kw_note(s->w, text);
		return KW_OK;
	}
	s->tol[output] = kept;
	return st;
}

/* On a device that can: *right, or the host has to look. */
static enum kw_status check_there(struct stage *s, int slot, enum kw_fill fill, bool *right, struct kw_error *err)
{
	struct kw_compare_stats *stats = kw_calloc((size_t)s->outputs + 1, sizeof *stats);
	enum kw_status st = stats ? kw_references_check(s, slot, fill, stats, right, err) :
				    kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	for (int o = 0; o < s->outputs && st == KW_OK && *right && fill == KW_FILL_DECLARED; o++)
		keep_worst(s, o, &stats[o]);
	for (int o = 0; o < s->outputs && st == KW_OK && *right && fill == KW_FILL_DECLARED; o++)
		note_close(s, o, &stats[o]);
	kw_free(stats);
	return st;
}

/* A whole number or a float of one byte may be the poison by chance. */
static bool poison_tells(const struct stage *s, int output)
{
	enum kw_dtype d = s->w->t->outputs[output].dtype;

	return kw_dtype_is_float(d) && kw_dtype_bytes(d) > 1;
}

/* What is wrong at first is looked at again: by surer expected values, by the tolerance of a plain evaluation at that very
 * place, by other formulas, and by what the steps of the task excuse. */
static enum kw_status compare_closely(struct stage *s, int slot, enum kw_fill fill, double share, int output,
				      struct kw_compare_stats *stats, struct kw_error *err)
{
	enum kw_status st = kw_stage_compare(s, slot, fill, share, output, stats, err);
	bool more = false;

	if (st == KW_OK && !kw_compare_right(stats) && !stats->unwritten && !stats->nan_mismatched)
		st = kw_stage_tell_more(s, slot, fill, output, &more, err);
	if (st == KW_OK && more)
		st = kw_stage_compare(s, slot, fill, 1, output, stats, err);
	for (int k = 0; k < SECOND_LOOKS && st == KW_OK && widen(s, fill, output, stats); k++)
		st = kw_stage_compare(s, slot, fill, 1, output, stats, err);
	if (st == KW_OK)
		st = by_other_formulas(s, slot, fill, output, stats, err);
	if (st != KW_OK || !s->steps || stats->mismatched == 0 || stats->nan_mismatched ||
	    (stats->unwritten && poison_tells(s, output)))
		return st;
	s->excuse = true;
	st = kw_stage_compare(s, slot, fill, 1, output, stats, err);
	s->excuse = false;
	return st;
}

static enum kw_status check_output(struct stage *s, int slot, enum kw_fill fill, double share, int output, struct kw_error *err)
{
	struct kw_compare_stats stats;
	enum kw_status st;

	if (s->w->t->outputs[output].compare == KW_COMPARE_DISTRIBUTION) {
		st = kw_stage_distribution(s, slot, fill, share, output, &stats, err);
		if (st == KW_OK && !s->w->failed)
			keep_worst(s, output, &stats);
		return st;
	}
	st = compare_closely(s, slot, fill, share, output, &stats, err);
	if (st != KW_OK)
		return st;
	if (fill == KW_FILL_DECLARED || !kw_compare_right(&stats) || stats.unwritten)
		keep_worst(s, output, &stats);
	if (fill == KW_FILL_DECLARED)
		note_close(s, output, &stats);
	if (!kw_compare_right(&stats) || stats.unwritten > 0)
		return kw_forensics(s, slot, fill, output, &stats, err);
	kw_memo_keep(s, output, err);
	return KW_OK;
}

enum kw_status kw_trial_check(struct stage *s, int slot, enum kw_fill fill, double share, struct kw_error *err)
{
	bool usable = false, right = false;
	enum kw_status st;

	if (!canaries(s, slot, fill))
		return KW_OK;
	st = check_there(s, slot, fill, &right, err);
	if (st == KW_OK && !right)
		st = kw_stage_pull(s, slot, err);
	if (st == KW_OK && !right)
		st = kw_stage_reference(s, slot, fill, &usable, err);
	if (st != KW_OK || (!right && !usable))
		return st;
	for (int o = 0; o < s->outputs && st == KW_OK && !right && !s->w->failed; o++)
		st = check_output(s, slot, fill, share, o, err);
	if (s->result && !s->w->failed)
		s->result->trials++;
	return st;
}

enum kw_status kw_trial_compare(struct stage *s, int slot, double share, struct kw_compare_stats *worst, bool *known, struct kw_error *err)
{
	struct kw_compare_stats *stats = kw_calloc((size_t)s->outputs + 1, sizeof *stats);
	bool right = false, usable = false;
	enum kw_status st = stats ? kw_references_check(s, slot, KW_FILL_DECLARED, stats, &right, err) :
				    kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	*known = false;
	*worst = (struct kw_compare_stats){ 0 };
	if (st == KW_OK && !right)
		st = kw_stage_pull(s, slot, err);
	if (st == KW_OK && !right)
		st = kw_stage_reference(s, slot, KW_FILL_DECLARED, &usable, err);
	for (int o = 0; o < s->outputs && st == KW_OK && (right || usable); o++) {
		bool more = false;

		if (s->w->t->outputs[o].compare == KW_COMPARE_DISTRIBUTION)
			continue;
		if (!right)
			st = kw_stage_compare(s, slot, KW_FILL_DECLARED, share, o, &stats[o], err);
		if (st == KW_OK && !kw_compare_right(&stats[o]) && !stats[o].nan_mismatched)
			st = kw_stage_tell_more(s, slot, KW_FILL_DECLARED, o, &more, err);
		if (st == KW_OK && more)
			st = kw_stage_compare(s, slot, KW_FILL_DECLARED, 1, o, &stats[o], err);
		if (st == KW_OK && !kw_compare_right(&stats[o]) && !stats[o].nan_mismatched)
			st = by_other_formulas(s, slot, KW_FILL_DECLARED, o, &stats[o], err);
		if (!*known || stats[o].worst_ratio > worst->worst_ratio || stats[o].nan_mismatched > worst->nan_mismatched)
			*worst = stats[o];
		*known = true;
	}
	kw_free(stats);
	return st;
}

/* After a right answer: let the process run on for a moment with no call. A kernel leaves nothing running. */
static bool stays_busy(struct stage *s)
{
	for (int i = 0; i < SUSPICIONS; i++)
		if (kw_player_linger(s->player, 4 * LINGER_NS) <= LINGER_NS)
			return false;
	/* What continuing and stopping a process of many threads costs is the same for any pause; work is not. */
	for (int i = 0; i < LONG_PAUSES; i++)
		if (kw_player_linger(s->player, 64 * LINGER_NS) <= 16 * LINGER_NS)
			return false;
	return true;
}

static enum kw_status linger(struct stage *s, int slot, struct kw_error *err)
{
	uint64_t before, after = 0;
	int64_t busy = 0;
	enum kw_status st = kw_stage_output_hash(s, slot, &before, err);

	if (st == KW_OK) {
		busy = kw_player_linger(s->player, LINGER_NS);
		st = kw_stage_output_hash(s, slot, &after, err);
	}
	if (st != KW_OK)
		return st;
	if (after != before)
		kw_fail_verdict(s->w, s->c->label, KW_S_LATE_WRITE, "the output changed after the call had returned",
				"the outputs' hash differs one millisecond after the call");
	else if (busy > LINGER_NS / 2 && stays_busy(s))
		kw_fail_verdict(s->w, s->c->label, KW_S_BACKGROUND,
				"it goes on computing between calls, when no clock runs",
				"CPU time was used in every one of several pauses without a call");
	return KW_OK;
}

enum kw_status kw_trial_run(struct stage *s, int slot, enum kw_fill fill, double share, bool do_linger, int64_t *wall_ns,
			    struct kw_error *err)
{
	struct kw_play_result r = { .buffer = -1 };
	int64_t waited_ns = kw_module_waited_ns(s->w);
	enum kw_status st;

	s->player->watched = kw_module_is_watched(s);
	st = s->w->j->dev->ops->run(s->player, &slot, 1, kw_stage_timeout_ms(s), &r, err);
	s->player->watched = false;
	if (st != KW_OK)
		return st;
	kw_count_run(s->w, r.wall_ns, waited_ns);
	if (wall_ns)
		*wall_ns = r.wall_ns;
	if (r.end != KW_PLAY_DONE)
		kw_trial_fault(s, &r, fill);
	kw_trial_late(s, &r);
	kw_trial_release(&r);
	if (!s->w->failed)
		st = kw_trial_check(s, slot, fill, share, err);
	if (st == KW_OK) {
		kw_trial_alias(s, &r);
		kw_module_operations(s, &r);
	}
	if (st == KW_OK && !s->w->failed && do_linger)
		st = linger(s, slot, err);
	return st;
}
