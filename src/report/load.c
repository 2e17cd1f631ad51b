/* A report, read from the store. */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "explain/judged.h"
#include "report/report.h"

enum { REPORT_MAX_BYTES = 512 << 20 };

enum kw_status kw_report_verdict_load(const struct kw_verdict_row *row, struct kw_verdict *v,
				      struct kw_error *err)
{
	json_t *j = NULL;
	char name[64];
	enum kw_status status;

	kw_verdict_init(v);
	snprintf(name, sizeof(name), "verdict %lld", (long long)row->id);
	status = kw_json_parse(name, row->record, strlen(row->record), &j, err);
	if (status == KW_OK)
		status = kw_verdict_from_json(v, j, err);
	json_decref(j);
	if (status != KW_OK)
		kw_verdict_release(v);
	return status;
}

static bool add_count(struct kw_report *r, const struct kw_verdict_row *v)
{
	for (size_t i = 0; i < r->count_count; i++) {
		struct kw_report_count *c = &r->counts[i];

		if (strcmp(c->cls, v->cls) == 0 && strcmp(c->subclass, v->subclass) == 0) {
			c->count++;
			return true;
		}
	}
	if (!r->counts) /* at most one each */
		r->counts = kw_arena_calloc(&r->arena, KW_V_COUNT + KW_S_COUNT, sizeof(*r->counts));
	if (!r->counts || r->count_count == KW_V_COUNT + KW_S_COUNT)
		return false;
	r->counts[r->count_count++] = (struct kw_report_count){ v->cls, v->subclass, 1 };
	return true;
}

static bool add_points(struct kw_report *r)
{
	double best = 0;
	int n = 0;

	r->curve = kw_arena_calloc(&r->arena, r->verdict_count + 1, sizeof(*r->curve));
	if (!r->curve)
		return false;
	for (size_t i = 0; i < r->verdict_count; i++) {
		const struct kw_verdict_row *v = &r->verdicts[i];

		n++;
		if (strncmp(v->effort, "screen", 6) == 0)
			continue; /* looks at some cases only, for a short time */
		if (strcmp(v->cls, "ok") != 0 || !(v->median_ns > 0) ||
		    (best > 0 && v->median_ns >= best))
			continue;
		best = v->median_ns;
		r->curve[r->curve_count++] = (struct kw_report_point){ n, best };
	}
	return true;
}

static enum kw_status load_best(struct kw_report *r, struct kw_store *s, struct kw_error *err)
{
	enum kw_status status;

	for (size_t i = 0; i < r->verdict_count; i++) {
		if (r->verdicts[i].id != r->run.best_verdict_id)
			continue;
		status = kw_store_verdict_get(s, r->verdicts[i].id, &r->arena, &r->best_row, err);
		if (status == KW_OK)
			status = kw_report_verdict_load(&r->best_row, &r->best, err);
		r->has_best = status == KW_OK;
		r->proven = r->has_best && !kw_run_state_open(r->run.state);
		return status;
	}
	return KW_OK;
}

/* A source that is no longer there, or a backend that is not known here, is no reason to have no report. */
static enum kw_status load_shortfalls(struct kw_report *r, struct kw_store *s, struct kw_error *err)
{
	const struct kw_backend *b = r->has_best ? kw_backend_find(r->best.backend ? r->best.backend : "") : NULL;
	const char *source = NULL, *backend, *label;
	char name[64];
	size_t len;

	if (!b || kw_store_candidate_get(s, r->best_row.candidate_sha, &r->arena, &source, &len, &backend, &label, NULL) != KW_OK || !source)
		return KW_OK;
	snprintf(name, sizeof(name), "kernel%.*s", (int)strcspn(b->extensions, " "), b->extensions);
	return kw_explain_shortfalls(source, name, &r->best, &r->arena, &r->falls_short, &r->falls_short_count, err);
}

static enum kw_status add_calls_of_parts(struct kw_report *r, struct kw_store *s, struct kw_error *err)
{
	struct kw_run_row *items = NULL;
	size_t n = 0;
	enum kw_status status = kw_store_run_items(s, r->run.id, &r->arena, &items, &n, err);

	for (size_t i = 0; i < n && status == KW_OK; i++) {
		struct kw_model_call *calls = NULL, *all;
		size_t count = 0;

		status = kw_store_model_call_list(s, items[i].id, &r->arena, &calls, &count, err);
		if (status != KW_OK || count == 0)
			continue;
		all = kw_arena_calloc(&r->arena, r->call_count + count, sizeof(*all));
		if (!all)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the report");
		if (r->call_count)
			memcpy(all, r->calls, r->call_count * sizeof(*all));
		memcpy(all + r->call_count, calls, count * sizeof(*all));
		r->calls = all;
		r->call_count += count;
	}
	return status;
}

enum kw_status kw_report_load(struct kw_report *r, struct kw_store *s, int64_t run_id,
			      struct kw_error *err)
{
	enum kw_status status;

	memset(r, 0, sizeof(*r));
	kw_arena_init(&r->arena, REPORT_MAX_BYTES);
	status = kw_store_run_get(s, run_id, &r->arena, &r->run, err);
	if (status == KW_OK)
		status = kw_store_round_list(s, run_id, &r->arena, &r->rounds, &r->round_count, err);
	if (status == KW_OK)
		status = kw_store_verdict_list(s, run_id, &r->arena, &r->verdicts, &r->verdict_count,
					       err);
	for (size_t i = 0; status == KW_OK && i < r->verdict_count; i++)
		if (!add_count(r, &r->verdicts[i]))
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the report");
	if (status == KW_OK && !add_points(r))
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the report");
	if (status == KW_OK)
		status = load_best(r, s, err);
	if (status == KW_OK)
		status = load_shortfalls(r, s, err);
	if (status == KW_OK)
		status = kw_store_run_result(s, run_id, &r->arena, &r->result, err);
	if (status == KW_OK)
		r->of_whole = r->run.parent && r->result.count > 1 && (!r->has_best || strcmp(r->best_row.effort, "final") != 0);
	r->proven = r->proven && !r->of_whole;
	if (status == KW_OK)
		status = kw_store_fact_get(s, run_id, "tune", &r->tune, err);
	if (status == KW_OK)
		status = kw_store_fact_get(s, run_id, "files", &r->files, err);
	if (status == KW_OK)
		status = kw_store_fact_get(s, run_id, "reasons", &r->reasons, err);
	if (status == KW_OK)
		status = kw_store_fact_get(s, run_id, "parts", &r->parts, err);
	if (status == KW_OK)
		status = kw_store_fact_get(s, run_id, "time", &r->time, err);
	if (status == KW_OK)
		status = kw_store_model_call_list(s, run_id, &r->arena, &r->calls, &r->call_count, err);
	if (status == KW_OK && r->parts)
		status = add_calls_of_parts(r, s, err);
	if (status != KW_OK)
		kw_report_release(r);
	return status;
}

void kw_report_release(struct kw_report *r)
{
	if (r->has_best)
		kw_verdict_release(&r->best);
	json_decref(r->tune);
	json_decref(r->files);
	json_decref(r->reasons);
	json_decref(r->time);
	json_decref(r->parts);
	kw_arena_release(&r->arena);
	memset(r, 0, sizeof(*r));
}
