#include "explain/explanation.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGES = 64, MAX_LINE = 2000, MAX_RULES_A_LINE = 4, MAX_FILTER = 400, MAX_REASON = 8 };

/* ---- messages ---- */

/* What an earlier message explains away: only the first error is the cause. from: the first message of this run of a profiler. */
static bool is_hidden(const struct kw_explained_input *in, size_t from, const struct kw_rule *rule)
{
	for (size_t i = from; i < in->message_count; i++)
		if (kw_rule_hides(in->messages[i].finding.rule, rule))
			return true;
	return false;
}

static bool keep(struct kw_explained_input *in, size_t from, const struct kw_explained_finding *f, int line, const char *text, struct kw_arena *a)
{
	for (size_t i = 0; i < in->message_count; i++)
		if (in->messages[i].finding.rule == f->rule &&
		    strcmp(in->messages[i].finding.evidence, f->evidence) == 0) {
			in->messages[i].count++;
			if (strstr(in->messages[i].text, "warning") && !strstr(in->messages[i].text, "error") && strstr(text, "error")) {
				in->messages[i].text = kw_arena_strdup(a, text); /* what stops the build is the line to look at */
				in->messages[i].line = line;
			}
			return in->messages[i].text != NULL;
		}
	/* An error with its place is told for one without that stands above it. */
	if (f->rule->fallback && in->message_count == 1 && in->messages[0].finding.rule->fallback && kw_rule_hides(f->rule, in->messages[0].finding.rule))
		in->message_count = 0;
	if (is_hidden(in, from, f->rule) || (f->rule->fallback && in->message_count))
		return true;
	if (!in->messages)
		in->messages = kw_arena_calloc(a, MAX_MESSAGES, sizeof(*in->messages));
	if (!in->messages || in->message_count == MAX_MESSAGES)
		return in->messages != NULL;
	in->messages[in->message_count] = (struct kw_explained_message){ line, kw_arena_strdup(a, text), *f, 1 };
	return in->messages[in->message_count++].text != NULL;
}

/* The line with mangled names in a person's form. */
static void readable(struct kw_str s, char line[MAX_LINE])
{
	size_t n = 0;

	for (size_t i = 0; i < s.len && n < MAX_LINE - 1;) {
		char name[256], plain[128];
		size_t k = 0;

		if (s.len - i > 3 && memcmp(s.ptr + i, "_Z", 2) == 0 &&
		    (i == 0 || !isalnum((unsigned char)s.ptr[i - 1]))) {
			while (i + k < s.len && k < sizeof(name) - 1 &&
			       (isalnum((unsigned char)s.ptr[i + k]) || s.ptr[i + k] == '_')) {
				name[k] = s.ptr[i + k];
				k++;
			}
			name[k] = '\0';
			kw_plain_name(name, plain, sizeof(plain));
			n += (size_t)snprintf(line + n, MAX_LINE - n, "%s", plain);
			n = n < MAX_LINE - 1 ? n : MAX_LINE - 1;
			i += k;
		} else {
			line[n++] = s.ptr[i++];
		}
	}
	line[n] = '\0';
}

/* "1. softmax_kernel", a line of the profiler's list. */
static bool is_listed(struct kw_str s)
{
	size_t n = 0;

	while (n < s.len && isdigit((unsigned char)s.ptr[n]))
		n++;
	return n > 0 && n + 1 < s.len && s.ptr[n] == '.' && s.ptr[n + 1] == ' ';
}

/* False: there is no room for it. */
static bool join(char line[MAX_LINE], size_t *n, const char *between, struct kw_str s)
{
	size_t more = strlen(between);

	if (*n + more + s.len + 8 > MAX_LINE)
		return false;
	memcpy(line + *n, between, more);
	if (s.len)
		memcpy(line + *n + more, s.ptr, s.len);
	*n += more + s.len;
	line[*n] = '\0';
	return true;
}

/* The profiler says over several lines that it saw no kernel, and lists those that its filter left out: one message. */
static void with_list(char line[MAX_LINE], struct kw_str rest, const char *filter)
{
	size_t n = strlen(line);
	struct kw_str part;
	bool in_list = false, fits = true;

	if (!strstr(line, "No kernels were profiled"))
		return;
	if (filter[0] && join(line, &n, " Filter: ", kw_str_from(filter)))
		join(line, &n, ";", KW_STR(""));
	while (fits && rest.ptr && kw_str_split(&rest, '\n', &part)) {
		const char *name;

		part = kw_str_trim(part);
		if (in_list && is_listed(part)) {
			name = memchr(part.ptr, '.', part.len);
			name += 2;
			fits = join(line, &n, line[n - 1] == ':' ? " " : ", ", (struct kw_str){ name, (size_t)(part.ptr + part.len - name) });
			continue;
		}
		if (in_list || !kw_str_starts(part, "=="))
			break;
		in_list = kw_str_holds(part, "Available Kernels:");
		fits = join(line, &n, " ", part);
	}
	if (!fits)
		join(line, &n, ", ...", KW_STR(""));
}

/* compute-sanitizer says over several lines what it refuses and why: the first of them gets the reason, whose own line is then no further message. Number of
 * lines until that; 0: no reason follows. */
static int with_reason(char line[MAX_LINE], struct kw_str rest)
{
	static const char *const reasons[] = { " is misaligned", " is out of bounds" };
	size_t n = strlen(line);
	struct kw_str part;

	if (!strstr(line, "Invalid __"))
		return 0;
	for (int i = 1; i <= MAX_REASON && rest.ptr && kw_str_split(&rest, '\n', &part); i++) {
		part = kw_str_trim(part);
		if (!kw_str_starts(part, "=") || kw_str_holds(part, "Invalid __"))
			return 0;
		for (size_t k = 0; k < sizeof(reasons) / sizeof(reasons[0]); k++)
			if (kw_str_holds(part, reasons[k]))
				return join(line, &n, " ", part) ? i : 0;
	}
	return 0;
}

/* The filter of a command that is in the text: "-k gemm --launch-skip 3". */
static void note_filter(struct kw_str line, char out[MAX_FILTER])
{
	static const char *const options[] = { "-k", "--kernel-name", "--kernel-regex", "--kernel-id", "--kernel-regex-base", "--kernel-name-base",
					       "-s", "--launch-skip", "--launch-skip-before-match", "-c", "--launch-count", "--nvtx-include", "--nvtx-exclude" };
	const char *at = memmem(line.ptr, line.len, "ncu ", 4);
	struct kw_str rest, word;
	char found[MAX_FILTER] = "";
	size_t n = 0;
	bool value = false;

	if (!at)
		at = memmem(line.ptr, line.len, "nv-nsight-cu-cli ", 17);
	if (!at || (at > line.ptr && !strchr(" /$>`\"'", at[-1])))
		return;
	rest = (struct kw_str){ at, (size_t)(line.ptr + line.len - at) };
	while (kw_str_split(&rest, ' ', &word)) {
		const char *equals = memchr(word.ptr, '=', word.len);
		struct kw_str name = { word.ptr, equals ? (size_t)(equals - word.ptr) : word.len };
		bool option = false;

		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
			option = option || kw_str_eqz(name, options[i]);
		if ((option || value) && word.len && n + word.len + 2 < MAX_FILTER)
			n += (size_t)snprintf(found + n, MAX_FILTER - n, "%s%.*s", n ? " " : "", (int)word.len, word.ptr);
		value = option && !equals;
	}
	if (n)
		memcpy(out, found, sizeof(found));
}

/* What a fallback says is told where nothing else is. */
static void drop_fallbacks(struct kw_explained_input *in)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < in->message_count; i++)
		n += !in->messages[i].finding.rule->fallback;
	for (size_t i = 0; i < in->message_count; i++)
		if (n ? !in->messages[i].finding.rule->fallback : i == 0)
			in->messages[kept++] = in->messages[i];
	in->message_count = kept;
}

bool kw_explain_text(const struct kw_rule_set *set, struct kw_explained_input *in, const char *text, size_t len, const char *only,
		     struct kw_arena *a)
{
	struct kw_str rest = { text, len }, part;
	char filter[MAX_FILTER] = "";
	size_t from = 0;
	int number = 0, told = 0, reason;

	while (rest.ptr && kw_str_split(&rest, '\n', &part)) {
		struct kw_explained_finding f[MAX_RULES_A_LINE];
		char line[MAX_LINE], shown[160];
		size_t n;

		number++;
		part = kw_str_trim(part);
		if (part.len == 0 || !kw_str_starts(part, only) || number == told)
			continue;
		if (kw_str_eqz(part, "---") || kw_str_holds(part, "==PROF== Connected to process"))
			from = in->message_count;
		readable(part, line);
		snprintf(shown, sizeof(shown), "%.*s", (int)sizeof(shown) - 1, line);
		note_filter(part, filter);
		with_list(line, rest, filter);
		reason = with_reason(line, rest);
		if (reason)
			told = number + reason;
		n = kw_explain_line(set, line, a, f, MAX_RULES_A_LINE);
		for (size_t i = 0; i < n; i++)
			if (!keep(in, from, &f[i], number, shown, a))
				return false;
	}
	drop_fallbacks(in);
	return true;
}

/* ---- launches ---- */

struct by_time {
	size_t index;
	double ns;
};

static int longer(const void *x, const void *y)
{
	const struct by_time *p = x, *q = y;
	double a = isnan(p->ns) ? -1 : p->ns, b = isnan(q->ns) ? -1 : q->ns;

	if (a < b || a > b)
		return a > b ? -1 : 1;
	return p->index < q->index ? -1 : 1;
}

static double time_of(const struct kw_launch *k)
{
	double times = k->value[KW_M_INVOCATIONS] > 0 ? k->value[KW_M_INVOCATIONS] : 1;

	return k->value[KW_M_DURATION_NS] * times;
}

static bool sort(struct kw_explained_input *in, struct kw_arena *a)
{
	size_t n = in->launches.count;
	struct by_time *list = kw_arena_calloc(a, n + 1, sizeof(*list));

	in->order = kw_arena_calloc(a, n + 1, sizeof(*in->order));
	in->total_ns = NAN;
	if (!list || !in->order)
		return false;
	for (size_t i = 0; i < n; i++) {
		double ns = time_of(in->launches.list[i]);

		list[i] = (struct by_time){ i, ns };
		if (!isnan(ns))
			in->total_ns = isnan(in->total_ns) ? ns : in->total_ns + ns;
	}
	qsort(list, n, sizeof(*list), longer);
	for (size_t i = 0; i < n; i++)
		in->order[i] = list[i].index;
	return true;
}

/* The same kernel of the other input: by its name up to its parameters, the n-th of that name; or the only one. */
static const struct kw_launch *partner(const struct kw_explained_input *in, size_t i,
				       const struct kw_explained_input *before)
{
	const char *name = in->launches.list[i]->kernel;
	size_t n = strcspn(name, "(<"), nth = 0;

	if (in->launches.count == 1 && before->launches.count == 1)
		return before->launches.list[0];
	for (size_t k = 0; k < i; k++)
		nth += strncmp(in->launches.list[k]->kernel, name, n) == 0 &&
		       strcspn(in->launches.list[k]->kernel, "(<") == n;
	for (size_t k = 0; k < before->launches.count; k++) {
		const char *other = before->launches.list[k]->kernel;

		if (strncmp(other, name, n) == 0 && strcspn(other, "(<") == n && nth-- == 0)
			return before->launches.list[k];
	}
	return NULL;
}

/* How often a kernel is launched, where each launch is told by itself. False: out of memory. */
static bool count_alike(struct kw_launches *l, struct kw_arena *a)
{
	size_t *first = kw_arena_calloc(a, l->count + 1, sizeof(*first)), *count = kw_arena_calloc(a, l->count + 1, sizeof(*count));
	size_t *group = kw_arena_calloc(a, l->count + 1, sizeof(*group)), n = 0;

	if (!first || !count || !group)
		return false;
	for (size_t i = 0; i < l->count; i++) {
		size_t g = 0;

		while (g < n && strcmp(l->list[first[g]]->kernel, l->list[i]->kernel) != 0)
			g++;
		if (g == n)
			first[n++] = i;
		group[i] = g;
		count[g]++;
	}
	for (size_t i = 0; i < l->count; i++)
		if (count[group[i]] > 1 && l->list[i]->kernel[0])
			kw_launch_set(l->list[i], KW_M_ALIKE, (double)count[group[i]]);
	return true;
}

/* ---- groups ---- */

static int by_total(const void *x, const void *y)
{
	const struct kw_explained_group *p = x, *q = y;
	double a = isnan(p->total_ns) ? -1 : p->total_ns, b = isnan(q->total_ns) ? -1 : q->total_ns;

	if (a < b || a > b)
		return a > b ? -1 : 1;
	return p->first < q->first ? -1 : 1;
}

static bool same(const struct kw_launch *p, const struct kw_launch *q)
{
	/* A log has a kernel once for each architecture that it was compiled for. */
	if (p->value[KW_M_ARCH] < q->value[KW_M_ARCH] || p->value[KW_M_ARCH] > q->value[KW_M_ARCH])
		return false;
	return strcmp(p->kernel, q->kernel) == 0 && memcmp(p->grid, q->grid, sizeof(p->grid)) == 0 &&
	       memcmp(p->block, q->block, sizeof(p->block)) == 0;
}

/* One launch that takes twice as long as the others, and less than they do together, is not what the kernel is like. */
static void choose_shown(const struct kw_explained_input *in, struct kw_explained_group *g)
{
	double others = (g->total_ns - g->most_ns) / (double)(g->count - 1), nearest = INFINITY;
	const struct kw_launch *of = in->launches.list[g->first];

	g->shown = g->longest;
	if (g->count < 3 || !(g->most_ns > 2 * others) || !(g->most_ns < g->total_ns / 2))
		return;
	for (size_t i = g->first; i < in->launches.count; i++) {
		const struct kw_launch *k = in->launches.list[i];
		double off = fabs(k->value[KW_M_DURATION_NS] - others);

		if (off < nearest && same(of, k)) {
			nearest = off;
			g->shown = i;
		}
	}
}

bool kw_explain_groups(const struct kw_explained_input *in, struct kw_arena *a, struct kw_explained_group **out,
		       size_t *count)
{
	size_t n = 0;

	*out = kw_arena_calloc(a, in->launches.count + 1, sizeof(**out));
	*count = 0;
	if (!*out)
		return false;
	for (size_t i = 0; i < in->launches.count; i++) {
		const struct kw_launch *k = in->launches.list[i];
		double ns = time_of(k), one = k->value[KW_M_DURATION_NS];
		size_t g = 0;

		while (g < n && !same(in->launches.list[(*out)[g].first], k))
			g++;
		if (g == n)
			(*out)[n++] = (struct kw_explained_group){ i, 0, i, i, 0, one, one };
		if (one > in->launches.list[(*out)[g].longest]->value[KW_M_DURATION_NS])
			(*out)[g].longest = i;
		(*out)[g].count++;
		(*out)[g].total_ns += ns;
		(*out)[g].least_ns = fmin((*out)[g].least_ns, one);
		(*out)[g].most_ns = fmax((*out)[g].most_ns, one);
	}
	for (size_t g = 0; g < n; g++)
		choose_shown(in, &(*out)[g]);
	qsort(*out, n, sizeof(**out), by_total);
	*count = n;
	return true;
}

/* ---- the whole input ---- */

static double surest(const struct kw_explained *e)
{
	return e->count ? e->findings[0].rule->sure : 0;
}

static bool is_compared(const struct kw_explained *e)
{
	return e->count > 0 && e->findings[0].rule->about == KW_ABOUT_COMPARE;
}

/* What the kernel that takes the most time in all is limited by; the launch that stands for it says it. */
static bool conclude(struct kw_explained_input *in, struct kw_arena *a)
{
	const struct kw_explained *first = NULL;
	struct kw_explained_group *list;
	size_t n;

	if (!kw_explain_groups(in, a, &list, &n))
		return false;
	for (size_t i = 0; i < n && !(first && !isnan(in->total_ns)); i++) {
		const struct kw_explained *e = &in->explained[list[i].shown];

		/* Without times the surest finding says most: that a clock is read too early before what could be wider. */
		if ((e->count > 0 || !isnan(e->roof_pct)) && (!first || surest(e) > surest(first)))
			first = e;
	}
	/* Of a comparison, what a launch of both says. */
	for (size_t i = 0; i < in->launches.count && !(first && is_compared(first)); i++)
		if (is_compared(&in->explained[in->order[i]]))
			first = &in->explained[in->order[i]];
	if (!first && in->launches.count)
		first = &in->explained[in->order[0]];
	if (in->message_count && (!first || (first->count == 0 && isnan(first->roof_pct)))) {
		in->verdict = in->messages[0].finding.rule->title;
		in->bottleneck = in->messages[0].finding.rule->name;
	} else if (first) {
		in->verdict = first->verdict;
		in->bottleneck = first->bottleneck;
	} else {
		in->verdict = "there is nothing in it that a rule explains";
		in->bottleneck = "unknown";
	}
	return true;
}

bool kw_explain_input(const struct kw_rule_set *set, struct kw_explained_input *in,
		      const struct kw_explained_input *before, struct kw_arena *a)
{
	size_t n = in->launches.count;

	in->explained = kw_arena_calloc(a, n + 1, sizeof(*in->explained));
	if (!in->explained)
		return false;
	if (!count_alike(&in->launches, a))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct kw_launch *other = before ? partner(in, i, before) : NULL;

		if (before && !other)
			kw_launches_note(&in->launches, in->launches.list[i]->line,
					 "no launch of '%.80s' in the first input to compare with",
					 in->launches.list[i]->kernel);
		if (!kw_explain_launch(set, in->launches.list[i], other, a, &in->explained[i]))
			return false;
	}
	return sort(in, a) && conclude(in, a);
}
