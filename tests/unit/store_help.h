/* store_help.h - verdicts and candidates for the tests of the store. */
#ifndef KW_TESTS_STORE_HELP_H
#define KW_TESTS_STORE_HELP_H

#include <stdio.h>
#include <string.h>

#include "store/store.h"

/* A right verdict with one timed case, or a wrong one when ns is 0. tune tells them apart. */
__attribute__((unused)) static void make_verdict(struct kw_verdict *v, const char *sha,
						 const char *tune, double ns)
{
	kw_verdict_init(v);
	v->cls = ns > 0 ? KW_V_OK : KW_V_WRONG;
	v->subclass = ns > 0 ? KW_S_NONE : KW_S_MISMATCH;
	snprintf(v->summary, sizeof(v->summary), "%s", ns > 0 ? "right" : "y[3] is 1, not 2");
	v->task_name = "softmax";
	v->backend = "c";
	v->device = "a machine";
	v->toolchain = "gcc 12";
	v->sandbox_layers = "";
	v->tune = kw_arena_strdup(&v->arena, tune);
	snprintf(v->candidate_sha, sizeof(v->candidate_sha), "%s", sha);
	if (ns > 0) {
		v->cases = kw_arena_calloc(&v->arena, 1, sizeof(*v->cases));
		v->case_count = 1;
		v->cases[0].label = "rows=4";
		v->cases[0].perf = v->cases[0].has_times = true;
		v->cases[0].sol_bound = "memory";
		v->cases[0].times.method = "single";
		v->cases[0].times.median_ns = ns;
		v->geomean_speedup = 1000 / ns;
	}
}

__attribute__((unused)) static enum kw_status put(struct kw_store *s, int64_t run, const char *sha,
						  const char *tune, const char *effort, double ns,
						  int64_t *id, struct kw_error *err)
{
	struct kw_verdict v;
	enum kw_status status;

	make_verdict(&v, sha, tune, ns);
	status = kw_store_verdict_put(s, run, 1, effort, &v, id, err);
	kw_verdict_release(&v);
	return status;
}

__attribute__((unused)) static int64_t new_run(struct kw_store *s)
{
	struct kw_run_row r = { .task_name = "softmax", .task_text = "name: softmax\n",
				.task_sha = "t1", .backend = "c", .device = "cpu",
				.strategy = "tune", .options = "{}" };
	int64_t id = 0;

	return kw_store_run_new(s, &r, &id, NULL) == KW_OK ? id : -1;
}

#endif
