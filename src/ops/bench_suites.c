/* What the suites share: the table, folders of problems, selections. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "ops/bench.h"

enum { PROBLEMS_MAX = 65536, WORDS_MAX = 1024 };

#define SUITE(name) extern const struct kw_suite kw_suite_##name;
#include "ops/suites.def"
#undef SUITE
static const struct kw_suite *const suites[] = {
#define SUITE(name) &kw_suite_##name,
#include "ops/suites.def"
#undef SUITE
};
enum { SUITE_COUNT = sizeof(suites) / sizeof(suites[0]) };

const struct kw_suite *const *kw_suite_all(size_t *count)
{
	*count = SUITE_COUNT;
	return suites;
}

enum kw_status kw_suite_find(const char *name, const struct kw_suite **out, struct kw_error *err)
{
	const char *names[SUITE_COUNT], *near;

	for (size_t i = 0; i < SUITE_COUNT; i++) {
		names[i] = suites[i]->name;
		*out = suites[i];
		if (strcasecmp(name, names[i]) == 0) /* their authors write KernelBench */
			return KW_OK;
	}
	*out = NULL;
	near = kw_str_nearest(name, names, SUITE_COUNT);
	if (near)
		return kw_fail(err, KW_ERR_USAGE, "", "no suite '%.60s'; did you mean '%s'?", name, near);
	return kw_fail(err, KW_ERR_USAGE, "", "no suite '%.60s'; there are kernelbench, tritonbench and multikernelbench", name);
}

bool kw_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- folders ------------------------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);

	return n > m && strcmp(name + n - m, ending) == 0;
}

/* The number before the first '_' (or all of the stem); 0: none. */
static int number_of(const char *stem, const char **rest)
{
	size_t digits = strspn(stem, "0123456789");

	*rest = stem;
	if (digits == 0 || digits > 8 || (stem[digits] != '_' && stem[digits] != '\0'))
		return 0;
	*rest = stem[digits] ? stem + digits + 1 : stem + digits;
	return (int)strtol(stem, NULL, 10);
}

static enum kw_status add(struct kw_problem_list *list, const struct kw_problem *p, struct kw_arena *a, struct kw_error *err)
{
	if ((list->count & (list->count - 1)) == 0) { /* room doubles */
		struct kw_problem *grown = kw_arena_calloc(a, list->count ? 2 * list->count : 1, sizeof(*grown));

		if (!grown || list->count >= PROBLEMS_MAX)
			return kw_fail(err, KW_ERR_LIMIT, p->path, "too many problems, or out of memory for them");
		if (list->count)
			memcpy(grown, list->items, list->count * sizeof(*grown));
		list->items = grown;
	}
	list->items[list->count++] = *p;
	return KW_OK;
}

/* By group as they came, then number, then name. Groups are listed one by one, so only the rest is sorted. */
static int by_number(const void *va, const void *vb)
{
	const struct kw_problem *a = va, *b = vb;

	return a->number != b->number ? (a->number < b->number ? -1 : 1) : strcmp(a->stem, b->stem);
}

enum kw_status kw_suite_folder(const char *dir, const char *group, bool numbered, struct kw_arena *a, struct kw_problem_list *list,
			       struct kw_error *err)
{
	char **names = NULL;
	size_t n = 0, first = list->count;
	enum kw_status status;

	if (!kw_is_folder(dir))
		return KW_OK;
	status = kw_dir_list(dir, NULL, a, &names, &n, err);
	for (size_t i = 0; status == KW_OK && i < n; i++) {
		struct kw_problem p = { .group = group };

		if (names[i][0] == '_' || names[i][0] == '.' || !(ends_in(names[i], ".py") || ends_in(names[i], ".yaml")))
			continue;
		p.stem = kw_arena_strndup(a, names[i], (size_t)(strrchr(names[i], '.') - names[i]));
		p.path = kw_path_join(a, dir, names[i]);
		if (!p.stem || !p.path)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the problems");
		p.number = number_of(p.stem, &p.name);
		if (numbered && p.number == 0)
			continue;
		p.key = numbered ? kw_arena_printf(a, "%s/%d", group, p.number) : kw_arena_printf(a, "%s/%s", group, p.stem);
		if (!p.key)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the problems");
		status = add(list, &p, a, err);
	}
	if (list->count > first)
		qsort(list->items + first, list->count - first, sizeof(*list->items), by_number);
	for (size_t i = first + 1; status == KW_OK && i < list->count; i++)
		if (strcmp(list->items[i].key, list->items[i - 1].key) == 0)
			return kw_fail(err, KW_ERR_INPUT, list->items[i].path, "the problem %s is there twice: in %s too",
				       list->items[i].key, kw_path_base(list->items[i - 1].path));
	return status;
}

/* Which suite a folder belongs to, for who named the wrong one. */
static const struct kw_suite *looks_like(const char *path, struct kw_arena *a)
{
	for (size_t i = 0; i < SUITE_COUNT; i++) {
		struct kw_problem_list list = { 0 };

		if (suites[i]->list(path, a, &list, NULL) == KW_OK && list.count)
			return suites[i];
	}
	return NULL;
}

enum kw_status kw_suite_read(const struct kw_suite *s, const char *path, struct kw_arena *a, struct kw_problem_list *out,
			     struct kw_error *err)
{
	const struct kw_suite *other;
	struct stat st;
	size_t n = strlen(path);
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	while (n > 1 && path[n - 1] == '/')
		n--;
	path = kw_arena_strndup(a, path, n);
	if (!path)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (stat(path, &st) != 0)
		return kw_fail(err, errno == ENOENT ? KW_ERR_NOT_FOUND : KW_ERR_IO, path, "cannot read the suite: %s", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return kw_fail(err, KW_ERR_INPUT, path, "a suite is a folder, and this is none");
	status = s->list(path, a, out, err);
	if (status != KW_OK || out->count)
		return status;
	other = looks_like(path, a);
	if (other)
		return kw_fail(err, KW_ERR_INPUT, path, "this is no folder of %s, but one of %s: kwright bench %s --path %.200s", s->name,
			       other->name, other->name, path);
	return kw_fail(err, KW_ERR_INPUT, path, "this is no folder of %s: it has no problems, which are files %s", s->name, s->form);
}

/* ---- selections ---------------------------------------------------------------------------------- */

struct word {
	char group[256], rest[256];       /* "" when not given */
	int from, to;                     /* of a range; from 0: no range */
};

static bool is_group(const struct kw_problem_list *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].group, name) == 0)
			return true;
	return false;
}

/* "level1", "level1/1-20", "1-20", "23", "*relu*" */
static bool read_word(struct kw_str text, const struct kw_problem_list *all, struct word *w)
{
	const char *slash;
	size_t digits;
	char z[256];

	memset(w, 0, sizeof(*w));
	if (text.len == 0 || text.len >= sizeof(z))
		return false;
	memcpy(z, text.ptr, text.len);
	z[text.len] = '\0';
	slash = strchr(z, '/');
	if (is_group(all, z)) {
		snprintf(w->group, sizeof(w->group), "%s", z);
		return true;
	}
	if (slash)
		snprintf(w->group, sizeof(w->group), "%.*s", (int)(slash - z), z);
	snprintf(w->rest, sizeof(w->rest), "%s", slash ? slash + 1 : z);
	digits = strspn(w->rest, "0123456789");
	if (digits == 0 || digits > 8)
		return true;
	w->from = w->to = (int)strtol(w->rest, NULL, 10);
	if (w->rest[digits] == '\0')
		return true;
	if (w->rest[digits] == '-' && strspn(w->rest + digits + 1, "0123456789") == strlen(w->rest + digits + 1) &&
	    w->rest[digits + 1] && strlen(w->rest + digits + 1) <= 8) {
		w->to = (int)strtol(w->rest + digits + 1, NULL, 10);
		return true;
	}
	w->from = w->to = 0; /* a name that begins with a digit */
	return true;
}

static bool means(const struct word *w, const struct kw_problem *p)
{
	if (w->group[0] && fnmatch(w->group, p->group, 0) != 0)
		return false;
	if (!w->rest[0])
		return true;
	if (w->from || w->to)
		return p->number >= w->from && p->number <= w->to && p->number > 0;
	return fnmatch(w->rest, p->stem, FNM_CASEFOLD) == 0 || fnmatch(w->rest, p->name, FNM_CASEFOLD) == 0;
}

static enum kw_status no_match(const struct kw_suite *s, const struct kw_problem_list *all, struct kw_str text, struct kw_error *err)
{
	const char *names[WORDS_MAX], *near;
	char z[256];
	size_t n = 0;

	for (size_t i = 0; i < all->count && n + 2 < WORDS_MAX; i++) {
		names[n++] = all->items[i].name;
		if (i == 0 || strcmp(all->items[i].group, all->items[i - 1].group) != 0)
			names[n++] = all->items[i].group;
	}
	snprintf(z, sizeof(z), KW_STR_FMT, KW_STR_ARG(text));
	near = kw_str_nearest(z, names, n);
	return kw_fail(err, KW_ERR_USAGE, "", "--select '%.100s' means no problem of this %s%s%s%s; kwright bench %s --list shows all %zu", z,
		       s->name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", s->name, all->count);
}

enum kw_status kw_suite_select(const struct kw_suite *s, const struct kw_problem_list *all, const char *const *words, size_t count,
			       struct kw_arena *a, struct kw_problem_list *out, struct kw_error *err)
{
	bool *chosen = kw_arena_calloc(a, all->count + 1, sizeof(*chosen));

	memset(out, 0, sizeof(*out));
	out->items = kw_arena_calloc(a, all->count + 1, sizeof(*out->items));
	if (!chosen || !out->items)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the selection");
	for (size_t i = 0; i < count; i++) {
		struct kw_str rest = kw_str_from(words[i]), part;

		while (kw_str_split(&rest, ',', &part)) {
			struct word w;
			bool any = false;

			part = kw_str_trim(part);
			for (size_t k = 0; read_word(part, all, &w) && k < all->count; k++)
				if (means(&w, &all->items[k]))
					any = chosen[k] = true;
			if (!any)
				return no_match(s, all, part, err);
		}
	}
	for (size_t k = 0; k < all->count; k++)
		if (count == 0 || chosen[k])
			out->items[out->count++] = all->items[k];
	return KW_OK;
}
