/* CUDA source without its host code (declared in tokens.h), for a compiler that takes kernels only. */
#include <string.h>

#include "profile/tokens.h"

size_t kw_token_declaration_start(const struct kw_tokens *t, size_t i)
{
	while (i > 0 && !kw_token_is(t, i - 1, ";") && !kw_token_is(t, i - 1, "}") && !kw_token_is(t, i - 1, "{") &&
	       t->list[i - 1].kind != KW_TOKEN_DIRECTIVE)
		i--;
	return i;
}

static void blank(char *copy, const struct kw_tokens *t, size_t from, size_t to)
{
	const char *end = to < t->count ? t->list[to].ptr + t->list[to].len : t->text + t->text_len;

	for (const char *p = t->list[from].ptr; p < end; p++)
		if (*p != '\n')
			copy[p - t->text] = ' ';
}

/* Names that only the host has: the runtime's calls, streams, the standard library's containers. */
static bool is_host(const struct kw_tokens *t, size_t from, size_t to)
{
	static const char *const words[] = { "<<<",  "printf", "cout",	"malloc", "vector", "chrono",
					     "argc", "argv",   "torch", "at",	  "PYBIND11_MODULE", "TORCH_LIBRARY", NULL };

	if (kw_tokens_hold(t, from, to, words))
		return true;
	for (size_t i = from; i < to && i < t->count; i++)
		if (t->list[i].kind == KW_TOKEN_WORD && t->list[i].len > 5 &&
		    (memcmp(t->list[i].ptr, "cuda", 4) == 0 || memcmp(t->list[i].ptr, "cublas", 6) == 0))
			return true;
	return false;
}

/* Headers that a device compiler has: those of the toolkit. */
static bool is_host_header(const struct kw_token *k)
{
	static const char *const kept[] = { "cuda", "mma.h", "cooperative_groups", "cub/", "kw.h", "math_constants" };

	if (!memmem(k->ptr, k->len, "include", 7))
		return false;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (memmem(k->ptr, k->len, kept[i], strlen(kept[i])) && !memmem(k->ptr, k->len, "cuda_runtime", 12))
			return false;
	return true;
}

char *kw_tokens_device_only(const char *text, size_t len, struct kw_arena *a)
{
	static const char *const marks[] = { "__global__", "__device__", NULL };
	struct kw_tokens t;
	char *copy = kw_arena_strndup(a, text, len);

	if (!copy || !kw_tokens_read(&t, text, len, a))
		return NULL;
	for (size_t i = 0; i < t.count; i++) {
		size_t close, from, end;

		if (t.list[i].kind == KW_TOKEN_DIRECTIVE && is_host_header(&t.list[i]))
			blank(copy, &t, i, i);
		if (t.list[i].kind != KW_TOKEN_WORD || !kw_token_is(&t, i + 1, "("))
			continue;
		close = t.list[i + 1].match;
		/* A function of the host that is only declared here. */
		if (close > i && kw_token_is(&t, close + 1, ";")) {
			from = kw_token_declaration_start(&t, i);
			if (!kw_tokens_hold(&t, from, i, marks) && is_host(&t, from, close))
				blank(copy, &t, from, close + 1);
			i = close;
			continue;
		}
		if (close <= i + 1 || !kw_token_is(&t, close + 1, "{") || t.list[close + 1].match <= close)
			continue;
		from = kw_token_declaration_start(&t, i);
		end = t.list[close + 1].match;
		if (!kw_tokens_hold(&t, from, i, marks) && is_host(&t, from, end))
			blank(copy, &t, from, end);
		i = end;
	}
	return copy;
}
