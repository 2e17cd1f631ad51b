/* Plain tables: launches with a few figures, a sweep over grids, times with and without waiting. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profile/csv.h"
#include "profile/input.h"

enum { MAX_COLUMNS = 128 };
struct column {
	char name[64];                    /* without its unit, lower case */
	int metric;
	double scale;
	enum kw_quantity dim;
};
struct table {
	struct kw_launches *out;
	struct kw_csv csv;
	enum kw_number_style style;
	struct column column[MAX_COLUMNS];
	size_t columns;
	int name_column;
	int line;
	size_t first;                     /* of the launches that this table made */
	/* two columns of times, for the rule about waiting */
	int time[2];
	double least[2], most[2], sum[2];
	size_t rows;
	int flush_column;
};

/* "duration_us", "dram_pct", "time (ms)", "Avg (ns)": the unit that ends a name. */
static void split_unit(struct column *c)
{
	static const char *const tails[] = { "_ns",  "_us",   "_ms",   "_s",	 "_sec", "_pct", "_percent",
					     "_gbs", "_gbps", "_gb/s", "_bytes", "_mb",	 "_gb",	 "_ghz",
					     "_mhz", " ns",   " us",   " ms",	 " s",	 " %" };
	size_t n = strlen(c->name);
	char *open = strchr(c->name, '(');

	c->scale = 1;
	c->dim = KW_QUANTITY_COUNT;
	if (!open)
		open = strchr(c->name, '[');
	if (open && open > c->name && (c->name[n - 1] == ')' || c->name[n - 1] == ']')) {
		if (kw_unit_find((struct kw_str){ open + 1, n - (size_t)(open - c->name) - 2 }, &c->dim, &c->scale)) {
			*open = '\0';
			while (open > c->name && open[-1] == ' ')
				*--open = '\0';
			return;
		}
	}
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t t = strlen(tails[i]);

		if (n > t && strcmp(c->name + n - t, tails[i]) == 0 &&
		    kw_unit_find(kw_str_from(tails[i] + 1), &c->dim, &c->scale)) {
			c->name[n - t] = '\0';
			return;
		}
	}
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static int metric_of(struct column *c)
{
	static const char *const units[] = { "ns", "us", "ms", "s", "usec", "msec", "seconds", NULL };
	static const char *const times[] = { "duration", "time",    "avg",     "mean",	   "median",
					     "runtime",	 "elapsed", "latency", "avg time",
					     "zeit",	 "dauer",   "laufzeit", "temps",   "tiempo",   NULL };
	static const char *const counts[] = { "instances", "calls", "launches", "invocations", NULL };

	/* A column that is called "ms" and nothing else. */
	if (is_one_of(c->name, units) && kw_unit_find(kw_str_from(c->name), &c->dim, &c->scale))
		return KW_M_DURATION_NS;
	if (c->dim == KW_QUANTITY_TIME && is_one_of(c->name, times))
		return KW_M_DURATION_NS;
	if (c->dim == KW_QUANTITY_COUNT && is_one_of(c->name, counts))
		return KW_M_INVOCATIONS;
	return kw_metric_find(kw_str_from(c->name), c->dim);
}

static void head(struct table *t)
{
	static const char *const names[] = { "kernel", "kernel name", "kernel_name", "name",
					     "op",     "function",    "variant",     NULL };

	t->columns = t->csv.count < MAX_COLUMNS ? t->csv.count : MAX_COLUMNS;
	for (size_t i = 0; i < t->columns; i++) {
		struct kw_str f = kw_str_trim(t->csv.field[i]);
		struct column *c = &t->column[i];

		snprintf(c->name, sizeof(c->name), "%.*s", (int)(f.len < 63 ? f.len : 63), f.ptr);
		for (char *p = c->name; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		if (t->name_column < 0 && is_one_of(c->name, names))
			t->name_column = (int)i;
		split_unit(c);
		c->metric = metric_of(c);
		if (strstr(c->name, "flush") && c->dim == KW_QUANTITY_TIME)
			t->flush_column = (int)i;
		else if (c->dim == KW_QUANTITY_TIME && c->metric != KW_M_DURATION_NS)
			t->time[t->time[0] >= 0] = (int)i;
	}
	/* Which of the two waits: by its name, else the second. */
	if (t->time[1] >= 0) {
		const char *a = t->column[t->time[0]].name, *b = t->column[t->time[1]].name;
		bool first_waits = (strstr(a, "sync") || strstr(a, "wait")) && !strstr(a, "no") &&
				   !strstr(a, "without") && !strstr(a, "async") && !strstr(a, "un");
		bool second_waits = (strstr(b, "sync") || strstr(b, "wait")) && !strstr(b, "no") &&
				    !strstr(b, "without") && !strstr(b, "async") && !strstr(b, "un");

		if (first_waits && !second_waits) {
			int swap = t->time[0];

			t->time[0] = t->time[1];
			t->time[1] = swap;
		}
	}
}

/* Numbers under names that nobody knows are no launches. */
static bool knows_a_column(const struct table *t)
{
	char names[200] = "";
	size_t n = 0;

	for (size_t i = 0; i < t->columns; i++)
		if (t->column[i].metric >= 0)
			return true;
	if (t->time[1] >= 0)
		return true;
	for (size_t i = 0; i < t->columns && n < sizeof(names) - 1; i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%.40s", i ? ", " : "", t->column[i].name);
	kw_launches_note(t->out, t->line, "this looks like a table, but none of its columns (%.190s) is known here; times stand in one that is called "
			 "time_ms, duration_us or the like", names);
	return false;
}

static void row(struct table *t)
{
	struct kw_str name = { "", 0 };
	struct kw_launch *k;
	bool any = false;

	if (t->name_column >= 0 && (size_t)t->name_column < t->csv.count)
		name = kw_str_trim(t->csv.field[t->name_column]);
	k = kw_launches_add(t->out, name, t->line);
	if (!k)
		return;
	for (size_t i = 0; i < t->columns && i < t->csv.count; i++) {
		double v;

		if (!kw_number_read(t->csv.field[i], t->style, &v))
			continue;
		v *= t->column[i].scale;
		if (t->column[i].metric >= 0) {
			kw_launch_set(k, t->column[i].metric, v);
			any = true;
		}
		for (int s = 0; s < 2; s++)
			if (t->time[s] == (int)i && v > 0) {
				t->least[s] = t->rows == 0 || v < t->least[s] ? v : t->least[s];
				t->most[s] = v > t->most[s] ? v : t->most[s];
				t->sum[s] += v;
			}
	}
	if (strcmp(t->column[0].name, "id") == 0 && t->csv.count)
		k->id = kw_launches_intern(t->out, kw_str_trim(t->csv.field[0]));
	t->rows++;
	if (!any && t->time[1] < 0)
		kw_launches_note(t->out, t->line, "the row has no number that is known");
}

/* The same kernel over several grids: the best, the least, and one that is worse than both of its neighbours. */
static void sweep(struct table *t)
{
	struct kw_launches *l = t->out;
	size_t n = l->count - t->first, best = t->first;
	double least = INFINITY;
	struct kw_launch *few = NULL, *odd = NULL, *all;
	double odd_factor = 1;

	for (size_t i = t->first; i < l->count; i++) {
		const double *v = l->list[i]->value;

		if (!(v[KW_M_GRID] > 0) || !(v[KW_M_DURATION_NS] > 0) ||
		    strcmp(l->list[i]->kernel, l->list[t->first]->kernel) != 0)
			return;
		if (i > t->first && !(v[KW_M_GRID] > l->list[i - 1]->value[KW_M_GRID]))
			return;
		if (v[KW_M_DURATION_NS] < least) {
			least = v[KW_M_DURATION_NS];
			best = i;
		}
	}
	if (n < 4 || l->list[t->first]->value[KW_M_WAVES] > 0)
		return;
	for (size_t i = t->first; i < best; i++)
		if (l->list[i]->value[KW_M_DURATION_NS] >= 1.3 * least)
			few = l->list[i];
	for (size_t i = t->first + 1; i + 1 < l->count; i++) {
		double now = l->list[i]->value[KW_M_DURATION_NS];
		double beside = fmax(l->list[i - 1]->value[KW_M_DURATION_NS], l->list[i + 1]->value[KW_M_DURATION_NS]);

		if (i > best && now > 1.1 * beside && now / beside > odd_factor) {
			odd_factor = now / beside;
			odd = l->list[i];
		}
	}
	all = kw_launches_add(l, KW_STR("the sweep"), l->list[t->first]->line);
	if (!all)
		return;
	kw_launch_set(all, KW_M_SWEEP_BEST, l->list[best]->value[KW_M_GRID]);
	if (few) {
		kw_launch_set(all, KW_M_SWEEP_FEW, few->value[KW_M_GRID]);
		kw_launch_set(all, KW_M_SWEEP_FEW_FACTOR, few->value[KW_M_DURATION_NS] / least);
	}
	if (odd) {
		kw_launch_set(all, KW_M_SWEEP_OUTLIER, odd->value[KW_M_GRID]);
		kw_launch_set(all, KW_M_SWEEP_OUTLIER_FACTOR, odd_factor);
	}
	/* The sweep is one statement; its rows are not launches to be explained each. */
	l->list[t->first] = all;
	l->count = t->first + 1;
	l->form = "a sweep over grids";
}

static void timings(struct table *t)
{
	struct kw_launch *k;

	if (t->time[1] < 0 || t->rows < 3)
		return;
	t->out->count = t->first;
	k = kw_launches_add(t->out, KW_STR("the timings"), 1);
	if (!k)
		return;
	kw_launch_set(k, KW_M_SPREAD_FIRST, t->most[0] / t->least[0]);
	kw_launch_set(k, KW_M_SPREAD_SECOND, t->most[1] / t->least[1]);
	kw_launch_set(k, KW_M_TIME_FIRST, t->sum[0] / (double)t->rows);
	kw_launch_set(k, KW_M_TIME_SECOND, t->sum[1] / (double)t->rows);
	t->out->form = "two columns of times";
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Calls of one thing in their order: the first takes many times as long as the middle one of the others. */
static void first_call(struct table *t)
{
	struct kw_launches *l = t->out;
	size_t n = l->count - t->first;
	double *rest, first;
	struct kw_launch *k;

	if (n < 5 || t->time[1] >= 0)
		return;
	rest = kw_arena_calloc(l->arena, n, sizeof(*rest));
	for (size_t i = t->first; rest && i < l->count; i++) {
		const struct kw_launch *one = l->list[i];

		if (!(one->value[KW_M_DURATION_NS] > 0) || strcmp(one->kernel, l->list[t->first]->kernel) != 0 ||
		    kw_launch_has(one, KW_M_GRID) || kw_launch_has(one, KW_M_WAVES) ||
		    kw_launch_has(one, KW_M_DRAM_PCT))
			return;
		rest[i - t->first] = one->value[KW_M_DURATION_NS];
	}
	if (!rest)
		return;
	first = rest[0];
	qsort(rest + 1, n - 1, sizeof(*rest), by_value);
	if (first < 5 * rest[n / 2])
		return;
	k = l->list[t->first];
	l->count = t->first + 1;
	l->form = "times of calls in their order";
	kw_launch_set(k, KW_M_FIRST_CALL_FACTOR, first / rest[n / 2]);
	k->value[KW_M_DURATION_NS] = rest[n / 2];
}

/* reported - true is one flush in each row: "reported_ms,true_ms,flush_ms". */
static void flushes(struct table *t, double with, double without, double flush)
{
	struct kw_launch *k = t->out->count > t->first ? t->out->list[t->first] : NULL;

	if (!k || !(flush > 0) || fabs(with - without - flush) > 0.25 * flush)
		return;
	kw_launch_set(k, KW_M_FLUSH_IN_WINDOW, 1);
}

void kw_read_table(const char *text, size_t len, struct kw_launches *out)
{
	struct table t = { .out = out, .name_column = -1, .time = { -1, -1 }, .flush_column = -1, .first = out->count };
	struct kw_str rest = { text, len }, line;
	static const char separators[] = ",;\t";
	const char *s = separators;
	double flush = 0;

	out->form = "a table";
	t.style = kw_number_style_of(text, len);
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		t.line++;
		line = kw_str_trim(line);
		if (line.len == 0 || *line.ptr == '#')
			continue;
		if (t.columns == 0) {
			while (*s && !memchr(line.ptr, *s, line.len))
				s++;
			kw_csv_init(&t.csv, *s ? *s : ',');
			kw_csv_split(&t.csv, line);
			head(&t);
			if (!knows_a_column(&t))
				break;
			continue;
		}
		if (!kw_csv_split(&t.csv, line) || t.csv.count + 1 < t.columns) {
			kw_launches_note(out, t.line, "the row has %zu fields and the row of column names %zu; it was left out",
					 t.csv.count, t.columns);
			continue;
		}
		row(&t);
		if (t.flush_column >= 0 && (size_t)t.flush_column < t.csv.count) {
			double v;

			if (kw_number_read(t.csv.field[t.flush_column], t.style, &v))
				flush += v * t.column[t.flush_column].scale;
		}
	}
	if (t.rows && t.flush_column >= 0 && t.time[1] >= 0) {
		double a = t.sum[0], b = t.sum[1];

		timings(&t);
		flushes(&t, fmax(a, b), fmin(a, b), flush);
	} else {
		timings(&t);
	}
	sweep(&t);
	first_call(&t);
	kw_csv_release(&t.csv);
}
