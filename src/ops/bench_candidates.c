/* A folder of candidates, matched with the problems of a suite by the names of its files:
 *     the suite's own scheme        level_1_problem_23_sample_0_kernel.py, run0/relu.txt
 *     NAME.EXT, GROUP/NAME.EXT      NAME: a problem's file without its ending, its name, or, in its group's folder, its number
 *     .../NAME/sampleK.EXT, .../NAME_sample_K.EXT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "ops/bench.h"

enum { DEPTH_MAX = 8, FILES_MAX = 1 << 20, UNKNOWN_MAX = 4096 };
static const char *const endings[] = { ".py", ".cu", ".cuh", ".c", ".cl", ".hip", ".txt" };

struct search {
	const struct kw_suite *suite;
	const struct kw_problem_list *all;
	const bool *selected;             /* by place in all */
	struct kw_arena *a;
	struct kw_suite_files *out;
	size_t room;
	struct kw_error *err;
};

static bool is_candidate(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(endings) / sizeof(endings[0]); i++)
		if (strcmp(dot, endings[i]) == 0)
			return true;
	return false;
}

static enum kw_status unknown(struct search *s, const char *path, const char *why)
{
	struct kw_suite_files *o = s->out;

	if (!o->unknown)
		o->unknown = kw_arena_calloc(s->a, UNKNOWN_MAX, sizeof(*o->unknown));
	if (!o->unknown)
		return kw_fail(s->err, KW_ERR_NOMEM, "", "out of memory for the candidates");
	if (o->unknown_count == UNKNOWN_MAX)
		return KW_OK;
	o->unknown[o->unknown_count] = kw_arena_printf(s->a, "%s: %s", path, why);
	return o->unknown[o->unknown_count++] ? KW_OK : kw_fail(s->err, KW_ERR_NOMEM, "", "out of memory for the candidates");
}

/* "sample3", "3", "sample_3" */
static bool sample_of(const char *text, int *sample)
{
	if (strncasecmp(text, "sample", 6) == 0)
		text += text[6] == '_' || text[6] == '-' ? 7 : 6;
	if (!isdigit((unsigned char)*text) || strlen(text) > 6 || strspn(text, "0123456789") != strlen(text))
		return false;
	*sample = (int)strtol(text, NULL, 10);
	return true;
}

/* The folders of a path, last first, and its stem. */
static void read_name(const char *path, struct kw_arena *a, char *folders[2], char **stem)
{
	char *copy = kw_arena_strdup(a, path), *slash, *dot;

	folders[0] = folders[1] = NULL;
	*stem = copy;
	if (!copy)
		return;
	slash = strrchr(copy, '/');
	*stem = slash ? slash + 1 : copy;
	dot = strrchr(*stem, '.');
	if (dot && dot != *stem)
		*dot = '\0';
	for (int i = 0; i < 2 && slash; i++) {
		*slash = '\0';
		slash = strrchr(copy, '/');
		folders[i] = slash ? slash + 1 : copy;
	}
}

static bool is_called(const struct kw_problem *p, const char *word)
{
	return word && (strcmp(p->stem, word) == 0 || strcmp(p->name, word) == 0);
}

/* The problem of that name (or number) in that group (NULL: any). *count: how many there are. */
static size_t find(const struct search *s, const char *group, const char *word, int number, int *count)
{
	size_t found = 0;

	*count = 0;
	for (size_t i = 0; i < s->all->count; i++) {
		const struct kw_problem *p = &s->all->items[i];

		if (group && strcmp(p->group, group) != 0)
			continue;
		if (number ? p->number != number : !is_called(p, word))
			continue;
		if (!*count)
			found = i;
		++*count;
	}
	return found;
}

static enum kw_status keep(struct search *s, size_t problem, int sample, const char *path)
{
	struct kw_suite_files *o = s->out;

	if (!s->selected[problem]) {
		o->elsewhere++;
		return KW_OK;
	}
	if (o->count == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct kw_suite_file *grown = room > FILES_MAX ? NULL : kw_arena_calloc(s->a, room, sizeof(*grown));

		if (!grown)
			return kw_fail(s->err, KW_ERR_LIMIT, path, "too many candidates, or out of memory for them");
		if (o->count)
			memcpy(grown, o->items, o->count * sizeof(*grown));
		o->items = grown;
		s->room = room;
	}
	o->items[o->count++] = (struct kw_suite_file){ &s->all->items[problem], sample, path };
	return KW_OK;
}

/* By the common schemes: which words of a path are its name, and which its sample. */
static size_t guess(const struct search *s, const char *path, int *sample, int *count)
{
	char *folders[2], *stem, *tail;
	size_t at;
	int number;

	*sample = *count = 0;
	read_name(path, s->a, folders, &stem);
	if (!stem)
		return 0;
	number = (int)(strspn(stem, "0123456789") == strlen(stem) && strlen(stem) < 9 ? strtol(stem, NULL, 10) : 0);
	at = find(s, folders[0], stem, 0, count);                    /* GROUP/NAME */
	if (!*count && number > 0)
		at = find(s, folders[0], NULL, number, count);       /* GROUP/23 */
	if (!*count && folders[0] && sample_of(stem, sample)) {
		at = find(s, folders[1], folders[0], 0, count);      /* GROUP/NAME/sampleK */
		if (!*count)
			at = find(s, NULL, folders[0], 0, count);    /* NAME/sampleK */
		if (*count)
			return at;
	}
	*sample = 0;
	if (!*count)
		at = find(s, NULL, stem, 0, count);                  /* NAME */
	tail = strstr(stem, "_sample_");
	if (!*count && tail && sample_of(tail + 1, sample)) {
		*tail = '\0';
		at = find(s, folders[0], stem, 0, count);            /* GROUP/NAME_sample_K */
		if (!*count)
			at = find(s, NULL, stem, 0, count);
	}
	return at;
}

static enum kw_status take(struct search *s, const char *path, const char *below)
{
	struct kw_candidate_name name = { 0 };
	int count = 0, sample = 0;
	size_t at;

	if (s->suite->candidate && s->suite->candidate(below, s->a, &name)) {
		at = find(s, name.group, name.word, name.number, &count);
		sample = name.sample;
	} else {
		at = guess(s, below, &sample, &count);
	}
	if (count == 1)
		return keep(s, at, sample, path);
	return unknown(s, below, count ? "more than one problem is called so; put it into a folder of its group's name"
				       : "no problem of the suite is called so");
}

static enum kw_status walk(struct search *s, const char *dir, const char *below, int depth)
{
	char **names = NULL;
	size_t n = 0;
	enum kw_status status = kw_dir_list(dir, NULL, s->a, &names, &n, s->err);

	for (size_t i = 0; status == KW_OK && i < n; i++) {
		const char *path, *inner;

		if (names[i][0] == '.' || strcmp(names[i], "__pycache__") == 0)
			continue;
		path = kw_path_join(s->a, dir, names[i]);
		inner = *below ? kw_path_join(s->a, below, names[i]) : names[i];
		if (!path || !inner)
			return kw_fail(s->err, KW_ERR_NOMEM, "", "out of memory for the candidates");
		if (kw_is_folder(path) && depth < DEPTH_MAX)
			status = walk(s, path, inner, depth + 1);
		else if (!kw_is_folder(path) && is_candidate(names[i]))
			status = take(s, path, inner);
	}
	return status;
}

static int by_problem(const void *va, const void *vb)
{
	const struct kw_suite_file *a = va, *b = vb;

	if (a->problem != b->problem)
		return a->problem < b->problem ? -1 : 1;
	return a->sample != b->sample ? (a->sample < b->sample ? -1 : 1) : strcmp(a->path, b->path);
}

enum kw_status kw_suite_candidates(const struct kw_suite *s, const struct kw_problem_list *all, const struct kw_problem_list *some,
				   const char *dir, struct kw_arena *a, struct kw_suite_files *out, struct kw_error *err)
{
	bool *selected = kw_arena_calloc(a, all->count + 1, sizeof(*selected));
	struct search search = { .suite = s, .all = all, .selected = selected, .a = a, .out = out, .err = err };
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	if (!selected)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the candidates");
	for (size_t i = 0, k = 0; i < all->count && k < some->count; i++) /* some is a part of all, in its order */
		if (strcmp(all->items[i].key, some->items[k].key) == 0) {
			selected[i] = true;
			k++;
		}
	if (!kw_is_folder(dir))
		return kw_fail(err, KW_ERR_NOT_FOUND, dir, "there is no such folder of candidates");
	status = walk(&search, dir, "", 0);
	if (status != KW_OK)
		return status;
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_problem);
	for (size_t i = 1; i < out->count; i++)
		if (out->items[i].problem == out->items[i - 1].problem && out->items[i].sample == out->items[i - 1].sample)
			return kw_fail(err, KW_ERR_INPUT, out->items[i].path, "two files are sample %d of %s: %s too", out->items[i].sample,
				       out->items[i].problem->key, out->items[i - 1].path);
	if (out->count)
		return KW_OK;
	if (out->elsewhere)
		return kw_fail(err, KW_ERR_INPUT, dir, "none of its %zu candidates is for a selected problem", out->elsewhere);
	if (out->unknown_count)
		return kw_fail(err, KW_ERR_INPUT, dir, "no file here is a candidate of this suite; %s", out->unknown[0]);
	return kw_fail(err, KW_ERR_INPUT, dir, "there are no candidates here: files like %s", "NAME.cu, NAME/sample0.py");
}
