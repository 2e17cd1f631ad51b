#include "backend/job.h"

#include "backend/cache.h"
#include "base/alloc.h"
#include "base/file.h"

#include <string.h>

#define PART_LINE "#include \"kw_whole.h\"\n"
#define PART_PATH "src/backend/builtin/kw_whole.h"

enum kw_status kw_build_header(const char *path, struct kw_arena *a, char **text, size_t *len, struct kw_error *err)
{
	char *part, *at, *all;
	size_t part_len;
	enum kw_status s = kw_data_read(path, a, text, len, err);

	at = s == KW_OK ? memmem(*text, *len, PART_LINE, strlen(PART_LINE)) : NULL;
	if (!at)
		return s;
	s = kw_data_read(PART_PATH, a, &part, &part_len, err);
	if (s != KW_OK)
		return s;
	all = kw_arena_printf(a, "%.*s%s%s", (int)(at - *text), *text, part, at + strlen(PART_LINE));
	if (!all)
		return kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	*text = all;
	*len = strlen(all);
	return KW_OK;
}

static enum kw_status make_key(const struct kw_build_steps *steps, struct kw_build_job *job, char key[KW_SHA256_HEX],
			       struct kw_error *err)
{
	struct kw_hasher h;
	enum kw_status s;

	if (kw_hasher_init(&h) != 0)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_hasher_addz(&h, "backend", steps->version);
	kw_hasher_add(&h, "source", job->c->source, job->c->source_len);
	kw_hasher_addz(&h, "name", job->c->name);
	kw_hasher_add(&h, "header", job->header ? job->header : "", job->header_len);
	s = steps->key(job, &h, err);
	kw_hasher_final(&h, key);
	return s;
}

static enum kw_status compile_or_find(const struct kw_build_steps *steps, struct kw_build_job *job, struct kw_error *err)
{
	struct kw_artefact *a = &job->out->artefact, known = *a;
	char key[KW_SHA256_HEX];
	enum kw_status s = make_key(steps, job, key, err);
	bool cache = !job->opts->no_cache, found = false;

	if (s != KW_OK || job->out->cls != KW_V_OK)
		return s;
	found = cache && kw_cache_get(key, a);
	if (!found) { /* a damaged entry may have been read into it */
		*a = known;
		s = steps->compile(job, err);
		kw_diagnostics_take(&job->diags, a);
	}
	memcpy(a->key, key, sizeof(a->key));
	if (!found && cache && s == KW_OK && job->out->cls == KW_V_OK)
		kw_cache_put(key, a);
	return s;
}

static enum kw_status run_steps(const struct kw_build_steps *steps, struct kw_build_job *job, struct kw_error *err)
{
	enum kw_status s = steps->find(job, err);

	if (s == KW_OK && steps->header)
		s = kw_build_header(steps->header, &job->arena, &job->header, &job->header_len, err);
	if (s == KW_OK && job->out->cls == KW_V_OK && steps->check)
		steps->check(job);
	if (s == KW_OK && job->out->cls == KW_V_OK)
		s = compile_or_find(steps, job, err);
	if (job->out->cls != KW_V_OK && job->diags.count > 0) /* turned down before the compiler ran */
		kw_diagnostics_take(&job->diags, &job->out->artefact);
	return s;
}

enum kw_status kw_build_run(const struct kw_build_steps *steps, const struct kw_candidate *c, const struct kw_bound_plan *bound,
			    const struct kw_build_opts *opts, struct kw_build_result *out, struct kw_error *err)
{
	struct kw_build_job *job = kw_calloc(1, steps->bytes);
	enum kw_status s;

	if (!job)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	job->c = c;
	job->bound = bound;
	job->opts = opts;
	job->out = out;
	out->cls = KW_V_OK;
	out->subclass = KW_S_NONE;
	out->artefact.kind = steps->kind;
	kw_arena_init(&job->arena, steps->arena_bytes);
	kw_diagnostics_init(&job->diags, steps->file, c->name);
	s = run_steps(steps, job, err);
	if (steps->release)
		steps->release(job);
	if (job->dir[0])
		kw_rmtree(job->dir, NULL);
	kw_diagnostics_release(&job->diags);
	kw_arena_release(&job->arena);
	kw_free(job);
	return s;
}

void kw_build_reject(struct kw_build_job *job, enum kw_verdict_class cls, enum kw_subclass subclass, int line, int column,
		     const char *message)
{
	kw_diagnostics_add(&job->diags, KW_ERROR, subclass, job->c->name, line, column, message);
	job->out->cls = cls;
	job->out->subclass = subclass;
}

const char *kw_build_define(struct kw_build_job *job, size_t i)
{
	return kw_arena_printf(&job->arena, "-D%s=%lld", job->bound->defines[i].name, (long long)job->bound->defines[i].value);
}
