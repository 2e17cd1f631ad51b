#include "backend/signature.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRUCT "kw_probe_argument"
/* Lines of the probe: for kernel k, (k + 1) x KERNEL_LINES + n calls it with n arguments, + CALLS + i with a structure as
 * argument i. */
enum { MAX_PARAMETERS = 48, CALLS = 100, KERNEL_LINES = 1000 };

/* ---- what is compiled ---- */

static size_t kernel_count(const struct kw_candidate *c, const struct kw_bound_plan *bound)
{
	return c->plan.kernel_count < bound->kernel_count ? c->plan.kernel_count : bound->kernel_count;
}

/* As a parameter is written: "const float *". */
static void passed_type(const struct kw_bound_arg *a, char *out, size_t n)
{
	const char *type = kw_dtype_info(a->dtype)->ctype;

	if (a->kind == KW_ARG_TENSORMAP)
		snprintf(out, n, "const void *");
	else if (a->kind == KW_ARG_TENSOR || a->kind == KW_ARG_WORKSPACE)
		snprintf(out, n, "%s%s *", a->writable ? "" : "const ", type);
	else
		snprintf(out, n, "%s", type);
}

/* A candidate may have defined anything. */
static void begin(const struct kw_candidate *c, const struct kw_bound_plan *bound, struct kw_buf *out)
{
	static const char *const words[] = { "void", "const", "int", "enum", "struct", "sizeof", "float", "double" };

	kw_buf_addz(out, "\n\n#line 1 \"" KW_SIGNATURE_FILE "\"\n");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		kw_buf_printf(out, "#undef %s\n", words[i]);
	for (int d = 0; d < KW_DTYPE_COUNT; d++)
		kw_buf_printf(out, "#undef %s\n", kw_dtype_info((enum kw_dtype)d)->ctype);
	for (size_t k = 0; k < kernel_count(c, bound); k++)
		kw_buf_printf(out, "#undef %s\n", bound->kernels[k].name);
}

void kw_signature_suffix(const struct kw_candidate *c, const struct kw_bound_plan *bound, struct kw_buf *out)
{
	char type[64];

	if (kernel_count(c, bound) == 0)
		return;
	begin(c, bound, out);
	kw_buf_addz(out, "#ifdef __clang__\n#pragma clang diagnostic warning \"-Wincompatible-function-pointer-types\"\n#else\n"
			 "#pragma GCC diagnostic warning \"-Wincompatible-pointer-types\"\n#endif\n");
	for (size_t k = 0; k < kernel_count(c, bound); k++) {
		const struct kw_bound_kernel *kernel = &bound->kernels[k];

		/* Inside sizeof nothing is evaluated, and nothing is left in the object. */
		kw_buf_printf(out, "enum { kw_signature_%zu = sizeof((struct { void (*f)(", k);
		for (size_t i = 0; i < kernel->arg_count; i++) {
			passed_type(&kernel->args[i], type, sizeof(type));
			kw_buf_printf(out, "%s%s", i ? ", " : "", type);
		}
		kw_buf_printf(out, "%s); }){ %s }) };\n", kernel->arg_count ? "" : "void", kernel->name);
	}
}

/* A call with n arguments that suit any parameter but structures, and a structure in the place `odd` (n: nowhere). */
static void call(struct kw_buf *out, const char *name, size_t line, size_t n, size_t odd)
{
	kw_buf_printf(out, "#line %zu \"" KW_SIGNATURE_FILE "\"\n%s(", line, name);
	for (size_t i = 0; i < n; i++)
		kw_buf_printf(out, "%s%s", i ? ", " : "", i == odd ? "argument" : "0");
	kw_buf_addz(out, ");\n");
}

void kw_signature_probe(const struct kw_candidate *c, const struct kw_bound_plan *bound, struct kw_buf *out)
{
	begin(c, bound, out);
	kw_buf_addz(out, "struct " STRUCT " { int i; };\nvoid kw_probe(struct " STRUCT " argument);\n"
			 "void kw_probe(struct " STRUCT " argument)\n{\n");
	for (size_t k = 0; k < kernel_count(c, bound); k++) {
		const struct kw_bound_kernel *kernel = &bound->kernels[k];
		size_t line = (k + 1) * KERNEL_LINES;

		for (size_t n = 0; n <= MAX_PARAMETERS; n++)
			call(out, kernel->name, line + n, n, n);
		for (size_t i = 0; i < kernel->arg_count; i++)
			call(out, kernel->name, line + CALLS + i, kernel->arg_count, i);
	}
	kw_buf_addz(out, "}\n");
}

/* ---- types, as compilers print them ---- */

enum base { OTHER, VOID, INTEGER, FLOATING };
struct ctype {
	enum base base;           /* OTHER: structures, vectors, pointers: nothing is known about what is in them */
	bool pointer, constant, is_unsigned;
	int bytes;
	enum kw_dtype storage;    /* kw_f16 and so on, or NONE */
};

struct word {
	const char *text;
	enum base base;
	int bytes;
	enum kw_dtype storage;
};
static const struct word words[] = {
	{ "void", VOID, 0, KW_DTYPE_NONE },       { "_Bool", INTEGER, 1, KW_DTYPE_NONE },     { "bool", INTEGER, 1, KW_DTYPE_NONE },
	{ "char", INTEGER, 1, KW_DTYPE_NONE },    { "short", INTEGER, 2, KW_DTYPE_NONE },     { "int", INTEGER, 4, KW_DTYPE_NONE },
	{ "long", INTEGER, 8, KW_DTYPE_NONE },    { "__int128", INTEGER, 16, KW_DTYPE_NONE }, { "float", FLOATING, 4, KW_DTYPE_NONE },
	{ "double", FLOATING, 8, KW_DTYPE_NONE }, { "_Float16", FLOATING, 2, KW_F16 },        { "__bf16", FLOATING, 2, KW_BF16 },
	{ "kw_f16", FLOATING, 2, KW_F16 },        { "kw_bf16", FLOATING, 2, KW_BF16 },        { "kw_f8e4m3", FLOATING, 1, KW_F8E4M3 },
	{ "kw_f8e5m2", FLOATING, 1, KW_F8E5M2 },
};

static bool take(struct kw_str *s, char *word, size_t n)
{
	size_t len = 0;

	*s = kw_str_trim(*s);
	if (s->len == 0)
		return false;
	while (len < s->len && (isalnum((unsigned char)s->ptr[len]) || s->ptr[len] == '_'))
		len++;
	len = len ? len : 1;
	snprintf(word, n, KW_STR_FMT, (int)len, s->ptr);
	s->ptr += len;
	s->len -= len;
	return true;
}

/* "const float *", "long unsigned int", "float * restrict". False: not known. */
static bool parse_type(struct kw_str text, struct ctype *out)
{
	char word[64];
	int longs = 0;

	*out = (struct ctype){ .base = OTHER, .storage = KW_DTYPE_NONE };
	while (take(&text, word, sizeof(word))) {
		bool known = true;

		if (strcmp(word, "enum") == 0) {
			*out = (struct ctype){ .base = INTEGER, .bytes = 4, .storage = KW_DTYPE_NONE };
			out->pointer = memchr(text.ptr, '*', text.len) != NULL;
			return true;
		}
		if (strcmp(word, "*") == 0 && out->pointer) { /* to pointers: no element of ours */
			*out = (struct ctype){ .base = INTEGER, .bytes = 0, .pointer = true, .storage = KW_DTYPE_NONE };
			return true;
		}
		if (strcmp(word, "*") == 0)
			out->pointer = true;
		else if (strcmp(word, "const") == 0)
			out->constant = out->constant || !out->pointer;
		else if (strcmp(word, "volatile") == 0 || strstr(word, "restrict") || strcmp(word, "signed") == 0)
			continue;
		else if (strcmp(word, "unsigned") == 0)
			out->is_unsigned = true;
		else
			known = false;
		longs += strcmp(word, "long") == 0;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (strcmp(word, words[i].text) != 0)
				continue;
			known = true;
			/* "long int", "short int" and "long double": the more special word counts. */
			if (out->base == INTEGER && words[i].base == INTEGER && strcmp(word, "int") == 0)
				continue;
			out->base = words[i].base;
			out->bytes = words[i].bytes;
			out->storage = words[i].storage;
		}
		if (!known)
			return false;
	}
	if (out->is_unsigned && out->base == OTHER)
		*out = (struct ctype){ .base = INTEGER, .bytes = 4, .is_unsigned = true, .pointer = out->pointer,
				       .constant = out->constant, .storage = KW_DTYPE_NONE };
	if (out->base == FLOATING && longs)
		out->bytes = 16;
	return out->base != OTHER;
}

static bool element_fits(enum kw_dtype d, const struct ctype *t)
{
	int bytes = (int)kw_dtype_bytes(d);

	if (t->base == VOID || (t->base == INTEGER && t->bytes == 1 && bytes == 1))
		return true;
	if (!kw_dtype_is_float(d))
		return t->base == INTEGER && t->bytes == bytes;
	if (t->base == FLOATING)
		return t->bytes == bytes && (bytes > 2 || t->storage == d);
	/* The bits of a number: whole numbers of its size, of f32 and f64 without a sign. */
	return t->bytes == bytes && (bytes <= 2 || t->is_unsigned);
}

/* What is wrong with it, or NULL. */
static const char *misfit(const struct kw_bound_arg *a, const struct ctype *t, bool known)
{
	bool pointer = a->kind != KW_ARG_SCALAR && a->kind != KW_ARG_PARAM;

	if (pointer != t->pointer)
		return pointer ? "a pointer" : "a number";
	if (!pointer && kw_dtype_is_float(a->dtype))
		return t->base == FLOATING && element_fits(a->dtype, t) ? NULL : "a number of that very type";
	if (!pointer)
		return t->base == INTEGER ? NULL : "a whole number";
	return !known || a->kind == KW_ARG_TENSORMAP || element_fits(a->dtype, t) ? NULL : "elements of that type";
}

/* ---- what the compiler said ---- */

struct reader {
	const struct kw_candidate *c;
	const struct kw_bound_plan *bound;
	const char *path;
	struct kw_signature_fault *out;
	struct kw_str log;
};

/* "file:12:7: error: text": the file's part of the line decides. */
static bool placed(struct kw_str line, const char *file, int *number, int *column, struct kw_str *text)
{
	size_t n = strlen(file);
	char digits[64], *end;

	if (line.len < n + 4 || memcmp(line.ptr, file, n) != 0 || line.ptr[n] != ':')
		return false;
	snprintf(digits, sizeof(digits), KW_STR_FMT, (int)(line.len - n - 1), line.ptr + n + 1);
	*number = (int)strtol(digits, &end, 10);
	*column = *end == ':' ? (int)strtol(end + 1, &end, 10) : 0;
	if (*end != ':')
		return false;
	n += 1 + (size_t)(end - digits) + 1;
	*text = kw_str_trim((struct kw_str){ line.ptr + n, line.len - n });
	return true;
}

static bool contains(struct kw_str s, const char *what)
{
	return s.len && memmem(s.ptr, s.len, what, strlen(what)) != NULL;
}

/* The first error at a line of the probe, and the place in the candidate that the message after it gives. */
static bool error_at(const struct reader *r, size_t wanted, struct kw_str *error, struct kw_str *note, int *line, int *column)
{
	struct kw_str rest = r->log, one, text;
	int number, at;
	bool found = false;

	*note = (struct kw_str){ NULL, 0 };
	*line = *column = 0;
	while (rest.len && kw_str_split(&rest, '\n', &one)) {
		if (placed(one, KW_SIGNATURE_FILE, &number, &at, &text)) {
			if (found)
				return true;
			found = (size_t)number == wanted && contains(text, "error:");
			*error = text;
		} else if (found && placed(one, r->path, &number, &at, &text) && contains(text, "note:")) {
			*line = number;
			*column = at;
			*note = text;
			return true;
		}
	}
	return found;
}

/* 'inp' {aka 'const float *'}, or 'inp' (aka 'const float *') of clang: the name that stands there, and the type it means. */
static bool quoted(struct kw_str s, const char *after, struct kw_str *name, struct kw_str *meant)
{
	const char *at = s.len ? memmem(s.ptr, s.len, after, strlen(after)) : NULL, *end = s.ptr + s.len, *close;

	if (!at)
		return false;
	at += strlen(after);
	close = memchr(at, '\'', (size_t)(end - at));
	if (!close)
		return false;
	*name = *meant = (struct kw_str){ at, (size_t)(close - at) };
	if (end - close > 8 && (memcmp(close, "' {aka '", 8) == 0 || memcmp(close, "' (aka '", 8) == 0)) {
		at = close + 8;
		close = memchr(at, '\'', (size_t)(end - at));
		if (close)
			*meant = (struct kw_str){ at, (size_t)(close - at) };
	}
	return true;
}

static void say(const struct reader *r, size_t k, int line, int column)
{
	r->out->line = line ? line : r->c->plan.kernels[k].line;
	r->out->column = line ? column : 1;
}

/* The one number of arguments that gives no error about their number. */
static bool count_fits(const struct reader *r, size_t k)
{
	const struct kw_bound_kernel *kernel = &r->bound->kernels[k];
	size_t takes = 0, fitting = 0;
	struct kw_str error, note;
	int line, column, at_line = 0, at_column = 0;

	for (size_t n = 0; n <= MAX_PARAMETERS; n++) {
		if (error_at(r, (k + 1) * KERNEL_LINES + n, &error, &note, &line, &column) &&
		    (contains(error, "too few arguments") || contains(error, "too many arguments"))) {
			at_line = line ? line : at_line;
			at_column = line ? column : at_column;
			continue;
		}
		takes = n;
		fitting++;
	}
	if (fitting != 1 || takes == kernel->arg_count)
		return true;
	snprintf(r->out->message, sizeof(r->out->message), "'%s' has %zu parameter%s, but its kernel line passes %zu argument%s",
		 kernel->name, takes, takes == 1 ? "" : "s", kernel->arg_count, kernel->arg_count == 1 ? "" : "s");
	say(r, k, at_line, at_column);
	return false;
}

static const char *arg_name(const struct kw_plan_arg *a)
{
	return a->name ? a->name : a->expr ? kw_intexpr_text(a->expr) : "?";
}

struct parameter {
	struct kw_str name;               /* of its type, as it stands in the source */
	struct ctype type;
	bool known;                       /* what it points to */
	int line, column;
};

/* False: the compiler did not tell. */
static bool read_parameter(const struct reader *r, size_t k, size_t i, struct parameter *p)
{
	struct kw_str error, note, meant;
	struct ctype named;

	if (!error_at(r, (k + 1) * KERNEL_LINES + CALLS + i, &error, &note, &p->line, &p->column) ||
	    (!quoted(note, "expected '", &p->name, &meant) && !quoted(error, "incompatible type '", &p->name, &meant)))
		return false;
	p->known = parse_type(meant, &p->type);
	if (!p->known && parse_type(p->name, &named)) { /* kw_f16 means a structure without a name */
		p->known = true;
		p->type = named;
	}
	p->type.pointer = p->type.pointer || memchr(meant.ptr, '*', meant.len) != NULL;
	return true;
}

/* An output that one kernel writes may be const for another, which reads it. */
static bool nobody_writes(const struct reader *r, int output)
{
	struct parameter p;

	for (size_t k = 0; k < kernel_count(r->c, r->bound); k++)
		for (size_t i = 0; i < r->bound->kernels[k].arg_count; i++) {
			const struct kw_bound_arg *a = &r->bound->kernels[k].args[i];

			if (a->kind == KW_ARG_TENSOR && a->index == output &&
			    (!read_parameter(r, k, i, &p) || !p.type.constant))
				return false;
		}
	return true;
}

static bool parameter_fits(const struct reader *r, size_t k, size_t i)
{
	const struct kw_bound_arg *a = &r->bound->kernels[k].args[i];
	const char *why, *role = a->kind == KW_ARG_WORKSPACE ? ", a workspace"
				 : a->kind != KW_ARG_TENSOR  ? ""
				 : a->writable		     ? ", an output"
							     : ", an input";
	struct parameter p;
	char passes[64];

	if (!read_parameter(r, k, i, &p))
		return true;
	why = misfit(a, &p.type, p.known);
	if (!why && a->kind == KW_ARG_TENSOR && a->writable && p.type.constant && nobody_writes(r, a->index))
		why = "which can be written";
	if (!why)
		return true;
	passed_type(a, passes, sizeof(passes));
	snprintf(r->out->message, sizeof(r->out->message),
		 "parameter %zu of '%s' is '" KW_STR_FMT "', but the kernel line passes %.100s%s: expected '%s', %s", i + 1,
		 r->bound->kernels[k].name, (int)(p.name.len < 100 ? p.name.len : 100), p.name.ptr,
		 arg_name(&r->c->plan.kernels[k].args[i]), role, passes, why);
	say(r, k, p.line, p.column);
	return false;
}

bool kw_signature_fits(const struct kw_candidate *c, const struct kw_bound_plan *bound, const char *path, struct kw_str log,
		       struct kw_signature_fault *out)
{
	struct reader r = { c, bound, path, out, log };

	for (size_t k = 0; k < kernel_count(c, bound); k++) {
		if (!count_fits(&r, k))
			return false;
		for (size_t i = 0; i < bound->kernels[k].arg_count; i++)
			if (!parameter_fits(&r, k, i))
				return false;
	}
	return true;
}
