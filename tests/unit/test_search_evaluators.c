/* Several evaluators: real ones on this machine's cores, and the tuner's wishes to several. */
#include "tap.h"
#include "search_world.h"

#include "search/evaluators.h"

static struct kw_error err;

/* ---- the tuner, with a machine that ends in any order ---- */

struct many {
	struct world w;
	const struct kw_candidate *begun[256];
	struct kw_candidate copies[256];
	int64_t values[256][8];
	struct kw_verdict verdicts[256];
	bool there[256];
	int at_case[256];
	size_t count;
	int ahead, from_ahead;
	unsigned order;
};

/* Judges them in an order of its own. */
static void judge_ahead(void *arg, const struct kw_candidate *const *list, size_t count, const struct kw_judge_opts *o)
{
	struct many *m = arg;
	size_t turn = m->order % count;

	for (size_t i = 0; i < m->count; i++)
		if (m->there[i])
			kw_verdict_release(&m->verdicts[i]);
	m->count = count;
	for (size_t k = 0; k < count; k++) {
		size_t i = (turn + (m->order & 1 ? count - k : k)) % count;

		m->copies[i] = *list[i];
		if (list[i]->tune_values) {
			memcpy(m->values[i], list[i]->tune_values, list[i]->plan.tune_count * sizeof(int64_t));
			m->copies[i].tune_values = m->values[i];
		}
		kw_verdict_init(&m->verdicts[i]);
		world_evaluate(&m->w, &m->copies[i], o, &m->verdicts[i], NULL);
		m->there[i] = true;
		m->at_case[i] = o->only_case;
		m->ahead++;
	}
}

static enum kw_status evaluate(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v,
			       struct kw_error *e)
{
	struct many *m = arg;

	for (size_t i = 0; i < m->count; i++)
		if (m->there[i] && o->effort == KW_EFFORT_SCREEN && m->at_case[i] == o->only_case && strcmp(m->copies[i].sha256, c->sha256) == 0 &&
		    memcmp(m->values[i], c->tune_values, c->plan.tune_count * sizeof(int64_t)) == 0) {
			kw_verdict_release(v);
			*v = m->verdicts[i];
			m->there[i] = false;
			m->from_ahead++;
			return KW_OK;
		}
	return world_evaluate(&m->w, c, o, v, e);
}

static const char *tuned(unsigned order, int evaluators, const char *cases, struct kw_arena *a, int *ahead)
{
	struct many *m = kw_calloc(1, sizeof(*m));
	struct kw_store *store = NULL;
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "tune" };
	struct kw_search_ports ports;
	struct kw_search_result r;
	struct kw_verdict_row *rows;
	const char *out = "";
	size_t n = 0;

	world_init_cases(&m->w, "", cases);
	world_add(&m->w, "slow", "//! ns 4000\n//! ns@2 300\n//@ tune STEP in {1, 2, 4, 8, 16, 32, 64, 128} default 1\n//! per STEP 16 100\n//! fails STEP 64");
	world_add(&m->w, "fast", "//! ns 900\n//@ tune STEP in {1, 2, 4, 8, 16, 32, 64, 128} default 1\n//! per STEP 32 50\n//! wrong STEP 8");
	m->order = order;
	ports = m->w.ports;
	ports.arg = m;
	ports.evaluate = evaluate;
	ports.propose = NULL;
	ports.judge_ahead = judge_ahead;
	ports.evaluators = evaluators;
	ports.propose = world_propose;
	o.judge.seed = 5;
	kw_store_open(temp_file(kw_arena_printf(a, "tuned%u-%d-%zu.db", order, evaluators, m->w.task.perf_count)), false, &store, &err);
	is_int(kw_search_run_with(&ports, &m->w.task, NULL, &o, store, NULL, &r, &err), KW_OK, "tuned, order %u", order);
	kw_store_verdict_list(store, r.run_id, a, &rows, &n, &err);
	for (size_t i = 0; i < n; i++)
		out = kw_arena_printf(a, "%s%s/%s/%s=%s\n", out, rows[i].candidate_name, rows[i].effort, rows[i].tune, rows[i].cls);
	*ahead = m->from_ahead;
	kw_search_result_release(&r);
	kw_store_close(store);
	for (size_t i = 0; i < m->count; i++)
		if (m->there[i])
			kw_verdict_release(&m->verdicts[i]);
	world_release(&m->w);
	kw_free(m);
	return out;
}

static void test_order(void)
{
	struct kw_arena a;
	static const char *const cases[] = { "{ n: 1024 }", "{ n: 1024 }, { n: 64 }, { n: 100 }" };
	const char *one;
	int ahead;

	kw_arena_init(&a, 64 << 20);
	for (size_t i = 0; i < 2; i++) {
		one = tuned(0, 1, cases[i], &a, &ahead);
		is_int(ahead, 0, "one evaluator begins nothing ahead");
		for (unsigned order = 1; order < 6; order++) {
			is_str(tuned(order, 4, cases[i], &a, &ahead), one, "several judge the same, and it is stored in the same order");
			/* Seven points beside the default, then three on each case; of both kernels, where slow is not too slow. */
			ok(ahead >= (i ? 2 * (7 + 3 * 3) : 7 + 3), "%d verdicts were begun ahead", ahead);
		}
	}
	kw_arena_release(&a);
}

/* ---- real ones ---- */

static const char *const relu =
	"name: relu\ndims: { n: { min: 1, max: 4096 } }\ninputs:\n  x: { dtype: f32, shape: [n] }\noutputs:\n  y: { dtype: f32, shape: [n] }\n"
	"reference:\n  expr: |\n    y = relu(x)\nperf: [ { n: 64 } ]\n";

static void test_real(void)
{
	struct kw_evaluators *ev = NULL;
	struct kw_arena a;
	struct kw_task t;
	struct kw_expr *e;
	struct kw_candidate c[4] = { 0 };
	struct kw_judging *j[4];
	struct kw_judge_opts o;

	kw_arena_init(&a, 64 << 20);
	kw_judge_opts_default(&o, KW_EFFORT_SCREEN);
	o.time_limit_ns = 5000000;
	is_int(kw_evaluators_new("cpuu", 1, &ev, &err), KW_ERR_USAGE, "no such device");
	is_int(kw_evaluators_new("cpu:1", 1, &ev, &err), KW_ERR_ENV, "no second one");
	ok(strstr(err.text, "1 of device cpu") != NULL, "which is said: %s", err.text);
	is_int(kw_device_count("cpu"), 1, "there is one cpu");
	if (kw_task_parse_yaml(&t, "relu.yaml", relu, strlen(relu), &err) != KW_OK || kw_expr_parse(&t, &a, &e, &err) != KW_OK)
		diag("%s", err.text);
	is_int(kw_evaluators_new("cpu", 3, &ev, &err), KW_OK, "three evaluators on one device");
	is_int(kw_evaluators_count(ev), 3, "are three");
	ok(kw_evaluators_hardware(ev)->units > 0, "which say what they run on");
	for (int i = 0; i < 4; i++) {
		const char *text = kw_arena_printf(&a, "//@ kernel k args=(x, y, n:i64)\nvoid k(const float *x, float *y, int64_t n)\n"
						       "{ for (int64_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : %d; }\n", i % 2);

		kw_candidate_from_text(&c[i], "k", "c", text, strlen(text), &t, &a, &err);
		j[i] = kw_evaluators_begin(ev, &t, e, &c[i], &o);
		ok(kw_judging_is(j[i], &c[i], &o), "it is about its candidate");
	}
	ok(!kw_judging_is(j[0], &c[1], &o), "and about no other");
	kw_evaluators_drop(ev, j[2]);
	for (int i = 0; i < 4; i++) {
		struct kw_verdict v;

		if (i == 2)
			continue;
		kw_verdict_init(&v);
		is_int(kw_evaluators_take(ev, j[i], &v, &err), KW_OK, "a verdict");
		is_int(v.cls, i % 2 ? KW_V_WRONG : KW_V_OK, "is that of its candidate");
		kw_verdict_release(&v);
	}
	kw_evaluators_free(ev);
	kw_task_release(&t);
	kw_arena_release(&a);
}

int main(void)
{
	test_order();
	test_real();
	return done();
}
