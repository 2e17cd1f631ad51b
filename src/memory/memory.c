#include "memory/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "core/hardware.h"

enum { LIMIT_DEFAULT = 50, SHEET_MAX_TEXT = 4096 };

/* ---- learn ---- */

static const char *first_dtype(const struct kw_task *t)
{
	return kw_dtype_name(t->input_count    ? t->inputs[0].dtype
			     : t->output_count ? t->outputs[0].dtype
					       : KW_F32);
}

/* "; bound by memory", of the first case that was timed; "" when none was. */
static const char *bound(const struct kw_verdict *v, struct kw_arena *a)
{
	for (size_t i = 0; i < v->case_count; i++)
		if (v->cases[i].has_times && v->cases[i].sol_bound)
			return kw_arena_printf(a, "; " KW_MEMORY_BOUND "%s", v->cases[i].sol_bound);
	return "";
}

static const char *story(const struct kw_task *t, const struct kw_candidate *c,
			 const struct kw_verdict *v, const char *family, struct kw_arena *a)
{
	const char *bound_by = bound(v, a);

	return !bound_by ? NULL : kw_arena_printf(a, "task %s (%s, %s): %s\ncandidate %s, %s%s%s\n%s%s", t->name, family,
			       first_dtype(t), t->expr ? t->expr : t->reference_c ? "reference in C" : "reference in PyTorch",
			       c->name ? c->name : "?", c->origin ? c->origin : "?",
			       v->tune && *v->tune ? ", tune " : "", v->tune ? v->tune : "",
			       v->summary, bound_by);
}

enum kw_status kw_memory_learn(struct kw_store *memory, const struct kw_task *t,
			       const struct kw_expr *e, const struct kw_candidate *c,
			       const struct kw_verdict *v, struct kw_error *err)
{
	const char *family = e ? kw_family_name(kw_expr_family(e)) : "";
	struct kw_memory_row row;
	struct kw_arena a;
	enum kw_status st;

	if (!memory || v->cls == KW_V_NOT_APPLICABLE)
		return KW_OK;
	kw_arena_init(&a, 1 << 20);
	row = (struct kw_memory_row){
		.kind = "verdict",
		.name = c->name,
		.family = family,
		.device = v->device,
		.dtype = first_dtype(t),
		.text = story(t, c, v, family, &a),
		.outcome = v->cls == KW_V_OK
				   ? kw_verdict_name(v->cls)
				   : kw_arena_printf(&a, "%s: %s", kw_verdict_name(v->cls),
						     kw_subclass_name(v->subclass)),
		.speedup = v->geomean_speedup,
		.when_ms = v->when_ms
	};
	st = row.text && row.outcome
		     ? kw_store_memory_add(memory, &row, NULL, err)
		     : kw_fail(err, KW_ERR_NOMEM, "", "no memory to record what was learned");
	kw_arena_release(&a);
	return st;
}

enum kw_status kw_memory_keep_kernel(struct kw_store *memory, const struct kw_task *t, const struct kw_expr *e,
				     const struct kw_candidate *c, const struct kw_verdict *v, struct kw_error *err)
{
	struct kw_memory_row row = { .kind = "kernel", .name = t->name, .family = e ? kw_family_name(kw_expr_family(e)) : "",
				     .device = v->device ? v->device : "", .dtype = first_dtype(t), .text = c->source,
				     .outcome = c->backend, .speedup = v->geomean_speedup };
	bool added;

	if (!memory || v->cls != KW_V_OK || (c->origin && strncmp(c->origin, "pattern:", 8) == 0))
		return KW_OK;
	return kw_store_memory_add_new(memory, &row, &added, err);
}

/* ---- search ---- */

struct found {
	struct kw_memory_row row;
	int hits, order;
};
struct finder {
	const char *words;
	struct kw_arena *arena;
	struct found *list;
	size_t count, cap;
	bool nomem;
};

static bool same_prefix(const char *text, const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tolower((unsigned char)text[i]) != tolower((unsigned char)word[i]))
			return false;
	return true;
}

/* A word of the text begins with it, whatever the case. */
static bool mentions(const char *text, const char *word, size_t n)
{
	for (const char *p = text; p && *p; p++)
		if ((p == text || !isalnum((unsigned char)p[-1])) && strlen(p) >= n &&
		    same_prefix(p, word, n))
			return true;
	return false;
}

static int hits(const char *words, const struct kw_memory_row *r)
{
	int n = 0;

	for (const char *p = words ? words : ""; *p;) {
		size_t len = 0;

		while (*p && !isalnum((unsigned char)*p))
			p++;
		while (isalnum((unsigned char)p[len]))
			len++;
		if (len)
			n += mentions(r->kind, p, len) || mentions(r->name, p, len) ||
			     mentions(r->family, p, len) || mentions(r->text, p, len) ||
			     mentions(r->device, p, len) || mentions(r->dtype, p, len) ||
			     mentions(r->outcome, p, len);
		p += len;
	}
	return n;
}

static bool has_words(const char *words)
{
	for (const char *p = words ? words : ""; *p; p++)
		if (isalnum((unsigned char)*p))
			return true;
	return false;
}

static void add(struct finder *f, const struct kw_memory_row *r)
{
	int n = hits(f->words, r);

	if (!n && has_words(f->words) && !r->id)
		return;
	if (f->count == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 64;
		struct found *list = kw_arena_calloc(f->arena, cap, sizeof(*list));

		if (!list) {
			f->nomem = true;
			return;
		}
		if (f->count)
			memcpy(list, f->list, f->count * sizeof(*list));
		f->list = list;
		f->cap = cap;
	}
	f->list[f->count] = (struct found){ *r, n, (int)f->count };
	f->count++;
}

static enum kw_status add_patterns(struct finder *f, struct kw_error *err)
{
	struct kw_pattern *p;
	size_t n;
	enum kw_status st = kw_memory_patterns(NULL, f->arena, &p, &n, err);

	for (size_t i = 0; st == KW_OK && i < n; i++) {
		struct kw_memory_row r = { .kind = "pattern",
					   .name = p[i].name,
					   .family = p[i].family,
					   .device = p[i].backend,
					   .dtype = "",
					   .outcome = "" };
		const char *text = p[i].title ? p[i].title : "";

		for (size_t k = 0; k < p[i].why_count && text; k++)
			text = kw_arena_printf(f->arena, "%s\n%s", text, p[i].why[k]);
		r.text = text ? text : "";
		f->nomem = f->nomem || !text;
		add(f, &r);
	}
	return st;
}

static enum kw_status add_sheets(struct finder *f, struct kw_error *err)
{
	const char *const *names;
	char *text, size[40], rate[40];
	size_t n, len;
	enum kw_status st = kw_hardware_list(f->arena, &names, &n, err);

	for (size_t i = 0; st == KW_OK && i < n; i++) {
		struct kw_memory_row r = { .kind = "hardware", .name = names[i], .family = "", .dtype = "", .outcome = "" };
		struct kw_hardware h;

		st = kw_hardware_load(names[i], f->arena, &h, err);
		r.device = kw_arena_printf(f->arena, "knowledge/hardware/%s.yaml", names[i]);
		if (st == KW_OK && r.device)
			st = kw_data_read(r.device, f->arena, &text, &len, err);
		if (st != KW_OK || !r.device)
			break;
		if (len > SHEET_MAX_TEXT)
			text[SHEET_MAX_TEXT] = '\0';
		r.text = kw_arena_printf(f->arena, "%s, %s, %d units, %s at %s\n%s", h.name, h.arch, h.units,
					 kw_human_rate((double)h.memory_bytes, "B", size, sizeof(size)),
					 kw_human_rate(h.memory_bytes_per_s, "B/s", rate, sizeof(rate)), text);
		f->nomem = f->nomem || !r.text;
		if (r.text)
			add(f, &r);
	}
	return st;
}

static enum kw_status add_experience(struct finder *f, struct kw_store *memory, int limit,
				     struct kw_error *err)
{
	struct kw_memory_row *rows;
	size_t n;
	enum kw_status st;

	if (!memory)
		return KW_OK;
	st = kw_store_memory_search(memory, f->words ? f->words : "", limit, f->arena, &rows, &n,
				    err);
	for (size_t i = 0; st == KW_OK && i < n; i++)
		add(f, &rows[i]);
	return st;
}

static int best_first(const void *x, const void *y)
{
	const struct found *p = x, *q = y;

	return p->hits != q->hits ? (p->hits < q->hits) - (p->hits > q->hits)
				  : (p->order > q->order) - (p->order < q->order);
}

enum kw_status kw_memory_search(struct kw_store *memory, const char *words, int limit,
				struct kw_arena *a, struct kw_memory_row **out, size_t *count,
				struct kw_error *err)
{
	struct finder f = { .words = words, .arena = a };
	enum kw_status st = add_patterns(&f, err);

	*count = 0;
	*out = NULL;
	limit = limit > 0 ? limit : LIMIT_DEFAULT;
	if (st == KW_OK)
		st = add_sheets(&f, err);
	if (st == KW_OK)
		st = add_experience(&f, memory, limit, err);
	if (st != KW_OK)
		return st;
	if (f.count)
		qsort(f.list, f.count, sizeof(*f.list), best_first);
	f.count = f.count > (size_t)limit ? (size_t)limit : f.count;
	*out = kw_arena_calloc(a, f.count + 1, sizeof(**out));
	if (!*out || f.nomem)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for what was found");
	for (size_t i = 0; i < f.count; i++)
		(*out)[i] = f.list[i].row;
	*count = f.count;
	return KW_OK;
}
