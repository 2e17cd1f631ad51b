#include "model/provider.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* An answer as it came, its reasoning, and room for copies. */
enum { ANSWER_ARENA_BYTES = 64 << 20, NAMES_MAX = 16 };

#define X(name) extern const struct kw_provider name;
#include "model/providers.def"
#undef X

static const struct kw_provider *const all[] = {
#define X(name) &name,
#include "model/providers.def"
#undef X
};

const struct kw_provider *const *kw_provider_all(size_t *count)
{
	*count = sizeof(all) / sizeof(all[0]);
	return all;
}

static const struct {
	const char *name, *text;
} finishes[] = {
#define X(e, name, text) { name, text },
	KW_FINISH_LIST(X)
#undef X
};

const char *kw_finish_name(enum kw_finish f)
{
	return (unsigned)f < KW_FINISH_COUNT ? finishes[f].name : "unknown";
}

const char *kw_finish_text(enum kw_finish f)
{
	return (unsigned)f < KW_FINISH_COUNT ? finishes[f].text : "unknown";
}

bool kw_finish_parse(const char *name, enum kw_finish *out)
{
	for (int i = 0; i < KW_FINISH_COUNT; i++)
		if (strcmp(name, finishes[i].name) == 0) {
			*out = (enum kw_finish)i;
			return true;
		}
	return false;
}

bool kw_ask_over(const struct kw_ask *a)
{
	int64_t until = a->until_ns ? atomic_load(a->until_ns) : 0;

	return until && kw_now_ns() >= until;
}

struct kw_model {
	const struct kw_provider *provider;
	char *spec;
	void *state;
};

int64_t kw_tokens_estimate(size_t bytes)
{
	return (int64_t)(bytes + 3) / 4;
}

static enum kw_status unknown(const char *spec, struct kw_str name, struct kw_error *err)
{
	const char *words[NAMES_MAX], *near;
	char word[64];
	struct kw_buf names;
	enum kw_status status;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && n < NAMES_MAX; i++)
		words[n++] = all[i]->name;
	snprintf(word, sizeof(word), KW_STR_FMT, (int)(name.len < 60 ? name.len : 60), name.ptr);
	near = kw_str_nearest(word, words, n);
	if (near)
		return kw_fail(err, KW_ERR_USAGE, "", "no provider '%s' of models; did you mean '%s'?", word, near);
	kw_buf_init(&names, 4096);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		kw_buf_printf(&names, "%s%s%s%s", i ? ", " : "", all[i]->name, all[i]->argument[0] ? ":" : "",
			      all[i]->argument);
	status = kw_fail(err, KW_ERR_USAGE, "", "no provider '%s' of models in '%.100s'; there are %s", word, spec,
			 names.ptr ? names.ptr : "none");
	kw_buf_release(&names);
	return status;
}

static const struct kw_provider *find(struct kw_str name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (kw_str_eqz(name, all[i]->name))
			return all[i];
	return NULL;
}

enum kw_status kw_model_open(const char *spec, const struct kw_provider_opts *o, struct kw_model **out,
			     struct kw_error *err)
{
	static const struct kw_provider_opts own = { .retries = -1 };
	struct kw_str rest = kw_str_from(spec), name = { "", 0 };
	const struct kw_provider *p;
	const char *argument;
	struct kw_model *m;
	enum kw_status status;

	*out = NULL;
	kw_str_split(&rest, ':', &name);
	p = find(name);
	if (!p)
		return unknown(spec, name, err);
	argument = strchr(spec, ':') ? strchr(spec, ':') + 1 : "";
	if (p->argument[0] && !argument[0])
		return kw_fail(err, KW_ERR_USAGE, "", "%s needs what stands behind its colon: %s:%s", p->name, p->name,
			       p->argument);
	m = kw_calloc(1, sizeof(*m));
	if (m)
		m->spec = kw_strdup(spec);
	if (!m || !m->spec) {
		kw_model_close(m);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a model");
	}
	status = p->open(argument, o ? o : &own, &m->state, err);
	if (status != KW_OK) {
		kw_model_close(m);
		return status;
	}
	m->provider = p;
	*out = m;
	return KW_OK;
}

enum kw_status kw_model_ask(struct kw_model *m, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err)
{
	int64_t start = kw_now_ns();
	enum kw_status status;

	*out = (struct kw_answer){ .text = "", .reasoning = "", .model = m->spec, .note = "", .attempts = 1 };
	kw_arena_init(&out->arena, ANSWER_ARENA_BYTES);
	status = m->provider->ask(m->state, a, out, err);
	/* The answer may outlive the model. */
	if (out->model == m->spec)
		out->model = kw_arena_strdup(&out->arena, m->spec);
	if (!out->model) {
		out->model = "";
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an answer");
	}
	if (!out->latency_ns)
		out->latency_ns = kw_now_ns() - start;
	if (status == KW_OK && !out->counted) {
		out->tokens_in = kw_tokens_estimate(strlen(a->prompt));
		out->tokens_out = kw_tokens_estimate(strlen(out->text) + strlen(out->reasoning));
	}
	return status;
}

/* Bytes of the character at p, 0 when it is none. */
static size_t character(const char *p, size_t len)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return c != 0 && n <= len && kw_utf8_valid(p, n) ? n : 0;
}

enum kw_status kw_answer_take_text(struct kw_answer *a, const char *text, size_t len, struct kw_error *err)
{
	struct kw_buf b;
	bool good = true;

	if (kw_utf8_valid(text, len) && !(len && memchr(text, '\0', len))) {
		a->text = kw_arena_strndup(&a->arena, text, len);
	} else {
		kw_buf_init(&b, 3 * len + 1);
		for (size_t i = 0; i < len;) {
			size_t n = character(text + i, len - i);

			kw_buf_add(&b, n ? text + i : "\xef\xbf\xbd", n ? n : 3);
			i += n ? n : 1;
		}
		good = !b.full;
		a->text = good ? kw_arena_strndup(&a->arena, b.ptr, b.len) : NULL;
		kw_buf_release(&b);
	}
	if (a->text)
		return KW_OK;
	a->text = "";
	return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an answer of %zu bytes", len);
}

void kw_answer_release(struct kw_answer *a)
{
	kw_arena_release(&a->arena);
	*a = (struct kw_answer){ .text = "", .reasoning = "", .model = "", .note = "" };
}

void kw_model_close(struct kw_model *m)
{
	if (!m)
		return;
	if (m->provider && m->provider->close)
		m->provider->close(m->state);
	kw_free(m->spec);
	kw_free(m);
}

const char *kw_model_spec(const struct kw_model *m)
{
	return m->spec;
}

const char *kw_model_provider(const struct kw_model *m)
{
	return m->provider->name;
}

bool kw_model_local(const struct kw_model *m)
{
	return m->provider->local;
}

bool kw_model_lasts(const struct kw_model *m)
{
	return m->provider->lasts;
}

enum kw_paid kw_model_paid(const struct kw_model *m)
{
	return m->provider->paid;
}
