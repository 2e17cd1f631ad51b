/* Parsing: libfyaml's events into nodes of our own. The readers are in yaml_get.c. */
#include "base/yaml.h"

#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MAX_DEPTH = 32, MAX_NODES = 100000 };

struct level {
	struct kw_yaml *node;
	struct kw_yaml **tail;   /* where the next child goes */
	const char *key;         /* a map whose key was read and whose value is due */
	int key_line, key_column;
};

struct walk {
	struct kw_arena *arena;
	struct kw_error *err;
	const char *file;
	struct kw_yaml *root;
	struct level levels[MAX_DEPTH];
	int depth, nodes, documents;
	int line, column;        /* of the last event that had a place */
};

static enum kw_status fail_at(const struct walk *w, enum kw_status s, int line, int column,
			      const char *text)
{
	char where[512];

	snprintf(where, sizeof(where), "%s:%d:%d", w->file, line, column);
	return kw_fail(w->err, s, where, "%s", text);
}

static enum kw_status fail_here(const struct walk *w, enum kw_status s, const char *text)
{
	return fail_at(w, s, w->line, w->column, text);
}

static int by_key(const void *a, const void *b)
{
	const struct kw_yaml *x = *(const struct kw_yaml *const *)a;
	const struct kw_yaml *y = *(const struct kw_yaml *const *)b;
	int c = strcmp(x->key, y->key);

	if (c == 0)
		c = (x->key_line > y->key_line) - (x->key_line < y->key_line);
	return c ? c : (x->key_column > y->key_column) - (x->key_column < y->key_column);
}

static enum kw_status check_duplicates(const struct walk *w, const struct kw_yaml *map)
{
	const struct kw_yaml **sorted;
	char text[512];
	size_t n = 0;

	if (map->child_count < 2)
		return KW_OK;
	sorted = kw_arena_calloc(w->arena, map->child_count, sizeof(*sorted));
	if (!sorted)
		return fail_here(w, KW_ERR_NOMEM, "out of memory");
	for (const struct kw_yaml *c = map->first; c; c = c->next)
		sorted[n++] = c;
	qsort(sorted, n, sizeof(*sorted), by_key);
	for (size_t i = 1; i < n; i++) {
		const struct kw_yaml *a = sorted[i - 1], *b = sorted[i];

		if (strcmp(a->key, b->key) != 0)
			continue;
		snprintf(text, sizeof(text), "duplicate key '%.100s'; the first is in line %d",
			 a->key, a->key_line);
		return fail_at(w, KW_ERR_INPUT, b->key_line, b->key_column, text);
	}
	return KW_OK;
}

/* Hangs a node below the open one (or makes it the root). */
static enum kw_status place_node(struct walk *w, struct kw_yaml *n)
{
	struct level *l;

	if (w->depth == 0) {
		w->root = n;
		return KW_OK;
	}
	l = &w->levels[w->depth - 1];
	if (l->node->kind == KW_YAML_MAP) {
		if (!l->key)
			return fail_here(w, KW_ERR_INPUT, "a key must be plain text");
		n->key = l->key;
		n->key_line = l->key_line;
		n->key_column = l->key_column;
		l->key = NULL;
	}
	*l->tail = n;
	l->tail = &n->next;
	l->node->child_count++;
	return KW_OK;
}

static struct kw_yaml *make_node(struct walk *w, enum kw_yaml_kind kind)
{
	struct kw_yaml *n;

	if (++w->nodes > MAX_NODES) {
		fail_here(w, KW_ERR_LIMIT, "more than 100000 values in one file");
		return NULL;
	}
	n = kw_arena_calloc(w->arena, 1, sizeof(*n));
	if (!n) {
		fail_here(w, KW_ERR_NOMEM, "out of memory");
		return NULL;
	}
	n->kind = kind;
	n->file = w->file;
	n->line = w->line;
	n->column = w->column;
	return n;
}

static enum kw_status on_open(struct walk *w, struct fy_event *e, enum kw_yaml_kind kind)
{
	struct kw_yaml *n;
	enum kw_status s;

	if (w->depth == MAX_DEPTH)
		return fail_here(w, KW_ERR_LIMIT, "more than 32 levels of nesting");
	n = make_node(w, kind);
	if (!n)
		return w->err ? w->err->status : KW_ERR_LIMIT;
	n->flow = fy_event_get_node_style(e) == FYNS_FLOW;
	s = place_node(w, n);
	if (s == KW_OK)
		w->levels[w->depth++] = (struct level){ .node = n, .tail = &n->first };
	return s;
}

static enum kw_status on_close(struct walk *w)
{
	const struct kw_yaml *n = w->levels[--w->depth].node;

	return n->kind == KW_YAML_MAP ? check_duplicates(w, n) : KW_OK;
}

static enum kw_status on_scalar(struct walk *w, struct fy_event *e)
{
	struct level *l = w->depth ? &w->levels[w->depth - 1] : NULL;
	struct fy_token *t = e->scalar.value;
	size_t len = 0;
	const char *text = t ? fy_token_get_text(t, &len) : "";
	char *copy = text ? kw_arena_strndup(w->arena, text, len) : NULL;
	struct kw_yaml *n;

	if (!copy)
		return fail_here(w, KW_ERR_NOMEM, "out of memory");
	if (memchr(copy, '\0', len))
		return fail_here(w, KW_ERR_INPUT, "a text holds a NUL character");
	if (l && l->node->kind == KW_YAML_MAP && !l->key) {
		l->key = copy;
		l->key_line = w->line;
		l->key_column = w->column;
		return KW_OK;
	}
	n = make_node(w, KW_YAML_SCALAR);
	if (!n)
		return w->err ? w->err->status : KW_ERR_LIMIT;
	n->text = copy;
	n->text_len = len;
	n->quoted = t && fy_token_scalar_style(t) != FYSS_PLAIN;
	return place_node(w, n);
}

static enum kw_status on_event(struct walk *w, struct fy_event *e)
{
	const struct fy_mark *m = fy_event_start_mark(e);

	if (m) {
		w->line = m->line + 1;
		w->column = m->column + 1;
	}
	if (e->type == FYET_ALIAS || fy_event_get_anchor_token(e))
		return fail_here(w, KW_ERR_INPUT, "anchors and aliases are not supported");
	if (fy_event_get_tag_token(e))
		return fail_here(w, KW_ERR_INPUT, "tags (!name) are not supported");
	switch (e->type) {
	case FYET_DOCUMENT_START:
		if (++w->documents > 1)
			return fail_here(w, KW_ERR_INPUT, "a second document in one file");
		return KW_OK;
	case FYET_MAPPING_START:
		return on_open(w, e, KW_YAML_MAP);
	case FYET_SEQUENCE_START:
		return on_open(w, e, KW_YAML_SEQ);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		return on_close(w);
	case FYET_SCALAR:
		return on_scalar(w, e);
	default:
		return KW_OK;
	}
}

/* The first complaint is the cause; those behind it are its echo. */
static enum kw_status report_syntax(struct walk *w, struct fy_diag *diag)
{
	void *at = NULL;
	struct fy_diag_error *first = diag ? fy_diag_errors_iterate(diag, &at) : NULL;

	if (!first)
		return fail_here(w, KW_ERR_INPUT, "not readable as YAML");
	return fail_at(w, KW_ERR_INPUT, first->line < 1 ? 1 : first->line,
		       first->column < 1 ? 1 : first->column, first->msg);
}

static enum kw_status walk_events(struct walk *w, struct fy_parser *p, struct fy_diag *diag)
{
	enum kw_status s = KW_OK;

	while (s == KW_OK) {
		struct fy_event *e = fy_parser_parse(p);
		bool end = e && e->type == FYET_STREAM_END;

		if (!e)
			return report_syntax(w, diag);
		s = on_event(w, e);
		fy_parser_event_free(p, e);
		if (end)
			break;
	}
	if (s == KW_OK && !w->root)
		return kw_fail(w->err, KW_ERR_INPUT, w->file, "is empty");
	return s;
}

static enum kw_status check_bytes(const char *file, const char *text, size_t len,
				  struct kw_error *err)
{
	const char *what;
	char where[512];
	int line;

	if (len > MAX_BYTES)
		return kw_fail(err, KW_ERR_LIMIT, file, "%zu bytes of YAML; at most %d are read",
			       len, MAX_BYTES);
	line = kw_text_bad_line(text, len, &what);
	if (!line)
		return KW_OK;
	snprintf(where, sizeof(where), "%.490s:%d", file, line);
	return kw_fail(err, KW_ERR_INPUT, where, "%s: this is no YAML text", what);
}

enum kw_status kw_yaml_parse(const char *file, const char *text, size_t len, struct kw_arena *a,
			     struct kw_yaml **root, struct kw_error *err)
{
	struct walk w = { .arena = a, .err = err, .line = 1, .column = 1 };
	enum kw_status s = check_bytes(file, text, len, err);
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 };
	struct fy_diag_cfg diag_cfg;
	struct fy_diag *diag = NULL;
	struct fy_parser *p = NULL;

	*root = NULL;
	if (s != KW_OK)
		return s;
	w.file = kw_arena_strdup(a, file);
	if (!w.file)
		return kw_fail(err, KW_ERR_NOMEM, file, "out of memory");
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL;
	diag_cfg.colorize = false;
	diag = fy_diag_create(&diag_cfg);
	if (diag)
		fy_diag_set_collect_errors(diag, true);
	cfg.diag = diag;
	p = diag ? fy_parser_create(&cfg) : NULL;
	if (!p || fy_parser_set_string(p, text, len) != 0)
		s = kw_fail(err, KW_ERR_NOMEM, file, "cannot set up the YAML parser");
	else
		s = walk_events(&w, p, diag);
	if (s == KW_OK)
		*root = w.root;
	if (p)
		fy_parser_destroy(p);
	if (diag)
		fy_diag_destroy(diag);
	return s;
}
