/* naive_tools.c - the emitter's tools: text, names, sizes, loops, and how an element is stored. */
#include "expr/naive.h"

#include <stdarg.h>
#include <string.h>

bool naive_fail(struct gen *g, const struct kw_node *n, const char *what)
{
	if (g->status == KW_OK)
		g->status = kw_fail(g->err, KW_NO, g->task->file ? g->task->file : "",
				    "there is no naive C for '%s'%s%s", n && n->op ? n->op->name : "this expression",
				    what[0] ? ": " : "", what);
	return false;
}

void naive_nomem(struct gen *g)
{
	if (g->status == KW_OK)
		g->status = kw_fail(g->err, KW_ERR_NOMEM, "", "no memory for the naive C");
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

const char *naive_size(struct gen *g, const struct kw_poly *p)
{
	const char *text = sym_text(g->a, p);

	if (!text) {
		naive_nomem(g);
		return "0";
	}
	return is_word(text) ? text : naive_text(g, "(%s)", text);
}

const char *naive_dim(struct gen *g, const struct kw_node *n, int axis)
{
	return naive_size(g, n->shape[axis].poly);
}

bool naive_is_one(const struct kw_node *n, int axis)
{
	return sym_is(n->shape[axis].poly, 1);
}

enum ctype naive_ctype(enum kw_dtype d)
{
	return d == KW_F64 ? CT_F64 : kw_dtype_is_float(d) ? CT_F32 : CT_I64;
}

const char *naive_ctype_text(enum ctype c)
{
	return c == CT_F64 ? "double" : c == CT_F32 ? "float" : "int64_t";
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

void naive_store(struct gen *g, struct scope *s, const char *array, enum kw_dtype d, const char *offset, enum ctype c,
		 const char *v)
{
	const struct kw_dtype_info *info = kw_dtype_info(d);

	if (info->cls == KW_CLASS_BOOL)
		naive_line(s, "%s[%s] = %s != 0;", array, offset, v);
	else if (info->cls == KW_CLASS_INT)
		naive_line(s, "%s[%s] = (%s)%s;", array, offset, info->ctype, v);
	else if (info->bits >= 32)
		naive_line(s, "%s[%s] = %s;", array, offset, naive_cast(g, v, c, naive_ctype(d)));
	else
		naive_line(s, "%s[%s] = kw_%s_from_f32(%s);", array, offset, info->name,
			   naive_cast(g, v, c, CT_F32));
}
