/* Strategy `parts`: a task of several operations, each part a search of its own, the winners put together.
 *
 * The manager divides (a model, or the rule of expr/divide.c), the parts are searched by as many workers as there are evaluators or
 * calls of models at once, and their kernels become one candidate, which is judged as any: the whole against the whole. A part that
 * has no right kernel keeps the baseline's, the plain one that computes it as it is written. Where the whole is refused, it is built
 * up again from the baseline's kernels, one part at a time, so that it is known whose kernel does not go with the others.
 *
 * Every part is a run in the store, an item of this one, and is resumed as any run; what comes back does not depend on which ended
 * first. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/statements.h"
#include "search/compose.h"
#include "search/write.h"

enum { PARTS_MAX = 64, WORKERS_MAX = 16, WORKERS_OF_MODELS = 4, NAIVE_MAX_BYTES = 4 << 20, WHY_BYTES = 500 };
/* What the parts may spend of a run's evaluations, tokens and money: the rest is for the whole. Of its time the whole has what its final
 * check is likely to take. */
static const double parts_share = 0.8;

struct part {
	char item[32];                    /* "part1" */
	const char *statements;           /* "mid1 = x @ w; y = relu(mid1)" */
	const char *yaml;
	struct kw_task task;
	struct kw_expr *expr;
	struct kw_arena arena;            /* of the task's graph */
	int64_t run_id;                   /* from before a resume, or of this search; 0: none */
	bool over;                        /* it ended before: it is read, not searched */
	struct kw_search_opts opts;
	struct kw_agent *agent;
	enum kw_status status;
	struct kw_error err;
	enum kw_run_state state;
	int evaluations, before;          /* in all, and before this process */
	struct kw_candidate own, baseline; /* source NULL: none */
	double ns, speedup;
	bool kept;                        /* its own kernel is in the whole */
	const char *why;                  /* it keeps the baseline's; NULL: it does not */
};
struct state {
	struct kw_search *s;
	struct kw_statements statements;
	int of[KW_STATEMENTS_MAX];
	struct part *parts;
	size_t count;
	const char *divided_by;           /* "rule", or the model that did it */
	_Atomic size_t next;
	_Atomic int64_t dearest_ns;       /* what a part's judgement in full took at most; 0: there was none */
	pthread_mutex_t lock;             /* of progress */
	size_t step;                      /* the first is the whole; where that is refused, the second is all plain, then one part a step */
	bool built_up;                    /* the whole was refused */
	bool plain_right;                 /* the baseline's kernels together are right */
};

static enum kw_status no_memory(struct kw_error *err)
{
	return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the parts of a task");
}

/* ---- dividing ---- */

/* "PART: 1 2-4" lines into numbers of parts. False: *why says what is wrong with them. */
static bool read_parts(const struct kw_statements *s, const char *text, int *of, size_t *count, char why[WHY_BYTES])
{
	struct kw_str rest = kw_str_from(text), line;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		of[i] = KW_NO_PART;
	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		const char *p, *end;
		bool any = false;

		line = kw_str_trim(line);
		while (line.len && strchr("*-#> `0123456789.", line.ptr[0]))
			line = (struct kw_str){ line.ptr + 1, line.len - 1 };
		if (!kw_str_starts(line, "PART:"))
			continue;
		if (n == PARTS_MAX) {
			snprintf(why, WHY_BYTES, "there are more than %d parts", PARTS_MAX);
			return false;
		}
		for (p = line.ptr + 5, end = line.ptr + line.len; p < end;) {
			long from = 0, to;

			if (*p < '0' || *p > '9') {
				p++;
				continue;
			}
			for (; p < end && *p >= '0' && *p <= '9'; p++)
				from = from < 100000 ? from * 10 + (*p - '0') : from;
			to = from;
			if (p + 1 < end && *p == '-' && p[1] >= '0' && p[1] <= '9')
				for (to = 0, p++; p < end && *p >= '0' && *p <= '9'; p++)
					to = to < 100000 ? to * 10 + (*p - '0') : to;
			for (long k = from; k <= to; k++) {
				if (k < 1 || (size_t)k > s->count) {
					snprintf(why, WHY_BYTES, "there is no statement %ld among the %d", k, (int)s->count);
					return false;
				}
				if (of[k - 1] != KW_NO_PART && of[k - 1] != (int)n) {
					snprintf(why, WHY_BYTES, "statement %ld is in two parts", k);
					return false;
				}
				of[k - 1] = (int)n;
				any = any || !s->at[k - 1].copied;
			}
		}
		n += any;
	}
	*count = n;
	if (n == 0)
		snprintf(why, WHY_BYTES, "no line begins with PART: and names statements by their numbers");
	return n > 0;
}

/* Whether every part is a task of its own: its words are read as a file's are. */
static enum kw_status make_tasks(struct state *st, struct kw_error *err)
{
	struct kw_search *s = st->s;
	enum kw_status status = KW_OK;

	st->parts = kw_arena_calloc(s->arena, st->count + 1, sizeof(*st->parts));
	if (!st->parts)
		return no_memory(err);
	for (size_t i = 0; i < st->count && status == KW_OK; i++) {
		struct part *p = &st->parts[i];
		char file[64];

		snprintf(p->item, sizeof(p->item), "part%zu", i + 1);
		snprintf(file, sizeof(file), "(%s)", p->item);
		kw_arena_init(&p->arena, 256u << 20);
		status = kw_statements_task(&st->statements, st->of, (int)i, s->arena, &p->yaml, err);
		if (status == KW_OK)
			status = kw_task_parse_yaml(&p->task, file, p->yaml, strlen(p->yaml), err);
		if (status == KW_OK)
			status = kw_expr_complete_task(&p->task, err);
		if (status == KW_OK)
			status = kw_expr_parse(&p->task, &p->arena, &p->expr, err);
		p->statements = "";
		for (size_t k = 0; k < st->statements.count && p->statements; k++)
			if (st->of[k] == (int)i)
				p->statements = kw_arena_printf(s->arena, "%s%s%s", p->statements, p->statements[0] ? "; " : "",
								st->statements.at[k].text);
		if (status == KW_OK && !p->statements)
			status = no_memory(err);
	}
	return status;
}

static void release_tasks(struct state *st)
{
	for (size_t i = 0; st->parts && i < st->count; i++) {
		kw_agent_free(st->parts[i].agent);
		kw_arena_release(&st->parts[i].arena);
		kw_task_release(&st->parts[i].task);
	}
	st->parts = NULL;
}

/* A division is one when all of its parts are tasks. why: a sentence for who made it. */
static enum kw_status take_division(struct state *st, char why[WHY_BYTES], bool *good, struct kw_error *err)
{
	struct kw_error own;
	enum kw_status status;

	kw_error_reset(&own);
	status = kw_statements_check(&st->statements, st->of, &st->count, &own);
	if (status == KW_OK)
		status = make_tasks(st, &own);
	*good = status == KW_OK;
	if (*good)
		return KW_OK;
	release_tasks(st);
	if (status == KW_ERR_NOMEM)
		return no_memory(err);
	kw_error_line(&own, why, WHY_BYTES);
	return KW_OK;
}

static enum kw_status by_rule(struct state *st, struct kw_error *err)
{
	char why[WHY_BYTES] = "";
	bool good;
	enum kw_status status;

	kw_statements_divide(&st->statements, st->of, &st->count);
	st->divided_by = "rule";
	status = take_division(st, why, &good, err);
	if (status == KW_OK && !good)
		return kw_fail(err, KW_ERR_USAGE, "", "the task cannot be divided: %s; use another strategy", why);
	return status;
}

static enum kw_status ask_manager(struct state *st, const char *failure, const char **text, const char **model, struct kw_error *err)
{
	struct kw_search *s = st->s;
	int rule[KW_STATEMENTS_MAX];
	size_t count;
	struct kw_prompt_facts facts = { .task = s->task, .expr = s->expr, .backend = s->opts->backend,
					 .hardware = s->ports->told ? s->ports->told : s->ports->hardware, .failure = failure };
	struct kw_request r = { .role = KW_ROLE_MANAGER, .slot = failure ? "manager/again" : "manager", .facts = &facts, .temperature = -1 };
	struct kw_turn turn;
	enum kw_status status;

	*text = NULL;
	kw_statements_divide(&st->statements, rule, &count);
	facts.statements = kw_statements_text(&st->statements, s->arena);
	facts.division = kw_division_text(&st->statements, rule, count, s->arena);
	if (!facts.statements || !facts.division)
		return no_memory(err);
	status = kw_search_ask(s, &r, &turn, err);
	if (status == KW_OK && turn.asked) {
		*text = turn.text;
		*model = turn.model;
	}
	return status;
}

/* By the model; where it divides badly it is told why, once, and then the rule's division is taken. */
static enum kw_status divide(struct state *st, struct kw_error *err)
{
	struct kw_search *s = st->s;
	char why[WHY_BYTES] = "";
	bool good = false;
	enum kw_status status = KW_OK;

	for (int i = 0; s->ports->agent && i < 2 && !good && status == KW_OK; i++) {
		const char *text, *model = "";

		status = ask_manager(st, i ? why : NULL, &text, &model, err);
		if (status != KW_OK || !text)
			break;
		st->divided_by = model;
		if (!read_parts(&st->statements, text, st->of, &st->count, why))
			continue;
		status = take_division(st, why, &good, err);
	}
	if (status != KW_OK || good)
		return status;
	if (why[0])
		kw_search_reason(s, "%s divided the task in a way that cannot be used: %s; the rule's division is taken", st->divided_by, why);
	return by_rule(st, err);
}

/* ---- searching ---- */

struct watcher {
	struct state *st;
	struct part *part;
};

static void part_progress(void *arg, const struct kw_progress *p)
{
	struct watcher *w = arg;
	struct kw_search *s = w->st->s;
	struct kw_progress mine = *p;

	if (!s->opts->progress)
		return;
	mine.part = w->part->item;
	pthread_mutex_lock(&w->st->lock);
	s->opts->progress(s->opts->progress_arg, &mine);
	pthread_mutex_unlock(&w->st->lock);
}

static int64_t share(int64_t whole, double part)
{
	int64_t n = (int64_t)((double)whole * part);

	return whole <= 0 ? 0 : n > 0 ? n : 1;
}

static size_t workers(const struct state *st)
{
	const struct kw_search *s = st->s;
	size_t n = (size_t)s->ports->evaluators;

	if (n == 0)
		return 1;
	if (s->ports->agent && n < WORKERS_OF_MODELS)
		n = (size_t)kw_agent_parallel(s->ports->agent) < WORKERS_OF_MODELS ? (size_t)kw_agent_parallel(s->ports->agent)
										   : WORKERS_OF_MODELS;
	n = n < WORKERS_MAX ? n : WORKERS_MAX;
	return n < st->count ? n : st->count;
}

static int64_t tokens_left(const struct kw_search *s)
{
	const struct kw_agent_sums *spent = kw_agent_sums(s->ports->agent);

	return s->opts->agent.budget_tokens - spent->tokens_in - spent->tokens_out;
}

/* Whether the manager has left something for the parts to ask with. */
static bool can_ask(const struct kw_search *s)
{
	if (!s->ports->agent || (s->opts->agent.budget_tokens && tokens_left(s) <= 0))
		return false;
	return !(s->opts->agent.budget_usd > 0) || kw_agent_sums(s->ports->agent)->cost_usd < s->opts->agent.budget_usd;
}

/* Each part has its share from the beginning: what one leaves over is not given to those that come later, or the result would depend on
 * who was first. Time is another matter (time_for). */
static enum kw_status prepare(struct state *st, struct part *p, struct watcher *w, struct kw_error *err)
{
	struct kw_search *s = st->s;
	double each = parts_share / (double)st->count;
	bool model = can_ask(s);
	char prefix[40];

	p->opts = *s->opts;
	p->opts.strategy = model ? "refine" : "tune";
	if (!model)
		p->opts.agent.model = NULL;
	p->opts.resume_run = p->run_id;
	p->opts.parent_run = s->run_id;
	p->opts.item = p->item;
	p->opts.as_part = true;
	p->opts.from = NULL;
	p->opts.from_sha = p->opts.from_name = NULL;
	p->opts.budget.max_evaluations = (int)share(s->opts->budget.max_evaluations, each);
	if (model) {
		const struct kw_agent_sums *spent = kw_agent_sums(s->ports->agent);

		p->opts.agent.budget_tokens = share(s->opts->agent.budget_tokens ? tokens_left(s) : 0, each);
		p->opts.agent.budget_usd = s->opts->agent.budget_usd > 0 ? (s->opts->agent.budget_usd - spent->cost_usd) * each : 0;
	}
	p->opts.progress = part_progress;
	p->opts.progress_arg = w;
	*w = (struct watcher){ st, p };
	snprintf(prefix, sizeof(prefix), "%s/", p->item);
	return model && !p->over ? kw_agent_part(s->ports->agent, &p->opts.agent, prefix, &p->agent, err) : KW_OK;
}

/* The time of a part that begins now: what is left beside the room for the whole, by as many as are still to come one after the other.
 * So a judgement that took long is made up for by the parts behind it, and not by the user. */
static int64_t time_for(struct state *st, size_t i)
{
	struct kw_search *s = st->s;
	int64_t most = s->opts->budget.max_wall_ns, left;
	size_t at_once = workers(st), rows = (st->count - i + at_once - 1) / at_once;

	if (!most)
		return 0;
	left = most - kw_search_elapsed_ns(s) - kw_search_proof_room_ns(most, atomic_load(&st->dearest_ns));
	return left > (int64_t)rows ? left / (int64_t)rows : 1;
}

static void note_dearest(struct state *st, int64_t ns)
{
	int64_t so_far = atomic_load(&st->dearest_ns);

	while (ns > so_far && !atomic_compare_exchange_weak(&st->dearest_ns, &so_far, ns))
		;
}

static void search_one(struct state *st, struct part *p)
{
	struct kw_search *s = st->s;
	struct kw_part_job job = { .task = &p->task, .expr = p->expr, .opts = &p->opts, .agent = p->agent };
	struct kw_search_result r = { 0 };

	p->opts.budget.max_wall_ns = time_for(st, (size_t)(p - st->parts));
	kw_error_reset(&p->err);
	p->status = kw_store_open(kw_store_dir(s->store), false, &job.store, &p->err);
	if (p->status != KW_OK)
		return;
	p->status = s->ports->search_part(s->ports->arg, &job, &r, &p->err);
	p->run_id = r.run_id ? r.run_id : p->run_id;
	note_dearest(st, r.has_best ? r.verdict.total_ns : 0);
	kw_search_result_release(&r);
	kw_store_close(job.store);
}

static void *work(void *arg)
{
	struct state *st = arg;

	for (;;) {
		size_t i = atomic_fetch_add(&st->next, 1);

		if (i >= st->count)
			return NULL;
		if (!st->parts[i].over)
			search_one(st, &st->parts[i]);
	}
}

/* Parts of this run from before it was stopped. */
static enum kw_status find_past(struct state *st, struct kw_error *err)
{
	struct kw_search *s = st->s;
	struct kw_run_row *rows = NULL;
	size_t n = 0;
	int items = 0;
	enum kw_status status = s->opts->resume_run ? kw_store_run_items(s->store, s->run_id, s->arena, &rows, &n, err) : KW_OK;

	for (size_t i = 0; i < n && status == KW_OK; i++) {
		items += rows[i].evaluations;
		for (size_t k = 0; k < st->count; k++) {
			struct part *p = &st->parts[k];

			if (strcmp(rows[i].item, p->item) != 0 || strcmp(rows[i].task_sha, p->task.sha256) != 0)
				continue;
			p->run_id = rows[i].id;
			p->before = rows[i].evaluations;
			p->over = !kw_run_state_open(rows[i].state);
		}
	}
	/* The run's own count has its items in it, and meets only its own. */
	s->evaluations -= items;
	s->past -= items;
	return status;
}

static enum kw_status search_all(struct state *st, struct kw_error *err)
{
	struct kw_search *s = st->s;
	struct watcher *watchers = kw_arena_calloc(s->arena, st->count + 1, sizeof(*watchers));
	pthread_t threads[WORKERS_MAX];
	size_t started = 0, wanted = workers(st);
	enum kw_status status = watchers ? find_past(st, err) : no_memory(err);

	for (size_t i = 0; i < st->count && status == KW_OK; i++)
		status = prepare(st, &st->parts[i], &watchers[i], err);
	if (status != KW_OK)
		return status;
	while (wanted > 1 && started < wanted && pthread_create(&threads[started], NULL, work, st) == 0)
		started++;
	if (started == 0)
		work(st);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < st->count && status == KW_OK; i++) {
		const struct part *p = &st->parts[i];

		if (p->status == KW_ERR_INTERRUPTED) {
			s->stop = KW_RUN_INTERRUPTED;
			return KW_NO;
		}
		if (p->status != KW_OK && err)
			*err = p->err;
		status = p->status;
	}
	return status;
}

/* ---- what came of it ---- */

/* The kernel that a part's run found, from the store: the same whether it ended now or before. */
static enum kw_status load_own(struct state *st, struct part *p, struct kw_error *err)
{
	struct kw_search *s = st->s;
	struct kw_result_list list = { 0 };
	struct kw_run_row row;
	const char *source, *backend, *name;
	size_t len;
	enum kw_status status = kw_store_run_get(s->store, p->run_id, s->arena, &row, err);

	if (status != KW_OK)
		return status;
	p->state = row.state;
	p->evaluations = row.evaluations;
	p->ns = row.best_ns;
	p->speedup = row.best_speedup;
	status = s->ports->agent ? kw_agent_charge(s->ports->agent, s->store, p->run_id, err) : KW_OK;
	if (status == KW_OK)
		status = kw_store_run_result(s->store, p->run_id, s->arena, &list, err);
	if (status != KW_OK || list.count == 0 || list.entries[0].candidate_sha[0] == '\0')
		return status;
	status = kw_store_candidate_get(s->store, list.entries[0].candidate_sha, s->arena, &source, &len, &backend, &name, err);
	if (status == KW_OK)
		status = kw_candidate_from_text(&p->own, name, backend, source, len, &p->task, s->arena, err);
	if (status != KW_OK)
		return status;
	p->own.tune_values = kw_arena_calloc(s->arena, p->own.plan.tune_count + 1, sizeof(int64_t));
	return p->own.tune_values ? kw_plan_tune_parse(&p->own.plan, list.entries[0].tune, p->own.tune_values, err) : no_memory(err);
}

/* The plain kernel; source stays NULL where the language has none. */
static enum kw_status make_baseline(struct state *st, struct part *p, struct kw_error *err)
{
	struct kw_search *s = st->s;
	struct kw_error own;
	struct kw_buf text;
	const char *kept;
	enum kw_status status;

	kw_error_reset(&own);
	kw_buf_init(&text, NAIVE_MAX_BYTES);
	status = strcmp(s->opts->backend, "c") == 0
			 ? kw_expr_emit_naive_c(p->expr, true, &text, &own)
			 : kw_expr_emit_naive_gpu(p->expr, s->opts->backend, KW_NAIVE_BASELINE, &text, NULL, &own);
	kept = status == KW_OK ? kw_arena_strdup(s->arena, text.ptr ? text.ptr : "") : NULL;
	if (status == KW_OK)
		status = kept ? kw_candidate_from_text(&p->baseline, "baseline", s->opts->backend, kept, text.len, &p->task, s->arena, err)
			      : no_memory(err);
	else
		status = status == KW_ERR_NOMEM ? no_memory(err) : KW_OK;
	kw_buf_release(&text);
	return status;
}

static const char *fate(const struct part *p, struct kw_arena *a)
{
	if (p->own.source)
		return NULL;
	return kw_arena_printf(a, "no kernel of its own was right: %s", kw_run_state_text(p->state));
}

static enum kw_status collect(struct state *st, struct kw_error *err)
{
	struct kw_search *s = st->s;
	enum kw_status status = KW_OK;

	for (size_t i = 0; i < st->count && status == KW_OK; i++) {
		struct part *p = &st->parts[i];

		status = load_own(st, p, err);
		if (status == KW_OK)
			status = make_baseline(st, p, err);
		if (status != KW_OK)
			break;
		s->evaluations += p->evaluations;
		s->past += p->evaluations;
		s->met += p->evaluations;
		p->kept = p->own.source != NULL;
		p->why = fate(p, s->arena);
		if (p->why)
			kw_search_reason(s, "%s (%s) keeps the baseline's kernel: %s", p->item, p->statements, p->why);
	}
	return status;
}

static json_t *part_json(const struct part *p)
{
	json_t *j = json_pack("{s:s, s:s, s:I, s:s, s:b, s:i}", "part", p->item, "statements", p->statements, "run", (json_int_t)p->run_id,
			      "state", kw_run_state_text(p->state), "own", p->kept, "evaluations", p->evaluations);

	if (!j)
		return NULL;
	json_object_set_new(j, "kernel", json_string(p->kept ? p->own.name : "baseline"));
	if (p->own.source && p->ns > 0)
		json_object_set_new(j, "ns", kw_json_real(p->ns));
	if (p->own.source && p->speedup > 0)
		json_object_set_new(j, "speedup", kw_json_real(p->speedup));
	if (p->why)
		json_object_set_new(j, "why", json_string(p->why));
	return j;
}

static enum kw_status keep_facts(struct state *st, struct kw_error *err)
{
	json_t *list = json_array(), *all = json_object();
	enum kw_status status;

	for (size_t i = 0; list && i < st->count; i++)
		json_array_append_new(list, part_json(&st->parts[i]));
	json_object_set_new(all, "divided_by", json_string(st->divided_by));
	json_object_set_new(all, "parts", list);
	status = list && all ? kw_store_fact_put(st->s->store, st->s->run_id, "parts", all, err) : no_memory(err);
	json_decref(all);
	return status;
}

/* ---- the whole ---- */

/* The kernels that are kept, and the baseline's for the rest. *out NULL: a part has neither, *why. */
static enum kw_status put_together(struct state *st, const char *name, struct kw_candidate **out, const char **why, struct kw_error *err)
{
	struct kw_search *s = st->s;
	struct kw_compose_part *parts = kw_arena_calloc(s->arena, st->count + 1, sizeof(*parts));
	struct kw_error own;
	const char *source;
	enum kw_status status;

	*out = NULL;
	*why = NULL;
	for (size_t i = 0; parts && i < st->count; i++) {
		const struct part *p = &st->parts[i];

		parts[i] = (struct kw_compose_part){ &p->task, p->kept ? &p->own : &p->baseline };
		if (!parts[i].candidate->source) {
			*why = kw_arena_printf(s->arena, "%s has no kernel, and there is no plain one in this language", p->item);
			return *why ? KW_OK : no_memory(err);
		}
	}
	if (!parts)
		return no_memory(err);
	kw_error_reset(&own);
	status = kw_compose(s->task, parts, st->count, s->arena, &source, &own);
	if (status == KW_OK) {
		*out = kw_arena_calloc(s->arena, 1, sizeof(**out));
		status = *out ? kw_candidate_from_text(*out, name, s->opts->backend, source, strlen(source), s->task, s->arena, &own) : KW_ERR_NOMEM;
	}
	if (status == KW_ERR_NOMEM)
		return no_memory(err);
	if (status == KW_OK) {
		(*out)->origin = "parts";
		return KW_OK;
	}
	*out = NULL;
	own.text[strcspn(own.text, "\n")] = '\0';
	*why = kw_arena_printf(s->arena, "the kernels cannot be put together: %s", own.text);
	return *why ? KW_OK : no_memory(err);
}

static enum kw_status begin(struct kw_search *s, void **state, struct kw_error *err)
{
	struct state *st = kw_arena_calloc(s->arena, 1, sizeof(*st));
	enum kw_status status;

	if (!st)
		return no_memory(err);
	*state = st;
	st->s = s;
	pthread_mutex_init(&st->lock, NULL);
	if (s->opts->from)
		return kw_fail(err, KW_ERR_USAGE, "", "strategy parts starts at the task's own operations, not at a kernel; use refine");
	status = kw_expr_statements(s->task, s->arena, &st->statements, err);
	if (status == KW_NO)
		return kw_fail(err, KW_ERR_USAGE, "", "%s; use another strategy", err ? err->text : "it cannot be divided");
	if (status == KW_OK)
		status = divide(st, err);
	if (status == KW_OK)
		status = search_all(st, err);
	if (status == KW_OK)
		status = collect(st, err);
	if (status == KW_OK)
		status = keep_facts(st, err);
	/* The last judgements of the parts may have gone beyond their time; the whole is judged all the same. */
	s->owed = true;
	return status;
}

/* A step without its candidate says why there is none. */
static enum kw_status make_step(struct state *st, const char *name, const char *what, struct kw_step *step, struct kw_error *err)
{
	struct kw_candidate *c;
	const char *why;
	enum kw_status status = put_together(st, name, &c, &why, err);

	if (status != KW_OK)
		return status;
	*step = (struct kw_step){ .what = c ? what : why, .idle = !c };
	if (c)
		step->candidate = *c;
	else
		kw_search_reason(st->s, "%s", why);
	return what ? KW_OK : no_memory(err);
}

/* All at once. Where that is refused: the plain kernels, and each part's own by itself into what is right so far. */
static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;
	size_t own = 0;

	*more = true;
	for (size_t i = 0; i < st->count; i++)
		own += st->parts[i].own.source != NULL;
	if (st->step == 0) {
		enum kw_status status = make_step(st, "parts", kw_arena_printf(s->arena, "%zu parts put together, %zu with kernels of their own",
									       st->count, own), step, err);

		step->final = true;
		return status;
	}
	*more = st->built_up && own > 0 && (st->step == 1 || st->plain_right);
	if (!*more)
		return KW_OK;
	if (st->step == 1)
		return make_step(st, "parts-plain", "the baseline's kernels alone", step, err);
	while (st->step - 2 < st->count && !st->parts[st->step - 2].own.source)
		st->step++;
	*more = st->step - 2 < st->count;
	if (!*more)
		return KW_OK;
	st->parts[st->step - 2].kept = true;
	st->parts[st->step - 2].why = NULL;
	return make_step(st, kw_arena_printf(s->arena, "parts-%zu", st->step - 1),
			 kw_arena_printf(s->arena, "what is right so far, with the kernel of %s", st->parts[st->step - 2].item), step, err);
}

static void keep_plain(struct state *st, struct part *p, const char *why)
{
	p->kept = false;
	p->why = why;
	kw_search_reason(st->s, "%s (%s) keeps the baseline's kernel: %s", p->item, p->statements, why);
}

static void told(struct kw_search *s, void *state, const struct kw_step *step, const struct kw_ranked *best)
{
	struct state *st = state;
	struct kw_error err;

	(void)step;
	s->owed = !best && st->step == 0;
	if (!best && st->step == 0) {
		st->built_up = true;
		for (size_t i = 0; i < st->count; i++) {
			struct part *p = &st->parts[i];

			p->kept = false;
			p->why = p->why ? p->why : "the whole was refused with the kernels of all parts, and more was not tried";
		}
	} else if (st->step == 1) {
		st->plain_right = best != NULL;
		for (size_t i = 0; !best && i < st->count; i++)
			if (st->parts[i].own.source)
				keep_plain(st, &st->parts[i], "not even the plain kernels together are right");
	} else if (!best && st->step > 1) {
		keep_plain(st, &st->parts[st->step - 2], "it is right by itself, and the whole is not with it");
	}
	st->step++;
	kw_error_reset(&err);
	if (keep_facts(st, &err) != KW_OK)
		kw_search_reason(s, "what became of the parts is not in the store: %s", err.text);
}

static void end(void *state)
{
	struct state *st = state;

	if (!st)
		return;
	release_tasks(st);
	pthread_mutex_destroy(&st->lock);
}

static int left(const struct kw_search *s, const void *state)
{
	const struct state *st = state;

	(void)s;
	return st->built_up && st->count + 2 > st->step ? (int)(st->count + 2 - st->step) : 0;
}

const struct kw_strategy kw_strategy_parts = {
	.name = "parts",
	.title = "a task of several operations: each part searched by itself, then put together",
	.begin = begin,
	.next = next,
	.told = told,
	.end = end,
	.left = left,
	.patience = PARTS_MAX,
	.rounds_are_of_parts = true,
};
