#include "agent/agent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent_inside.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "model/replay.h"

/* ---- one call ---- */

struct call {
	const struct kw_request *r;
	const char *slot, *prompt, *left_out;
	struct kw_ask ask;
	struct kw_model *model;
	struct kw_answer answer;
	bool has_answer, wanted, done;
	bool recalled, unread;                       /* from the store; unread: nobody had made anything of it */
	bool cut;                                    /* not sent: by a budget or the rule of three, behind others of its batch */
	bool over;                                   /* cut since the run was over */
	bool late;                                   /* the run's time was over before its answer came */
	bool useless;                                /* as far as its text says; a kernel that was judged before is found later */
	struct kw_model_call row;                    /* with has_answer */
	enum kw_status status;
	struct kw_error err;
};

static bool makes_code(enum kw_role r)
{
	return r == KW_ROLE_CODER || r == KW_ROLE_DEBUGGER;
}

static bool is_over(const struct kw_agent *g)
{
	int64_t until = atomic_load(&g->until_ns);

	return until && kw_now_ns() >= until;
}

static bool spent(struct kw_agent *g)
{
	if (g->opts.budget_tokens && g->sums.tokens_in + g->sums.tokens_out >= g->opts.budget_tokens)
		g->stop = KW_RUN_TOKENS;
	else if (g->opts.budget_usd > 0 && g->sums.cost_usd >= g->opts.budget_usd)
		g->stop = KW_RUN_MONEY;
	else if (g->useless_in_a_row >= KW_USELESS_MAX)
		g->stop = KW_RUN_USELESS;
	else if (kw_interrupted())
		g->stop = KW_RUN_INTERRUPTED;
	else if (is_over(g))
		g->stop = KW_RUN_BUDGET;
	else
		return false;
	return true;
}

/* The text of a candidate in an answer. */
static void read_kernel(const struct call *c, struct kw_arena *a, struct kw_reply *r)
{
	const struct kw_prompt_facts *f = c->r->facts;
	const char *failed = f->failed_source, *parent = failed ? failed : f->parent ? f->parent->source : NULL;
	struct kw_reply_want want = { .marker = kw_prompt_marker(f->backend), .parent = parent,
				      .language = kw_prompt_language(f->backend) };

	kw_reply_read(&want, c->answer.text, strlen(c->answer.text), c->answer.finish, a, r);
	/* Some servers put the whole answer into the reasoning field; it counts if it is a kernel. */
	if (makes_code(c->r->role) && r->kind == KW_REPLY_EMPTY && c->answer.finish == KW_FINISH_STOP && c->answer.reasoning[0]) {
		kw_reply_read(&want, c->answer.reasoning, strlen(c->answer.reasoning), c->answer.finish, a, r);
		if (r->kind != KW_REPLY_SOURCE) {
			r->kind = KW_REPLY_THINKING;
			snprintf(r->why, sizeof(r->why), "the answer is empty, there is only reasoning; write the kernel");
		}
	}
}

/* Whether there is no kernel in it. Any thread. */
static bool says_nothing(const struct call *c)
{
	struct kw_reply reply;
	struct kw_arena scratch;

	if (!makes_code(c->r->role) || c->answer.finish == KW_FINISH_CUT) /* which is not its fault */
		return false;
	kw_arena_init(&scratch, scratch_bytes);
	read_kernel(c, &scratch, &reply);
	kw_arena_release(&scratch);
	return reply.kind != KW_REPLY_SOURCE;
}

static void fill_row(const struct kw_agent *g, struct call *c)
{
	const struct kw_price *price = kw_price_of_call(&g->prices, c->model, c->answer.model);

	c->row = (struct kw_model_call){
		.provider = kw_model_provider(c->model), .model = c->answer.model, .role = c->ask.role, .slot = c->slot,
		.tokens_in = c->answer.tokens_in, .tokens_out = c->answer.tokens_out, .latency_ns = c->answer.latency_ns,
		.cost_usd = kw_price_cost(price, c->answer.tokens_in, c->answer.tokens_out), .outcome = unread,
		.finish = kw_finish_name(c->answer.finish), .note = c->answer.note, .round = c->r->round,
		.attempts = c->answer.attempts, .counted = c->answer.counted, .priced = price != NULL, .left_out = c->left_out,
	};
}

static void count(struct kw_agent *g, const struct kw_model_call *c)
{
	g->sums.calls++;
	g->sums.tokens_in += c->tokens_in;
	g->sums.tokens_out += c->tokens_out;
	g->sums.cost_usd += c->cost_usd;
	g->sums.unpriced = g->sums.unpriced || !c->priced;
	g->sums.estimated = g->sums.estimated || !c->counted;
}

enum kw_status kw_agent_charge(struct kw_agent *g, struct kw_store *store, int64_t run_id, struct kw_error *err)
{
	struct kw_model_call *calls = NULL;
	struct kw_arena scratch;
	size_t n = 0;
	enum kw_status status;

	kw_arena_init(&scratch, 64 << 20);
	status = kw_store_model_call_list(store, run_id, &scratch, &calls, &n, err);
	for (size_t i = 0; status == KW_OK && i < n; i++)
		count(g, &calls[i]);
	kw_arena_release(&scratch);
	return status;
}

/* The answer that this slot had before the run was stopped. */
static enum kw_status recall(struct kw_agent *g, struct call *c, struct kw_arena *a, struct kw_error *err)
{
	const struct kw_model_call *was = &c->row;
	struct kw_call_texts texts;
	bool found = false;
	enum kw_status status;

	if (!g->store)
		return KW_OK;
	status = kw_store_model_call_find(g->store, g->run_id, c->slot, a, &c->row, &texts, &found, err);
	if (status != KW_OK || !found)
		return status;
	c->answer = (struct kw_answer){ .text = texts.answer, .reasoning = texts.reasoning, .model = was->model, .note = was->note,
					.tokens_in = was->tokens_in, .tokens_out = was->tokens_out, .latency_ns = was->latency_ns };
	kw_arena_init(&c->answer.arena, 4096);
	kw_finish_parse(was->finish, &c->answer.finish);
	c->unread = strcmp(was->outcome, unread) == 0;
	c->has_answer = c->recalled = true;
	c->useless = says_nothing(c);
	g->sums.recalled++;
	return c->unread && g->opts.record ? kw_store_text_get(g->store, was->prompt_sha, a, &c->ask.prompt, err) : KW_OK;
}

/* An answer is in the store as soon as it is here, whatever is judged meanwhile: it is paid. Any thread, with a handle of its own. */
static enum kw_status put_arrived(const struct kw_agent *g, struct kw_store *store, const struct call *c, struct kw_error *err)
{
	return kw_store_model_call_put(store, g->run_id, &c->row, &(struct kw_call_texts){ c->prompt, c->answer.text, c->answer.reasoning }, err);
}

static size_t prompt_limit(const struct kw_agent *g)
{
	return g->opts.prompt_bytes ? g->opts.prompt_bytes : KW_PROMPT_DEFAULT_BYTES;
}

/* The parts that were dropped, "pattern row_split, device". */
static const char *left_out(const struct kw_prompt *p, struct kw_arena *a)
{
	struct kw_buf b;
	const char *out;

	kw_buf_init(&b, 1 << 16);
	for (size_t i = 0; i < p->dropped_count; i++)
		kw_buf_printf(&b, "%s%s", i ? ", " : "", p->dropped[i]);
	out = kw_arena_strndup(a, b.ptr ? b.ptr : "", b.len);
	kw_buf_release(&b);
	return out;
}

/* What is sent. again: why the last answer was of no use. */
static enum kw_status make_prompt(const struct kw_request *r, const char *again, size_t limit, struct kw_arena *a, struct call *c,
				  struct kw_error *err)
{
	struct kw_arena parts;
	struct kw_prompt p;
	enum kw_status status;

	/* What a prompt is made of is many times its text, and there may be many prompts at once. */
	kw_arena_init(&parts, scratch_bytes);
	status = kw_prompt_make(r->role, r->facts, limit, &parts, &p, err);
	if (status == KW_ERR_LIMIT && again) /* what must be told is all that can be tried */
		status = kw_prompt_make(r->role, r->facts, p.len, &parts, &p, err);
	if (status == KW_OK) {
		c->left_out = left_out(&p, a);
		c->prompt = again ? kw_arena_printf(a, "%s\n## Your last answer could not be used\n%s\n", p.text, again)
				  : kw_arena_strdup(a, p.text);
		if (!c->prompt || !c->left_out)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
	}
	kw_arena_release(&parts);
	return status;
}

/* Everything up to the call: recalled, or a prompt that may be paid for. before: the call before it, which may have the same prompt; or NULL. */
static enum kw_status prepare(struct kw_agent *g, const struct kw_request *r, const char *again, size_t limit, struct kw_arena *a,
			      const struct call *before, struct call *c, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	*c = (struct call){ .r = r, .model = g->models[r->role], .left_out = "" };
	c->slot = kw_arena_printf(a, "%s%s%s", g->prefix, r->slot, again ? "/again" : "");
	if (!c->slot)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a call");
	c->ask = (struct kw_ask){ .role = kw_role_name(r->role), .slot = c->slot, .run = g->mark, .once = g->mark[0] != 0, .index = g->asked[r->role]++,
				  .max_tokens = g->opts.max_tokens, .until_ns = &g->until_ns,
				  .temperature = g->opts.has_role_temperature[r->role] ? g->opts.role_temperature[r->role] :
						 r->temperature >= 0 ? r->temperature : g->opts.temperature };
	status = recall(g, c, a, err);
	if (status != KW_OK || c->has_answer || spent(g))
		return status;
	if (before && before->prompt && before->r->facts == r->facts && before->r->role == r->role) {
		c->prompt = before->prompt;
		c->left_out = before->left_out;
	} else {
		status = make_prompt(r, again, limit, a, c, err);
	}
	if (status != KW_OK)
		return status;
	c->ask.prompt = c->prompt;
	c->wanted = true;
	return KW_OK;
}

struct kw_pending {
	struct kw_agent *g;
	struct kw_arena scratch;                     /* prompts are large, and nobody needs them afterwards */
	const struct kw_request *requests;
	struct call *calls;
	size_t count, settled;
	int64_t tokens_before;                       /* what was spent before the first of them is sent */
	double usd_before;
	_Atomic size_t next;
	pthread_t threads[KW_PARALLEL_MAX];
	size_t started;
	pthread_mutex_t lock;
	pthread_cond_t answered;
};

/* What a call that is still under way costs at least: its prompt. Of one that was answered before a resume, what it did cost. */
static void add_under_way(const struct kw_pending *p, const struct call *c, int64_t *tokens, double *usd)
{
	int64_t in = c->wanted && c->prompt ? kw_tokens_estimate(strlen(c->prompt)) : 0;

	if (c->recalled) {
		*tokens += c->row.tokens_in + c->row.tokens_out;
		*usd += c->row.cost_usd;
		return;
	}
	*tokens += in;
	*usd += kw_price_cost(kw_price_of_model(&p->g->prices, c->model), in, 0);
}

/* The rules that end a run hold within a batch too: the i-th is sent when all but the last few before it have told what they cost and whether
 * they are of use; of those few the prompts count. Which are sent does not depend on who answers first. */
static bool may_send(struct kw_pending *p, size_t i)
{
	const struct kw_agent_opts *o = &p->g->opts;
	size_t ahead = (size_t)kw_agent_parallel(p->g);
	int64_t tokens = p->tokens_before;
	double usd = p->usd_before;
	int useless = 0;

	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; k + ahead <= i; k++) {
		const struct call *c = &p->calls[k];

		while (c->wanted && !c->done)
			pthread_cond_wait(&p->answered, &p->lock);
		tokens += c->has_answer ? c->row.tokens_in + c->row.tokens_out : 0;
		usd += c->has_answer ? c->row.cost_usd : 0;
		useless = c->useless ? useless + 1 : c->has_answer ? 0 : useless;
	}
	pthread_mutex_unlock(&p->lock);
	for (size_t k = i + 1 > ahead ? i + 1 - ahead : 0; k < i; k++)
		add_under_way(p, &p->calls[k], &tokens, &usd);
	return useless < KW_USELESS_MAX && (!o->budget_tokens || tokens < o->budget_tokens) && (o->budget_usd <= 0 || usd < o->budget_usd);
}

static void finish(struct kw_pending *p, struct call *c, enum kw_status status)
{
	pthread_mutex_lock(&p->lock);
	c->status = status;
	c->has_answer = status == KW_OK;
	c->done = true;
	pthread_cond_broadcast(&p->answered);
	pthread_mutex_unlock(&p->lock);
}

static void call_model(struct kw_pending *p, struct kw_store *store, struct call *c)
{
	enum kw_status status;

	kw_error_reset(&c->err);
	status = kw_model_ask(c->model, &c->ask, &c->answer, &c->err);
	if (status == KW_OK) {
		fill_row(p->g, c);
		c->useless = says_nothing(c);
		status = store ? put_arrived(p->g, store, c, &c->err) : KW_OK;
	}
	if (status != KW_OK)
		kw_answer_release(&c->answer);
	c->late = status == KW_NO && kw_ask_over(&c->ask);
	finish(p, c, status);
}

static void call_all(struct kw_pending *p, struct kw_store *store)
{
	size_t i;

	while ((i = atomic_fetch_add(&p->next, 1)) < p->count) {
		struct call *c = &p->calls[i];

		if (!c->wanted)
			continue;
		c->cut = !may_send(p, i);
		c->over = !c->cut && is_over(p->g);
		c->cut = c->cut || c->over;
		if (c->cut)
			finish(p, c, KW_NO);
		else
			call_model(p, store, c);
	}
}

/* Nothing is paid that could not be kept. */
static void refuse_all(struct kw_pending *p, const struct kw_error *err)
{
	size_t i;

	while ((i = atomic_fetch_add(&p->next, 1)) < p->count) {
		p->calls[i].err = *err;
		if (p->calls[i].wanted)
			finish(p, &p->calls[i], err->status);
	}
}

/* A thread beside the one that owns the agent and its store. */
static void *work(void *arg)
{
	struct kw_pending *p = arg;
	struct kw_store *store = NULL;
	struct kw_error err;

	kw_error_reset(&err);
	if (!p->g->store || kw_store_open(kw_store_dir(p->g->store), false, &store, &err) == KW_OK) {
		call_all(p, store);
		kw_store_close(store);
		return NULL;
	}
	refuse_all(p, &err);
	return NULL;
}

static void join_all(struct kw_pending *p)
{
	for (size_t i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	p->started = 0;
}

/* Sends all that are wanted, so many at once. A batch of one, and what works here, is waited for. */
static void send_all(struct kw_agent *g, struct kw_pending *p)
{
	size_t most = (size_t)kw_agent_parallel(g), wanted = 0;
	const char *role = "";
	int64_t start = kw_now_ns();
	bool local = false;

	for (size_t i = 0; i < p->count; i++)
		if (p->calls[i].wanted) {
			role = p->calls[i].ask.role;
			local = local || kw_model_local(p->calls[i].model);
			wanted++;
		}
	if (!wanted)
		return;
	if (g->watch)
		g->watch(g->watch_arg, role, true);
	most = most < wanted ? most : wanted;
	while (p->count > 1 && p->started < most && pthread_create(&p->threads[p->started], NULL, work, p) == 0)
		p->started++;
	if (p->started == 0)
		call_all(p, g->store);
	else if (local)
		join_all(p);
	g->waited_ns += kw_now_ns() - start;
}

static void wait_for(struct kw_pending *p, const struct call *c)
{
	int64_t start = kw_now_ns();

	pthread_mutex_lock(&p->lock);
	while (c->wanted && !c->done)
		pthread_cond_wait(&p->answered, &p->lock);
	pthread_mutex_unlock(&p->lock);
	p->g->waited_ns += kw_now_ns() - start;
}

/* ---- what came of it ---- */

/* Into turn->reply; of a role that writes code also the candidate. */
static enum kw_status read_turn(struct kw_agent *g, struct call *c, struct kw_arena *a, struct kw_turn *turn, struct kw_error *err)
{
	const struct kw_prompt_facts *f = c->r->facts;
	struct kw_reply *r = &turn->reply;
	struct kw_error why;
	bool open;
	struct kw_str said = kw_reply_without_thinking(kw_str_from(c->answer.text), &open);
	char name[64];

	turn->asked = true;
	turn->left_out = kw_arena_strdup(a, c->row.left_out);
	turn->model = kw_arena_strdup(a, c->answer.model);
	turn->text = kw_arena_str(a, kw_str_trim(said));
	if (!turn->model || !turn->text || !turn->left_out)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an answer");
	read_kernel(c, a, r);
	if (!makes_code(c->r->role)) {
		/* Prose: what a model says is what it says. */
		bool said_it = turn->text[0] && !open && c->answer.finish == KW_FINISH_STOP;

		if (said_it)
			r->kind = KW_REPLY_SOURCE;
		return KW_OK;
	}
	if (r->kind != KW_REPLY_SOURCE)
		return KW_OK;
	snprintf(name, sizeof(name), "%.50s", c->r->slot);
	for (char *p = name; *p; p++)
		*p = *p == '/' ? '-' : *p;
	kw_error_reset(&why);
	if (kw_candidate_from_text(&turn->candidate, name, f->backend, r->source, r->len, f->task, a, &why) != KW_OK) {
		if (why.status == KW_ERR_NOMEM)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a candidate");
		r->kind = KW_REPLY_BAD_PLAN;
		kw_error_line(&why, r->why, sizeof(r->why));
		return KW_OK;
	}
	turn->candidate.origin = kw_arena_printf(a, "model:%s%s%s%s", turn->model, c->answer.note[0] ? " (" : "", c->answer.note,
						 c->answer.note[0] ? ")" : "");
	if (kw_agent_knows(g, turn->candidate.sha256)) {
		r->kind = KW_REPLY_SAME;
		snprintf(r->why, sizeof(r->why), "this very kernel was judged before; write another one");
	}
	return turn->candidate.origin ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a candidate");
}

/* What was made of it, once. */
static enum kw_status keep(struct kw_agent *g, const struct call *c, const struct kw_turn *turn, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	if (g->opts.record)
		status = kw_record_add(g->opts.record, &c->ask, &c->answer, err);
	if (status == KW_OK && g->store)
		status = kw_store_model_call_settle(g->store, g->run_id, c->slot, kw_reply_name(turn->reply.kind), err);
	return status;
}

/* Of one call, in the order of the requests. */
static enum kw_status settle(struct kw_agent *g, struct call *c, struct kw_arena *a, struct kw_turn *turn, struct kw_error *err)
{
	enum kw_status status;

	*turn = (struct kw_turn){ .text = "", .model = "", .left_out = "" };
	if (!c->has_answer) {
		if (c->wanted && c->status != KW_NO) {
			if (err)
				*err = c->err;
			return c->status;
		}
		if (c->cut)
			spent(g);
		if (!c->late)
			return KW_OK;
		g->stop = KW_RUN_BUDGET;
		turn->late = kw_arena_printf(a, "%s of %s", c->slot, kw_model_spec(c->model));
		return turn->late ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an answer");
	}
	count(g, &c->row);
	status = read_turn(g, c, a, turn, err);
	if (status == KW_OK && (!c->recalled || c->unread))
		status = keep(g, c, turn, err);
	if (status == KW_OK && makes_code(c->r->role) && c->answer.finish != KW_FINISH_CUT) {
		bool useful = turn->reply.kind == KW_REPLY_SOURCE;

		g->useless_in_a_row = useful ? 0 : g->useless_in_a_row + 1;
		g->sums.useless += !useful;
		if (useful)
			status = kw_agent_know(g, turn->candidate.sha256, err);
	}
	return status;
}

/* Where asking once more may help. */
static bool ask_again(const struct kw_turn *t, enum kw_role role)
{
	return t->asked && makes_code(role) && t->reply.kind != KW_REPLY_SOURCE && t->reply.kind != KW_REPLY_SAME;
}

static void release_pending(struct kw_pending *p)
{
	join_all(p);
	for (size_t i = 0; i < p->count; i++)
		if (p->calls[i].has_answer)
			kw_answer_release(&p->calls[i].answer);
	pthread_cond_destroy(&p->answered);
	pthread_mutex_destroy(&p->lock);
	kw_arena_release(&p->scratch);
	kw_free(p->calls);
	kw_free(p);
}

static enum kw_status new_pending(struct kw_agent *g, const struct kw_request *requests, size_t count_, struct kw_pending **out, struct kw_error *err)
{
	struct kw_pending *p = kw_calloc(1, sizeof(*p));

	*out = NULL;
	if (p)
		p->calls = kw_calloc(count_ + 1, sizeof(*p->calls));
	if (!p || !p->calls) {
		kw_free(p);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for %zu calls", count_);
	}
	kw_arena_init(&p->scratch, scratch_bytes);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->answered, NULL);
	p->g = g;
	p->tokens_before = g->sums.tokens_in + g->sums.tokens_out;
	p->usd_before = g->sums.cost_usd;
	p->requests = requests;
	p->count = count_;
	*out = p;
	return KW_OK;
}

/* How long the prompt of a call was; one from before a resume is in the store. */
static enum kw_status prompt_bytes(const struct kw_agent *g, const struct call *c, struct kw_arena *a, size_t *out, struct kw_error *err)
{
	const char *text = c->prompt;
	enum kw_status status = text ? KW_OK : kw_store_text_get(g->store, c->row.prompt_sha, a, &text, err);

	*out = status == KW_OK ? strlen(text) : 0;
	return status;
}

/* One more call where the first was of no use; a context that is too small gets half the prompt. */
static enum kw_status second_chance(struct kw_agent *g, const struct call *first, struct kw_arena *a, struct kw_turn *turn, struct kw_error *err)
{
	const struct kw_request *r = first->r;
	size_t limit = prompt_limit(g);
	struct kw_pending *p;
	struct kw_turn next;
	enum kw_status status;

	if (!ask_again(turn, r->role))
		return KW_OK;
	status = new_pending(g, r, 1, &p, err);
	if (status != KW_OK)
		return status;
	if (turn->reply.kind == KW_REPLY_TOO_LONG) {
		status = prompt_bytes(g, first, &p->scratch, &limit, err);
		limit /= SHORTER;
	}
	if (status == KW_OK)
		status = prepare(g, r, turn->reply.why, limit, &p->scratch, NULL, &p->calls[0], err);
	if (status == KW_OK) {
		send_all(g, p);
		wait_for(p, &p->calls[0]);
		status = settle(g, &p->calls[0], a, &next, err);
		if (status == KW_OK && next.asked)
			*turn = next;
		turn->late = status == KW_OK ? next.late : NULL;
	}
	release_pending(p);
	return status;
}

enum kw_status kw_agent_begin(struct kw_agent *g, const struct kw_request *requests, size_t count_, struct kw_pending **out,
			      struct kw_error *err)
{
	struct kw_pending *p;
	enum kw_status status = new_pending(g, requests, count_, &p, err);

	*out = NULL;
	if (status != KW_OK)
		return status;
	for (size_t i = 0; i < count_ && status == KW_OK; i++)
		status = prepare(g, &requests[i], NULL, prompt_limit(g), &p->scratch, i ? &p->calls[i - 1] : NULL,
				 &p->calls[i], err);
	if (status != KW_OK) {
		release_pending(p);
		return status;
	}
	send_all(g, p);
	*out = p;
	return KW_OK;
}

bool kw_agent_peek(struct kw_agent *g, struct kw_pending *p, size_t i, struct kw_arena *a, struct kw_candidate *out)
{
	struct kw_turn turn = { .text = "" };
	bool there;

	pthread_mutex_lock(&p->lock);
	there = p->calls[i].has_answer;
	pthread_mutex_unlock(&p->lock);
	if (!there || read_turn(g, &p->calls[i], a, &turn, NULL) != KW_OK || turn.reply.kind != KW_REPLY_SOURCE)
		return false;
	*out = turn.candidate;
	return true;
}

enum kw_status kw_agent_take(struct kw_agent *g, struct kw_pending *p, size_t i, struct kw_arena *a, struct kw_turn *turn,
			     struct kw_error *err)
{
	enum kw_status status;

	if (g->watch && p->calls[i].wanted)
		g->watch(g->watch_arg, p->calls[i].ask.role, true);
	wait_for(p, &p->calls[i]);
	p->settled = i + 1;
	status = settle(g, &p->calls[i], a, turn, err);
	if (status == KW_OK)
		status = second_chance(g, &p->calls[i], a, turn, err);
	if (g->watch)
		g->watch(g->watch_arg, "", false);
	if (status == KW_ERR_INTERRUPTED) {
		g->stop = KW_RUN_INTERRUPTED;
		return KW_NO;
	}
	return status;
}

/* Ends the calls that nobody waits for, as the end of the run's time does. */
static void close_calls(struct kw_pending *p)
{
	int64_t until = atomic_load(&p->g->until_ns);

	atomic_store(&p->g->until_ns, kw_now_ns());
	join_all(p);
	atomic_store(&p->g->until_ns, until);
}

/* What was answered is kept even if nobody takes it: it is paid. */
enum kw_status kw_agent_end(struct kw_agent *g, struct kw_pending *p, bool over, size_t *closed, struct kw_error *err)
{
	enum kw_status status = KW_OK;
	size_t unanswered = 0;

	if (closed)
		*closed = 0;
	if (!p)
		return KW_OK;
	if (p->settled < p->count && (over || kw_model_lasts(p->calls[p->settled].model)))
		close_calls(p);
	else
		join_all(p);
	for (size_t i = p->settled; i < p->count; i++)
		unanswered += p->calls[i].wanted && !p->calls[i].has_answer && (!p->calls[i].cut || p->calls[i].over);
	if (closed)
		*closed = unanswered;
	for (size_t i = p->settled; i < p->count; i++) {
		struct kw_turn ignored;
		struct kw_error own;
		enum kw_status one = p->calls[i].has_answer ? settle(g, &p->calls[i], &p->scratch, &ignored, status == KW_OK ? err : &own)
							    : KW_OK;

		status = status == KW_OK ? one : status;
	}
	release_pending(p);
	return status;
}

enum kw_status kw_agent_ask(struct kw_agent *g, const struct kw_request *requests, size_t count_, struct kw_arena *a,
			    struct kw_turn *turns, struct kw_error *err)
{
	struct kw_pending *p;
	struct kw_error own;
	bool any = false;
	enum kw_status status = kw_agent_begin(g, requests, count_, &p, err), ended;

	for (size_t i = 0; i < count_ && status == KW_OK; i++) {
		status = kw_agent_take(g, p, i, a, &turns[i], err);
		any = any || turns[i].asked;
	}
	ended = kw_agent_end(g, p, false, NULL, status == KW_OK ? err : &own);
	status = status == KW_OK ? ended : status;
	return status == KW_OK && !any ? KW_NO : status;
}

void kw_agent_until(struct kw_agent *g, int64_t until_ns)
{
	atomic_store(&g->until_ns, until_ns);
}

enum kw_run_state kw_agent_stop(const struct kw_agent *g)
{
	return g->useless_in_a_row >= KW_USELESS_MAX ? KW_RUN_USELESS : g->stop;
}

const struct kw_agent_sums *kw_agent_sums(const struct kw_agent *g)
{
	return &g->sums;
}

int64_t kw_agent_waited_ns(const struct kw_agent *g)
{
	return g->waited_ns;
}

const char *kw_agent_model(const struct kw_agent *g)
{
	return kw_model_spec(g->models[KW_ROLE_CODER]);
}

void kw_agent_watch(struct kw_agent *g, void (*fn)(void *arg, const char *role, bool waiting), void *arg)
{
	g->watch = fn;
	g->watch_arg = arg;
}

bool kw_agent_reviews(const struct kw_agent *g)
{
	return g->opts.review;
}

int kw_agent_parallel(const struct kw_agent *g)
{
	int n = g->opts.parallel ? g->opts.parallel : PARALLEL_DEFAULT;

	return n < 1 ? 1 : n < KW_PARALLEL_MAX ? n : KW_PARALLEL_MAX;
}
