#include "search/write.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "explain/judged.h"
#include "explain/rule.h"
#include "search/ahead.h"
#include "search/split.h"

enum { STEP_TEXT_BYTES = 600, NOTE_BYTES = 800, WORD_BYTES = 40, AHEAD_MAX_BYTES = 256 << 20 };

const char kw_own_choice[] = "Choose the one change that you expect to gain most, and name it in a comment at the top.";

enum kw_status kw_writer_init(struct kw_writer *w, struct kw_search *s, struct kw_error *err)
{
	*w = (struct kw_writer){ .s = s };
	w->history = kw_arena_calloc(s->arena, KW_HISTORY_MAX, sizeof(*w->history));
	w->known = kw_arena_calloc(s->arena, KW_KNOWN_FINDINGS, sizeof(*w->known));
	return w->history && w->known ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a run");
}

/* That no one tuned value is best for all sizes, in its place by what it gives back. */
static enum kw_status add_split(const struct kw_writer *w, const struct kw_ranked *parent, struct kw_finding **findings, size_t *count,
				struct kw_error *err)
{
	struct kw_search *s = w->s;
	struct kw_finding own, *room;
	size_t at = 0;
	bool found;
	enum kw_status status = kw_split_finding(s->memory, kw_split_key(&parent->candidate, s->ports->hardware, s->arena), s->rules, s->rule_count,
						 parent->ns, s->arena, &own, &found, err);

	if (status != KW_OK || !found)
		return status;
	room = kw_arena_calloc(s->arena, *count + 1, sizeof(*room));
	if (!room)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for findings");
	while (at < *count && (*findings)[at].gain_ns > own.gain_ns)
		at++;
	for (size_t i = 0; i < *count; i++)
		room[i + (i >= at)] = (*findings)[i];
	room[at] = own;
	*findings = room;
	(*count)++;
	return KW_OK;
}

/* What is known without a profiler. A prompt without it is still a prompt: what goes wrong here is said, and nothing more. */
static void add_findings(const struct kw_writer *w, const struct kw_ranked *parent, struct kw_prompt_facts *out)
{
	struct kw_search *s = w->s;
	struct kw_known_findings *k;
	const struct kw_backend *b = kw_backend_find(parent->candidate.backend);
	const char *name = kw_arena_printf(s->arena, "kernel%.*s", b ? (int)strcspn(b->extensions, " ") : 2,
					   b ? b->extensions : ".c");
	struct kw_finding *findings = NULL;
	struct kw_error err;

	kw_error_reset(&err);
	if (!parent->verdict || !name)
		return;
	for (k = w->known; k < w->known + KW_KNOWN_FINDINGS; k++)
		if (k->verdict == parent->verdict && strcmp(k->sha, parent->candidate.sha256) == 0) {
			out->findings = k->findings;
			out->finding_count = k->count;
			return;
		}
	if ((!s->rules && kw_rules_load(s->arena, &s->rules, &s->rule_count, &err) != KW_OK) ||
	    kw_explain_judged(parent->candidate.source, name, parent->verdict, s->rules, s->rule_count, s->memory, s->arena, &findings,
			      &out->finding_count, &err) != KW_OK ||
	    add_split(w, parent, &findings, &out->finding_count, &err) != KW_OK)
		kw_search_reason(s, "no findings for %s: %s", parent->candidate.name, err.text);
	out->findings = findings;
	memmove(w->known + 1, w->known, (KW_KNOWN_FINDINGS - 1) * sizeof(*w->known));
	w->known[0] = (struct kw_known_findings){ .verdict = parent->verdict, .findings = findings, .count = out->finding_count };
	memcpy(w->known[0].sha, parent->candidate.sha256, sizeof(w->known[0].sha));
}

void kw_writer_facts(const struct kw_writer *w, const struct kw_ranked *parent, struct kw_prompt_facts *out)
{
	struct kw_search *s = w->s;

	*out = (struct kw_prompt_facts){ .task = s->task, .expr = s->expr, .backend = s->opts->backend,
					 .hardware = s->ports->told ? s->ports->told : s->ports->hardware, .history = w->history,
					 .history_count = w->history_count, .memory = s->memory,
					 .memory_before_ms = s->started_ms };
	if (!parent)
		return;
	out->parent = &parent->candidate;
	out->parent_verdict = parent->verdict;
	add_findings(w, parent, out);
}

void kw_writer_note(struct kw_writer *w, const char *fmt, ...)
{
	char text[4 * NOTE_BYTES];
	const char *kept;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (w->history_count == KW_HISTORY_MAX) {
		memmove(w->history, w->history + 1, (KW_HISTORY_MAX - 1) * sizeof(*w->history));
		w->history_count--;
	}
	kept = kw_writer_line(w, text, NOTE_BYTES);
	if (kept[0])
		w->history[w->history_count++] = kept;
}

/* A place in a text is shown by the text's line and a mark below it, which mean nothing beside each other. */
static struct kw_str without_mark(struct kw_str text)
{
	size_t n = text.len;

	if (n < 3 || text.ptr[n - 1] != '^')
		return text;
	for (n--; n && text.ptr[n - 1] == ' '; n--)
		;
	if (!n || text.ptr[n - 1] != '\n')
		return text;
	for (n--; n && text.ptr[n - 1] != '\n'; n--)
		;
	return n ? kw_str_trim((struct kw_str){ text.ptr, n }) : text;
}

/* A text that is too long ends behind a word. */
const char *kw_writer_line(const struct kw_writer *w, const char *text, size_t most)
{
	struct kw_str line = without_mark(kw_str_trim(kw_str_from(text)));
	bool cut = line.len > most;
	char *out;

	if (cut) {
		line.len = most > 3 ? most - 3 : most;
		while (line.len && ((unsigned char)line.ptr[line.len] & 0xc0) == 0x80)
			line.len--;
		for (size_t i = 0; i < WORD_BYTES && i < line.len; i++)
			if (strchr(" \n\t", line.ptr[line.len - i])) {
				line.len -= i;
				break;
			}
	}
	out = kw_arena_printf(w->s->arena, KW_STR_FMT "%s", KW_STR_ARG(line), cut ? "..." : "");
	for (char *p = out; p && *p; p++)
		*p = *p == '\n' || *p == '\t' || *p == '\r' ? ' ' : *p;
	return out ? out : "";
}

void kw_writer_note_step(struct kw_writer *w, const struct kw_step *step, const struct kw_ranked *best, double best_before_ns)
{
	const struct kw_refusal *r = &w->s->refusal;
	int round = w->s->round;
	char now[40], before[40];

	if (step->idle) {
		kw_writer_note(w, "round %d: %s", round, step->what);
	} else if (best) {
		kw_human_ns(best->ns, now, sizeof(now));
		if (best_before_ns > 0)
			kw_writer_note(w, "round %d: %s: right, %s; the best before was %s: %s", round, step->what, now,
				       kw_human_ns(best_before_ns, before, sizeof(before)),
				       best->ns < best_before_ns ? "kept" : "no gain, not kept");
		else
			kw_writer_note(w, "round %d: %s: right, %s: kept", round, step->what, now);
	} else if (strcmp(r->candidate_sha, step->candidate.sha256) == 0) {
		kw_writer_note(w, "round %d: %s: REFUSED, %s%s%s: %s", round, step->what, kw_verdict_name(r->cls),
			       r->subclass == KW_S_NONE ? "" : "/", kw_subclass_name(r->subclass), r->summary ? r->summary : "");
	}
}

/* A compiler's message is the summary of its own output: it is said once. */
static bool repeats(const struct kw_refusal *r)
{
	const char *message = r->summary ? strstr(r->summary, ": ") : NULL;

	return r->cls == KW_V_BUILD_ERROR && message && r->evidence && strstr(r->evidence, message + 2);
}

/* What rules say of it; without them it is still a refusal. */
static const char *known_of(struct kw_search *s, const struct kw_refusal *r)
{
	const char *known;
	struct kw_error err;

	kw_error_reset(&err);
	if (!s->rules && kw_rules_load(s->arena, &s->rules, &s->rule_count, &err) != KW_OK)
		return "";
	known = kw_explain_refused(r->evidence && *r->evidence ? r->evidence : r->summary ? r->summary : "", s->rules, s->rule_count, s->arena);
	return known && *known ? kw_arena_printf(s->arena, "\n\nWhat is known of this:\n%s", known) : "";
}

const char *kw_writer_failure(const struct kw_writer *w, const char *candidate_sha)
{
	const struct kw_refusal *r = &w->s->refusal;

	if (strcmp(r->candidate_sha, candidate_sha) != 0)
		return NULL;
	return kw_arena_printf(w->s->arena, "%s%s%s (%s)%s%s%s%s\n%s\n\n%s%s", kw_verdict_name(r->cls),
			       r->subclass == KW_S_NONE ? "" : "/", kw_subclass_name(r->subclass),
			       r->subclass == KW_S_NONE ? kw_verdict_meaning(r->cls) : kw_subclass_meaning(r->subclass),
			       r->case_label ? ", in case " : "", r->case_label ? r->case_label : "",
			       r->tune && r->tune[0] ? ", at " : "", r->tune ? r->tune : "",
			       r->summary && !repeats(r) ? r->summary : "", r->evidence ? r->evidence : "", known_of(w->s, r));
}

/* The lines of an answer that begin with STEP:. */
static enum kw_status take_steps(struct kw_writer *w, const char *text, struct kw_error *err)
{
	struct kw_str rest = kw_str_from(text), line;
	const char *step;

	w->step_count = w->step_next = 0;
	while (rest.len && kw_str_split(&rest, '\n', &line) && w->step_count < KW_STEPS_MAX) {
		line = kw_str_trim(line);
		while (line.len && strchr("*-#> 0123456789.", line.ptr[0]))
			line = (struct kw_str){ line.ptr + 1, line.len - 1 };
		if (!kw_str_starts(line, "STEP:"))
			continue;
		line = kw_str_trim((struct kw_str){ line.ptr + 5, line.len - 5 });
		if (line.len == 0)
			continue;
		step = kw_arena_str(w->s->arena, line);
		if (!step)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a plan");
		w->steps[w->step_count++] = kw_writer_line(w, step, STEP_TEXT_BYTES);
	}
	return KW_OK;
}

/* Says what a prompt had no room for, once while it stays the same. */
static void tell_left_out(struct kw_writer *w, const struct kw_turn *turn, enum kw_role role)
{
	if (!turn->left_out[0] || (w->left_out && strcmp(w->left_out, turn->left_out) == 0))
		return;
	w->left_out = turn->left_out;
	kw_search_reason(w->s, "the prompt for the %s had no room for: %s", kw_role_name(role), turn->left_out);
}

void kw_search_late(struct kw_search *s, const struct kw_turn *turn)
{
	if (turn->late)
		kw_search_reason(s, "the run's time was over before %s was answered", turn->late);
}

enum kw_status kw_search_ask(struct kw_search *s, const struct kw_request *r, struct kw_turn *turn, struct kw_error *err)
{
	enum kw_status status;

	*turn = (struct kw_turn){ .asked = false };
	status = kw_agent_ask(s->ports->agent, r, 1, s->arena, turn, err);
	if (status != KW_NO)
		return status;
	turn->asked = false;
	kw_search_late(s, turn);
	s->stop = kw_agent_stop(s->ports->agent);
	return s->stop == KW_RUN_EXHAUSTED ? KW_OK : KW_NO;
}

static enum kw_status ask_planner(struct kw_writer *w, const struct kw_ranked *parent, const char *slot, const char **why,
				  struct kw_error *err)
{
	struct kw_prompt_facts facts;
	struct kw_request r = { .role = KW_ROLE_PLANNER, .slot = slot, .facts = &facts, .temperature = -1, .round = w->s->round + 1 };
	struct kw_turn turn;
	enum kw_status status;

	*why = NULL;
	kw_writer_facts(w, parent, &facts);
	status = kw_search_ask(w->s, &r, &turn, err);
	if (status != KW_OK || !turn.asked)
		return status;
	tell_left_out(w, &turn, KW_ROLE_PLANNER);
	status = take_steps(w, turn.text, err);
	if (status == KW_OK && w->step_count == 0 && strstr(turn.text, "NOTHING:"))
		*why = kw_writer_line(w, strstr(turn.text, "NOTHING:") + 8, 400);
	return status;
}

enum kw_status kw_writer_directive(struct kw_writer *w, const struct kw_ranked *parent, const char *slot, const char **directive,
				   const char **why, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	*why = NULL;
	/* Steps are made for one kernel: when it was improved, they are no longer the question. */
	if (w->steps_of[0] && strcmp(w->steps_of, parent->candidate.sha256) != 0)
		w->step_next = w->step_count;
	if (w->step_next >= w->step_count) {
		w->step_count = w->step_next = 0;
		status = ask_planner(w, parent, slot, why, err);
		memcpy(w->steps_of, parent->candidate.sha256, sizeof(w->steps_of));
	}
	if (status != KW_OK)
		return status;
	if (*why)
		*directive = NULL;
	else if (w->step_next < w->step_count)
		*directive = w->steps[w->step_next++];
	else
		*directive = kw_own_choice;
	return KW_OK;
}

/* "[narrow_accesses]" in the planner's step, or "applied: narrow_accesses" in a comment of the kernel. Nothing is guessed from
 * other words: a record of what was not done would be worse than none. */
static bool names(const char *text, const char *before, const char *id, const char *after)
{
	size_t n = strlen(id);

	for (const char *p = text; text && (p = strstr(p, before)) != NULL;) {
		p += strlen(before);
		p += strspn(p, " \t");
		if (strncmp(p, id, n) == 0 && (*after ? strncmp(p + n, after, strlen(after)) == 0 : !isalnum((unsigned char)p[n]) && p[n] != '_'))
			return true;
	}
	return false;
}

/* Of the planner, "EXPECT: 0.8"; 0: it says nothing of use. */
static double expected(const char *directive)
{
	const char *at = directive ? strstr(directive, "EXPECT:") : NULL;
	double share = at ? strtod(at + 7, NULL) : 0;

	return share > 0 && share < 100 ? share : 0;
}

static void find_applied(const struct kw_turn *turn, const struct kw_prompt_facts *facts, struct kw_step *step)
{
	const struct kw_case_result *c = facts->parent_verdict ? kw_explain_longest(facts->parent_verdict) : NULL;

	for (size_t i = 0; c && i < facts->finding_count && !step->applied; i++)
		if (names(facts->directive, "[", facts->findings[i].id, "]") ||
		    names(turn->candidate.source, "applied:", facts->findings[i].id, ""))
			step->applied = &facts->findings[i];
	step->predicted = expected(facts->directive);
	if (step->applied) {
		const char *metric = step->applied->directive.prediction.metric;
		bool of_all = metric && strcmp(metric, KW_SPLIT_METRIC) == 0;

		step->of_case = of_all ? NULL : c->label;
		step->before_ns = of_all ? kw_search_mean_ns(facts->parent_verdict) : c->times.median_ns;
		if (step->predicted <= 0 && step->applied->gain_ns > 0 && step->applied->gain_ns < step->before_ns)
			step->predicted = 1 - step->applied->gain_ns / step->before_ns;
	}
}

enum kw_status kw_writer_step(struct kw_writer *w, const struct kw_turn *turn, const struct kw_prompt_facts *facts, const char *what,
			      struct kw_step *step, struct kw_error *err)
{
	struct kw_search *s = w->s;
	const char *why;

	if (!turn->asked) {
		s->stop = kw_agent_stop(s->ports->agent);
		return KW_NO;
	}
	tell_left_out(w, turn, facts->failed_source ? KW_ROLE_DEBUGGER : KW_ROLE_CODER);
	*step = (struct kw_step){ .what = what, .tune = true, .candidate = turn->candidate };
	if (turn->reply.kind != KW_REPLY_SOURCE) {
		why = kw_arena_printf(s->arena, "%s: nothing came of it: %s: %s", what, kw_reply_text(turn->reply.kind),
				      kw_writer_line(w, turn->reply.why, 300));
		*step = (struct kw_step){ .what = why, .idle = true };
		if (!why)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a step");
		kw_search_reason(s, "%s answered %s", turn->model, why);
		return KW_OK;
	}
	find_applied(turn, facts, step);
	/* The parent may leave the ranking before the step is judged. */
	if (step->applied && step->of_case && !(step->of_case = kw_arena_strdup(s->arena, step->of_case)))
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a step");
	return KW_OK;
}

enum kw_status kw_writer_review(struct kw_writer *w, const struct kw_ranked *best, const char *slot, const char **objection,
				struct kw_error *err)
{
	struct kw_prompt_facts facts;
	struct kw_request r = { .role = KW_ROLE_REVIEWER, .slot = slot, .facts = &facts, .temperature = -1, .round = w->s->round };
	struct kw_turn turn;
	const char *at;
	enum kw_status status;

	*objection = NULL;
	kw_writer_facts(w, best, &facts);
	status = kw_search_ask(w->s, &r, &turn, err);
	at = status == KW_OK && turn.asked ? strstr(turn.text, "OBJECT:") : NULL;
	if (at)
		*objection = kw_writer_line(w, at + 7, STEP_TEXT_BYTES);
	return status;
}

/* A copy of a request that lives as long as its answer is waited for. */
static bool copy_request(struct kw_search *s, const struct kw_request *from, struct kw_request *to)
{
	struct kw_prompt_facts *facts = kw_arena_copy(s->arena, from->facts, sizeof(*facts));

	*to = *from;
	to->facts = facts;
	if (facts && facts->parent)
		facts->parent = kw_arena_copy(s->arena, facts->parent, sizeof(*facts->parent));
	return facts && (!from->facts->parent || facts->parent);
}

enum kw_status kw_batch_ask(struct kw_writer *w, const struct kw_request *requests, const char *const *what, size_t count,
			    struct kw_batch *out, struct kw_error *err)
{
	struct kw_search *s = w->s;
	bool good;

	*out = (struct kw_batch){ .requests = kw_arena_calloc(s->arena, count + 1, sizeof(*requests)), .count = count, .looks = out->looks };
	kw_arena_init(&out->ahead, AHEAD_MAX_BYTES);
	good = out->requests != NULL;
	for (size_t i = 0; i < count && good; i++) {
		bool same = i && requests[i].facts == requests[i - 1].facts; /* samples of one prompt */

		good = same || copy_request(s, &requests[i], &out->requests[i]);
		if (same) {
			out->requests[i] = requests[i];
			out->requests[i].facts = out->requests[i - 1].facts;
		}
		out->what[i] = what[i];
	}
	if (!good)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a round");
	return kw_agent_begin(s->ports->agent, out->requests, count, &out->pending, err);
}

/* Before a step is judged: what was answered by now is built with it, a few at once. What comes of a run does not depend on how many were
 * there: each is judged when its turn comes. */
static void look_ahead(struct kw_writer *w, struct kw_batch *b, const struct kw_candidate *now)
{
	struct kw_search *s = w->s;
	size_t most = kw_ahead_batch(s->ports->hardware), at = b->next - 1, n = 0;
	const struct kw_candidate *list[KW_BATCH_MAX];
	struct kw_candidate others[KW_BATCH_MAX];

	/* On one device the next few are built when these are done with, on several each is begun as it comes. */
	if (b->seen[at] && s->ports->evaluators < 2)
		return;
	if (!b->seen[at])
		list[n++] = now;
	b->seen[at] = true;
	for (size_t i = b->next; i < b->count && i < at + most; i++)
		if (!b->seen[i] && kw_agent_peek(s->ports->agent, b->pending, i, &b->ahead, &others[n])) {
			list[n] = &others[n];
			n++;
			b->seen[i] = true;
		}
	if (n && !kw_search_should_stop(s))
		kw_search_begin_ahead(s, list, n, b->looks);
}

enum kw_status kw_batch_next(struct kw_writer *w, struct kw_batch *b, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct kw_search *s = w->s;
	struct kw_turn turn = { .asked = false };
	enum kw_status status = KW_OK;

	*more = false;
	while (status == KW_OK && !turn.asked && b->next < b->count) {
		status = kw_agent_take(s->ports->agent, b->pending, b->next++, s->arena, &turn, err);
		kw_search_late(w->s, &turn);
	}
	if (status == KW_OK && turn.asked) {
		*more = true;
		b->delivered++;
		status = kw_writer_step(w, &turn, b->requests[b->next - 1].facts, b->what[b->next - 1], step, err);
		if (status == KW_OK && !step->idle)
			look_ahead(w, b, &step->candidate);
		return status;
	}
	s->failing = status != KW_OK && status != KW_NO;
	kw_batch_end(w, b);
	if (status == KW_NO || (status == KW_OK && b->delivered == 0)) {
		s->stop = kw_agent_stop(s->ports->agent);
		return KW_NO;
	}
	return status;
}

void kw_batch_end(struct kw_writer *w, struct kw_batch *b)
{
	struct kw_error err;
	size_t closed = 0;

	kw_error_reset(&err);
	if (!b->pending)
		return;
	kw_search_drop_ahead(w->s, NULL);
	kw_arena_release(&b->ahead);
	if (kw_agent_end(w->s->ports->agent, b->pending, !w->s->failing, &closed, &err) != KW_OK)
		kw_search_reason(w->s, "an answer that nobody waited for: %s", err.text);
	if (closed)
		kw_search_reason(w->s, "%zu call%s of %s %s closed: the run was over before %s answered", closed, closed == 1 ? "" : "s",
				 kw_agent_model(w->s->ports->agent), closed == 1 ? "was" : "were", closed == 1 ? "it was" : "they were");
	b->pending = NULL;
}

size_t kw_batch_width(const struct kw_search *s, size_t own)
{
	size_t n = s->opts->width > 0 ? (size_t)s->opts->width : own;

	return n < KW_BATCH_MAX ? n : KW_BATCH_MAX;
}

double kw_batch_temperature(const struct kw_search *s)
{
	return s->opts->agent.temperature >= 0 ? s->opts->agent.temperature : 0.8;
}

/* ---- a batch a round ---- */

enum kw_status kw_rounds_init(struct kw_rounds *r, struct kw_search *s, struct kw_error *err)
{
	*r = (struct kw_rounds){ .began = !s->opts->from };
	return kw_writer_init(&r->w, s, err);
}

enum kw_status kw_rounds_begin(struct kw_search *s, void **state, struct kw_error *err)
{
	struct kw_rounds *r = kw_arena_calloc(s->arena, 1, sizeof(*r));

	if (!r)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a run");
	*state = r;
	return kw_rounds_init(r, s, err);
}

enum kw_status kw_rounds_next(struct kw_search *s, struct kw_rounds *r, kw_rounds_ask ask, const char *unit, struct kw_step *step,
			      bool *more, struct kw_error *err)
{
	enum kw_status status;

	*more = true;
	r->best_before_ns = s->best_ns;
	if (!r->began) {
		r->began = true;
		*step = (struct kw_step){ .candidate = *s->opts->from, .tune = true, .what = "the kernel that it starts from" };
		return kw_agent_know(s->ports->agent, s->opts->from->sha256, err);
	}
	status = ask(s, r, err);
	if (status == KW_OK)
		status = kw_batch_next(&r->w, &r->batch, step, more, err);
	step->round = kw_arena_printf(s->arena, "%zu %s", r->batch.count, unit);
	return status;
}

void kw_rounds_told(struct kw_search *s, void *state, const struct kw_step *step, const struct kw_ranked *best)
{
	struct kw_rounds *r = state;

	(void)s;
	kw_writer_note_step(&r->w, step, best, r->best_before_ns);
}

enum kw_status kw_rounds_again(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct kw_rounds *r = state;

	(void)s;
	/* After the kernel that it starts from there is no batch yet. */
	if (!r->batch.pending) {
		*more = false;
		return KW_OK;
	}
	return kw_batch_next(&r->w, &r->batch, step, more, err);
}

void kw_rounds_end(void *state)
{
	struct kw_rounds *r = state;

	if (r)
		kw_batch_end(&r->w, &r->batch);
}
