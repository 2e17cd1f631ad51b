#include "search/niche.h"

#include <ctype.h>
#include <string.h>

enum { SEVERAL = 1, FAST_MEMORY = 2, VECTORS = 4, SHAPE_MAX_BYTES = 8 << 20 };

static bool has_any(const char *source, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(source, words[i]))
			return true;
	return false;
}

int kw_niche_of(const struct kw_candidate *c, const struct kw_verdict *v)
{
	static const char *const fast[] = { "__shared__", "__local", "kw_team_", "KW_STREAM_ROW", "_mm_prefetch", "__builtin_prefetch" };
	static const char *const wide[] = { "float4", "kw_load_vec", "omp simd", "vload", "_mm256", "_mm512", "vector_size" };
	int technique = 0, bound = 0;

	technique |= c->plan.kernel_count > 1 || c->plan.workspace_count ? SEVERAL : 0;
	technique |= has_any(c->source, fast, sizeof(fast) / sizeof(fast[0])) ? FAST_MEMORY : 0;
	technique |= has_any(c->source, wide, sizeof(wide) / sizeof(wide[0])) ? VECTORS : 0;
	for (size_t i = 0; v && i < v->case_count; i++)
		if (v->cases[i].has_times && v->cases[i].sol_bound) {
			bound = strcmp(v->cases[i].sol_bound, "memory") == 0 ? 1 : strcmp(v->cases[i].sol_bound, "compute") == 0 ? 2 : 3;
			break;
		}
	return technique * 4 + bound;
}

const char *kw_niche_text(int niche, struct kw_arena *a)
{
	static const char *const bounds[] = { "not known", "memory", "arithmetic", "a cache" };
	int t = niche / 4;

	return kw_arena_printf(a, "%s%s%s; bound by %s", t & SEVERAL ? "several launches" : "one launch",
			       t & FAST_MEMORY ? ", data kept near" : "", t & VECTORS ? ", vectors" : "", bounds[niche % 4]);
}

/* Behind a comment at p; p itself when there is none. A plan line is none. */
static const char *skip_comment(const char *p)
{
	const char *end;

	if (p[0] == '/' && p[1] == '/' && p[2] != '@') {
		end = strchr(p, '\n');
		return end ? end : p + strlen(p);
	}
	if (p[0] == '/' && p[1] == '*') {
		end = strstr(p + 2, "*/");
		return end ? end + 2 : p + strlen(p);
	}
	return p;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

void kw_niche_shape(const char *source, char sha[KW_SHA256_HEX])
{
	struct kw_buf b;
	bool gap = false;

	kw_buf_init(&b, SHAPE_MAX_BYTES);
	for (const char *p = source; *p;) {
		const char *after = skip_comment(p);

		if (after > p || isspace((unsigned char)*p)) {
			gap = true;
			p = after > p ? after : p + 1;
			continue;
		}
		/* A blank matters between two words only. */
		if (gap && b.len && word_char(b.ptr[b.len - 1]) && word_char(*p))
			kw_buf_addc(&b, ' ');
		gap = false;
		kw_buf_addc(&b, *p++);
	}
	kw_sha256_hex(b.ptr ? b.ptr : "", b.len, sha);
	kw_buf_release(&b);
}
