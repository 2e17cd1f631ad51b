/* naive_tools.c - the emitter's tools: text, names, sizes, loops, and how an element is stored. */
#include "expr/naive.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool naive_fail(struct gen *g, const struct kw_node *n, const char *what)
{
	if (g->status == KW_OK)
		g->status = kw_fail(g->err, KW_NO, g->task->file ? g->task->file : "",
				    "there is no naive %s for '%s'%s%s", g->lang->gpu ? g->lang->backend : "C",
				    n && n->op ? n->op->name : "this expression", what[0] ? ": " : "", what);
	return false;
}

void naive_nomem(struct gen *g)
{
	if (g->status == KW_OK)
		g->status = kw_fail(g->err, KW_ERR_NOMEM, "", "no memory for the naive kernel");
}

const char *naive_text(struct gen *g, const char *fmt, ...)
{
	char small[512], *big;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	big = n >= 0 ? kw_arena_alloc(g->a, (size_t)n + 1) : NULL;
	if (!big) {
		naive_nomem(g);
		return "0";
	}
	va_start(ap, fmt);
	vsnprintf(big, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return big;
}

const char *naive_name(struct gen *g, const char *stem)
{
	const char *name;

	do {
		name = naive_text(g, "%s%d", stem, g->names++);
	} while (g->status == KW_OK && kw_task_has_name(g->task, name));
	return name;
}

static bool is_word(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == '\0';
}

/* Words that a task may use as names, but which mean something else: what the kernels call in any language, then those
 * of C, of C++ with CUDA, and of OpenCL C. */
static const char called[] =
	" exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan atan tanh erf floor ceil rint trunc pow fabs fmod isnan"
	" expf exp2f expm1f logf log2f log10f log1pf sqrtf sinf cosf tanf atanf tanhf erff floorf ceilf rintf truncf powf fabsf"
	" min max smaller larger cdiv floor_div to_f32 to_odd power_of naive ";
static const char of_c[] = " linux unix ";
static const char of_cuda[] =
	" class new delete this template typename operator private public protected namespace using virtual friend try catch"
	" throw export mutable explicit nullptr xor compl bitand bitor not_eq and_eq or_eq xor_eq wchar_t char16_t char32_t"
	" typeid static_assert decltype constexpr noexcept thread_local alignas alignof static_cast const_cast dynamic_cast"
	" reinterpret_cast threadIdx blockIdx blockDim gridDim linux unix ";
static const char of_opencl[] =
	" kernel global local constant private generic pipe uniform half quad uchar ushort uint ulong size_t event_t sampler_t"
	" complex imaginary vector ";

static bool is_taken(const struct gen *g, const char *name)
{
	const char *own = !g->lang->gpu ? of_c : strcmp(g->lang->backend, "cuda") == 0 ? of_cuda : of_opencl;
	char word[80];

	snprintf(word, sizeof(word), " %s ", name);
	return strstr(called, word) || strstr(own, word);
}

const char *naive_ident(struct gen *g, const char *name)
{
	if (!is_taken(g, name))
		return name;
	do
		name = naive_text(g, "%s_", name);
	while (g->status == KW_OK && kw_task_has_name(g->task, name));
	return name;
}

/* Sizes as the plan lines have them, in the language: names, and what min, max and cdiv are called. */
static const char *translate(struct gen *g, const char *s)
{
	const char *const functions[][2] = {
		{ "min", g->lang->min }, { "max", g->lang->max }, { "cdiv", g->lang->cdiv },
	};
	struct kw_buf out;
	const char *text;

	kw_buf_init(&out, NAIVE_MAX_TEXT);
	while (*s) {
		size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
		const char *word = naive_text(g, "%.*s", (int)n, s);
		if (n && s[n] == '(')
			for (size_t i = 0; i < 3; i++)
				word = strcmp(word, functions[i][0]) == 0 ? functions[i][1] : word;
		else if (n)
			word = naive_ident(g, word);
		kw_buf_addz(&out, word);
		s += n;
		if (*s)
			kw_buf_addc(&out, *s++);
	}
	text = out.full ? NULL : kw_arena_str(g->a, kw_buf_str(&out));
	kw_buf_release(&out);
	if (!text)
		naive_nomem(g);
	return text ? text : "0";
}

const char *naive_size(struct gen *g, const struct kw_poly *p)
{
	const char *text = sym_text(g->a, p);

	if (!text) {
		naive_nomem(g);
		return "0";
	}
	text = translate(g, text);
	return is_word(text) ? text : naive_text(g, "(%s)", text);
}

const char *naive_dim(struct gen *g, const struct kw_node *n, int axis)
{
	return naive_size(g, n->shape[axis].poly);
}

/* "64 * 192": numbers only. */
static bool is_number(const char *text, int64_t *out)
{
	for (*out = 1;;) {
		char *end;
		int64_t v = strtoll(text, &end, 10);

		if (end == text || v < 0 || __builtin_mul_overflow(*out, v, out))
			return false;
		if (!*end)
			return true;
		if (strncmp(end, " * ", 3) != 0)
			return false;
		text = end + 3;
	}
}

const char *naive_product(struct gen *g, const char *a, const char *b)
{
	int64_t x, y, product;

	if (is_number(a, &x) && is_number(b, &y) && !__builtin_mul_overflow(x, y, &product) && product > INT32_MAX)
		return naive_text(g, "%lld", (long long)product);
	return naive_text(g, "%s * %s", a, b);
}

bool naive_is_one(const struct kw_node *n, int axis)
{
	return sym_is(n->shape[axis].poly, 1);
}

enum ctype naive_ctype(const struct gen *g, enum kw_dtype d)
{
	return d == KW_F64 || (g->wide && kw_dtype_is_float(d)) ? CT_F64 : kw_dtype_is_float(d) ? CT_F32 : CT_I64;
}

const char *naive_ctype_text(enum ctype c)
{
	return c == CT_F64 ? "double" : c == CT_F32 ? "float" : "int64_t";
}

/* ---- rounding ---- */

const char *naive_rounded(struct gen *g, enum kw_dtype d, const char *v)
{
	return g->rounds && d != KW_F64 && kw_dtype_is_float(d) ? naive_text(g, "to_f32(%s)", v) : v;
}

void naive_add(struct gen *g, struct scope *s, enum kw_dtype d, const char *acc, char op, const char *v)
{
	if (g->rounds && d != KW_F64 && kw_dtype_is_float(d))
		naive_line(s, "%s = to_f32(%s %c %s);", acc, acc, op, v);
	else
		naive_line(s, "%s %c= %s;", acc, op, v);
}

/* ---- helpers ---- */

bool naive_names(const char *text, struct kw_str word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	for (bool member = false; *text;) { /* the x of threadIdx.x is none */
		size_t n = strspn(text, letters);
		if (n && !member && kw_str_eq((struct kw_str){ text, n }, word))
			return true;
		text += n;
		member = *text == '.';
		text += *text != '\0';
	}
	return false;
}

_Static_assert(NAIVE_LANES == 32 && NAIVE_LANES * NAIVE_LANE_TERMS == 256, "add_in_order has them in its text");

void naive_helpers(const struct gen *g, const char *text, struct kw_buf *out)
{
	const struct { const char *name, *type, *rest; } list[] = {
		/* Sizes may be written with these; they are functions of the plan lines, not of the languages. */
		{ g->lang->min, "int64_t", "(int64_t a, int64_t b) { return a < b ? a : b; }\n" },
		{ g->lang->max, "int64_t", "(int64_t a, int64_t b) { return a > b ? a : b; }\n" },
		{ g->lang->cdiv, "int64_t", "(int64_t a, int64_t b) { return (a + b - 1) / b; }\n" },
		{ "floor_div", "int64_t", "(int64_t a, int64_t b)\n{\n"
					  "\treturn b == 0 ? 0 : b == -1 ? -a : a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n\n" },
		/* Modulo 2^64, so without signs. */
		{ "power_of", "int64_t", "(int64_t a, int64_t b)\n{\n"
					 "\tuint64_t r = 1, by = (uint64_t)a;\n\n"
					 "\tif (b < 0)\n\t\treturn a == 1 ? 1 : a == -1 ? 1 - 2 * (b & 1) : 0;\n"
					 "\tfor (; b; b >>= 1, by *= by)\n\t\tr *= b & 1 ? by : 1;\n"
					 "\treturn (int64_t)r;\n}\n\n" },
		{ "to_f32", "double", "(double v) { return (double)(float)v; }\n" },
		/* Lane i % 32 has term i; all lanes get the sum. */
		{ "add_in_order", "float", "(float sum, const float *x, int64_t left)\n{\n"
					   "\tif (left < 256) {\n"
					   "\t\tfor (int i = 0; i < left; i++)\n"
					   "\t\t\tsum = __fadd_rn(sum, __shfl_sync(0xffffffffu, x[i / 32], i % 32));\n"
					   "\t\treturn sum;\n\t}\n"
					   "\t#pragma unroll 32\n"
					   "\tfor (int i = 0; i < 256; i++)\n"
					   "\t\tsum = __fadd_rn(sum, __shfl_sync(0xffffffffu, x[i / 32], i % 32));\n"
					   "\treturn sum;\n}\n\n" },
		/* Rounded to odd, so that rounding it again to a narrower type is right. */
		{ "to_odd", "float", "(double v)\n{\n"
				     "\tconst float f = (float)v;\n"
				     "\tconst uint32_t bits = kw_bits_f32(f);\n\n"
				     "\tif ((double)f == v || v != v)\n\t\treturn f;\n"
				     "\treturn kw_f32_bits((fabs((double)f) > fabs(v) ? bits - 1 : bits) | 1);\n}\n\n" },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (naive_names(text, kw_str_from(list[i].name)))
			kw_buf_printf(out, "%s%s %s%s", g->lang->helper, list[i].type, list[i].name, list[i].rest);
	if (out->len > 1 && out->ptr[out->len - 2] != '\n')
		kw_buf_addc(out, '\n');
}

void naive_indent(struct kw_buf *out, struct kw_str text)
{
	struct kw_str line;
	int depth = 1;

	while (text.len && kw_str_split(&text, '\n', &line)) {
		if (!line.len)
			continue;
		depth -= line.ptr[0] == '}';
		for (int i = 0; i < depth; i++)
			kw_buf_addc(out, '\t');
		kw_buf_add(out, line.ptr, line.len);
		kw_buf_addc(out, '\n');
		depth += line.ptr[line.len - 1] == '{';
	}
}

/* ---- loops ---- */

void naive_scope(struct gen *g, struct scope *s, struct scope *parent, const char *bound)
{
	static const char *const letters[] = { "i", "j", "k", "l", "p", "q", "r", "s" };
	int depth = parent ? parent->depth + 1 : 0;

	*s = (struct scope){ .parent = parent, .depth = depth, .bound = bound };
	kw_buf_init(&s->text, NAIVE_MAX_TEXT);
	if (parent)
		s->var = naive_name(g, letters[(depth - 1) % 8]);
}

void naive_close(struct gen *g, struct scope *s, const char *pragma)
{
	struct kw_buf *out = &s->parent->text;

	if (pragma && g->openmp)
		kw_buf_printf(out, "#pragma omp parallel for%s\n", pragma);
	kw_buf_printf(out, "for (int64_t %s = 0; %s < %s; %s++) {\n", s->var, s->var, s->bound, s->var);
	kw_buf_add(out, s->text.ptr, s->text.len);
	kw_buf_addz(out, "}\n");
	if (s->text.full || out->full)
		naive_nomem(g);
	kw_buf_release(&s->text);
}

void naive_line(struct scope *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kw_buf_vprintf(&s->text, fmt, ap);
	va_end(ap);
	kw_buf_addc(&s->text, '\n');
}

void naive_flush(struct gen *g, struct scope *root)
{
	kw_buf_add(&g->body, root->text.ptr, root->text.len);
	if (root->text.full)
		naive_nomem(g);
	kw_buf_release(&root->text);
}

/* ((i * rows + j) * cols + k) */
const char *naive_offset(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	const char *text = NULL;

	if (g->flat && n->rank > 0)
		return ix[0].text;
	for (int i = 0; i < n->rank; i++) {
		bool zero = strcmp(ix[i].text, "0") == 0;
		const char *term = is_word(ix[i].text) ? ix[i].text : naive_text(g, "(%s)", ix[i].text);

		if (!text)
			text = zero ? NULL : term;
		else if (naive_is_one(n, i))
			continue;
		else
			text = naive_text(g, "%s * %s%s%s", is_word(text) ? text : naive_text(g, "(%s)", text),
					  naive_dim(g, n, i), zero ? "" : " + ", zero ? "" : term);
	}
	return text ? text : "0";
}

bool naive_is_strided(const struct gen *g, const struct kw_node *n)
{
	return n->kind == KW_NODE_INPUT && (g->wide || kw_tensor_any_strides(&g->task->inputs[n->index]));
}

const char *naive_stride(struct gen *g, int input, int axis)
{
	const char *name = naive_text(g, "%s_stride%d", naive_ident(g, g->task->inputs[input].name), axis);

	while (g->status == KW_OK && kw_task_has_name(g->task, name))
		name = naive_text(g, "%s_", name);
	return name;
}

void naive_store(struct gen *g, struct scope *s, const char *array, enum kw_dtype d, const char *offset, enum ctype c,
		 const char *v)
{
	const struct kw_dtype_info *info = kw_dtype_info(d);

	if (info->cls == KW_CLASS_BOOL)
		naive_line(s, "%s[%s] = %s != 0;", array, offset, v);
	else if (info->cls == KW_CLASS_INT)
		naive_line(s, "%s[%s] = (%s)%s;", array, offset, info->ctype, v);
	else if (info->bits >= 32)
		naive_line(s, "%s[%s] = %s;", array, offset, naive_cast(g, v, c, naive_ctype(g, d)));
	else
		naive_line(s, "%s[%s] = kw_%s_from_f32(%s);", array, offset, info->name,
			   naive_cast(g, v, c, CT_F32));
}
