/* Kernels that are templates: the kernel becomes a device function, and a plain one calls it with what the launch gave. */
#include "ops/import_kernel.h"

#include <ctype.h>
#include <string.h>

enum { WRAPPER_MAX = 1 << 16 };

static struct kw_str word_of(const struct kw_tokens *t, size_t i)
{
	return (struct kw_str){ t->list[i].ptr, t->list[i].len };
}

/* The ">" that belongs to the "<" at i; t->count where there is none. */
static size_t closing(const struct kw_tokens *t, size_t i, size_t most)
{
	int depth = 0;

	for (; i < most; i++) {
		depth += kw_token_is(t, i, "<");
		depth -= kw_token_is(t, i, ">");
		if (depth == 0)
			return i;
		if (t->list[i].match > i)
			i = t->list[i].match;
	}
	return t->count;
}

static struct kw_import_template parameter(const struct kw_tokens *t, size_t from, size_t to)
{
	struct kw_import_template x = { .type = kw_token_is(t, from, "typename") || kw_token_is(t, from, "class") };

	for (size_t i = from; i < to; i++) {
		if (kw_token_is(t, i, "=")) {
			x.has_default = true;
			break;
		}
		if (t->list[i].kind == KW_TOKEN_WORD)
			x.name = word_of(t, i);
	}
	return x;
}

void kw_import_template_read(const struct kw_tokens *t, struct kw_import_kernel *k)
{
	size_t close, parts[KW_IMPORT_TEMPLATE][2];

	if (!kw_token_is(t, k->first, "template") || !kw_token_is(t, k->first + 1, "<"))
		return;
	close = closing(t, k->first + 1, k->at);
	if (close >= k->at)
		return;
	k->template_count = kw_import_split(t, k->first + 2, close, parts, KW_IMPORT_TEMPLATE);
	for (size_t i = 0; i < k->template_count; i++)
		k->templates[i] = parameter(t, parts[i][0], parts[i][1]);
	for (size_t p = 0; p < k->param_count; p++)
		for (size_t i = 0; i < k->template_count; i++)
			if (k->templates[i].type && !k->params[p].pointer &&
			    memmem(k->params[p].text.ptr, k->params[p].text.len, k->templates[i].name.ptr, k->templates[i].name.len))
				k->params[p].floating = true;
}

size_t kw_import_template_launch(const struct kw_tokens *t, size_t end, size_t parts[][2], size_t most, size_t *count)
{
	size_t open = end;
	int depth = 0;

	*count = 0;
	if (!kw_token_is(t, end, ">"))
		return end;
	for (;; open--) {
		depth += kw_token_is(t, open, ">");
		depth -= kw_token_is(t, open, "<");
		if (depth == 0 || open == 0)
			break;
	}
	if (depth || open == 0)
		return end;
	*count = kw_import_split(t, open + 1, end, parts, most);
	return open - 1;
}

static const char *cuda_type(enum kw_dtype d)
{
	return d == KW_F64 ? "double" : d == KW_F16 ? "__half" : d == KW_BF16 ? "__nv_bfloat16" : "float";
}

const char *kw_import_template_type(const struct kw_import_template *x, const struct kw_task *task, struct kw_arena *a)
{
	static const char *const known[] = { "float", "double", "half", "__half", "half2", "__nv_bfloat16", "nv_bfloat16", "int", "float2", "float4",
					     "unsigned", "int64_t", "int32_t", "long", "char", "bool" };
	struct kw_str given = kw_str_trim(x->given);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (kw_str_eqz(given, known[i]))
			return kw_arena_str(a, given);
	return cuda_type(task->input_count ? task->inputs[0].dtype : KW_F32);
}

/* A parameter's text with the types that the template's stand for. */
static void put_typed(const struct kw_import_kernel *k, struct kw_str text, struct kw_buf *out)
{
	for (size_t i = 0; i < text.len;) {
		size_t n = 0;
		const char *value = NULL;

		while (i + n < text.len && (isalnum((unsigned char)text.ptr[i + n]) || text.ptr[i + n] == '_'))
			n++;
		for (size_t x = 0; x < k->template_count && n; x++)
			if (k->templates[x].type && kw_str_eq(k->templates[x].name, (struct kw_str){ text.ptr + i, n }))
				value = k->templates[x].value;
		if (value)
			kw_buf_addz(out, value);
		else
			kw_buf_add(out, text.ptr + i, n ? n : 1);
		i += n ? n : 1;
	}
}

/* "__global__" becomes "__device__", which is as long, and launch bounds go: they are for kernels only. */
static void demote(const struct kw_tokens *t, const struct kw_import_kernel *k, char *body)
{
	for (size_t i = k->first; i < k->at; i++) {
		char *at = body + (t->list[i].ptr - t->text);

		if (kw_token_is(t, i, "__global__"))
			memcpy(at, "__device__", strlen("__device__"));
		if (kw_token_is(t, i, "__launch_bounds__") && t->list[i + 1].match > i)
			memset(at, ' ', (size_t)(t->list[t->list[i + 1].match].ptr + 1 - t->list[i].ptr));
	}
}

const char *kw_import_template_wrap(const struct kw_tokens *t, const struct kw_import_kernel *k, char *body, struct kw_arena *a)
{
	struct kw_buf b;
	const char *out;
	bool first = true;

	demote(t, k, body);
	kw_buf_init(&b, WRAPPER_MAX);
	kw_buf_printf(&b, "\n/* The template above, as it was launched. */\nextern \"C\" __global__ void %s(", k->entry);
	for (size_t p = 0; p < k->param_count; p++) {
		kw_buf_addz(&b, p ? ", " : "");
		put_typed(k, k->params[p].text, &b);
	}
	kw_buf_printf(&b, ")\n{\n\t" KW_STR_FMT "<", KW_STR_ARG(k->name));
	for (size_t i = 0; i < k->template_count; i++)
		if (k->templates[i].value) {
			kw_buf_printf(&b, "%s%s", first ? "" : ", ", k->templates[i].value);
			first = false;
		}
	kw_buf_addz(&b, ">(");
	for (size_t p = 0; p < k->param_count; p++)
		kw_buf_printf(&b, "%s" KW_STR_FMT, p ? ", " : "", KW_STR_ARG(k->params[p].name));
	kw_buf_addz(&b, ");\n}\n");
	out = b.full || !b.ptr ? NULL : kw_arena_strdup(a, b.ptr);
	kw_buf_release(&b);
	return out;
}
