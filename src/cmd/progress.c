/* One line of progress: rewritten on a terminal, now and then a plain one in a pipe (base/log.h). */
#include <stdio.h>

#include "base/log.h"
#include "cmd/cmd.h"

void kw_show_case(void *arg, const char *label)
{
	(void)arg;
	kw_progress("case %s", label);
}

static void add(struct kw_buf *line, const char *name, const char *value)
{
	kw_buf_printf(line, "%s%s%s%s", line->len ? "  " : "", name, name[0] ? " " : "", value);
}

static void add_best(struct kw_buf *line, const struct kw_progress *p)
{
	char text[160], time[40];

	if (!(p->best_ns > 0))
		return;
	kw_human_ns(p->best_ns, time, sizeof(time));
	if (p->best_speedup > 0)
		snprintf(text, sizeof(text), "%s (%.3gx)", time, p->best_speedup);
	else
		snprintf(text, sizeof(text), "%s", time);
	add(line, "best", text);
}

static void add_model(struct kw_buf *line, const struct kw_progress *p)
{
	double tokens = p->sums ? (double)(p->sums->tokens_in + p->sums->tokens_out) : 0;
	char text[40];

	if (p->role)
		add(line, "asks", p->role);
	if (!p->sums || !p->sums->calls)
		return;
	snprintf(text, sizeof(text), tokens < 10000 ? "%.0f tokens" : "%.4gk tokens", tokens < 10000 ? tokens : tokens / 1000);
	add(line, "", text);
	if (p->sums->cost_usd > 0) {
		snprintf(text, sizeof(text), "$%.3g", p->sums->cost_usd);
		add(line, "", text);
	}
}

/* A terminal's line is cut at its end, so what matters least is last: with a model, that is what comes after the best so far. */
void kw_show_search(void *arg, const struct kw_progress *p)
{
	struct kw_buf line;
	char text[160], time[40];

	(void)arg;
	kw_buf_init(&line, 4096);
	if (p->part)
		add(&line, "", p->part);
	if (p->round) {
		snprintf(text, sizeof(text), p->rounds > p->round ? "%d/%d" : "%d", p->round, p->rounds);
		add(&line, "round", text);
	}
	if (p->candidate) {
		snprintf(text, sizeof(text), "%s%s%s", p->candidate, p->verdict ? ": " : "", p->verdict ? p->verdict : "");
		add(&line, "", text);
	}
	add_model(&line, p);
	add_best(&line, p);
	if (p->evaluation) {
		snprintf(text, sizeof(text), p->planned > p->evaluation ? "%d of about %d" : "%d", p->evaluation,
			 p->planned);
		add(&line, "tried", text);
	}
	if (p->rate_per_s > 0 && !p->sums) {
		snprintf(text, sizeof(text), "%.2g/s", p->rate_per_s);
		add(&line, "", text);
	}
	if (p->left_ns > 0) {
		snprintf(text, sizeof(text), "about %s left", kw_human_ns((double)p->left_ns, time, sizeof(time)));
		add(&line, "", text);
	}
	if (p->tune && p->tune[0]) /* it may be long */
		add(&line, "", p->tune);
	if (line.len)
		kw_progress("%s", line.ptr);
	kw_buf_release(&line);
}
