/* The one-line form: an expression and inputs like "x:f16[128,4096]". It is written out as a YAML
 * task and read back, so that there is one loader and every task has a text that reads back. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/task_internal.h"

#define SOURCE "(command line)"
#define TORCH "torch:"

enum { MAX_TEXT = 64 << 10 };

struct line_dim {
	char name[64];
	int64_t value;
	bool named;                /* rows=128: any size is meant; 128: this size only */
};

struct line_reader {
	struct line_dim dims[KW_TASK_MAX_DIMS];
	size_t dim_count;
	struct kw_buf inputs;      /* YAML lines */
	struct kw_buf grad;        /* names of inputs, with commas */
	struct kw_str name;        /* of the input that is being read */
	struct kw_error *err;
	const char *spec;          /* the input that is being read */
};

static enum kw_status fail_spec(struct line_reader *r, const char *text, struct kw_str part)
{
	return kw_fail(r->err, KW_ERR_USAGE, "", "--input '%.200s': %s '" KW_STR_FMT "'", r->spec,
		       text, (int)(part.len > 100 ? 100 : part.len), part.ptr ? part.ptr : "");
}

static struct line_dim *find_dim(struct line_reader *r, struct kw_str name)
{
	for (size_t i = 0; i < r->dim_count; i++)
		if (kw_str_eqz(name, r->dims[i].name))
			return &r->dims[i];
	return NULL;
}

static enum kw_status add_dim(struct line_reader *r, struct kw_str name, int64_t value, bool named,
			      struct line_dim **out)
{
	struct line_dim *d = &r->dims[r->dim_count];

	if (r->dim_count == KW_TASK_MAX_DIMS || name.len >= sizeof(d->name))
		return fail_spec(r, "too many or too long dims at", name);
	snprintf(d->name, sizeof(d->name), KW_STR_FMT, KW_STR_ARG(name));
	d->value = value;
	d->named = named;
	r->dim_count++;
	*out = d;
	return KW_OK;
}

/* A plain number: equal numbers are the same dim, so that a @ b fits; 1 stays 1, so that it
 * broadcasts, and 0 stays 0. */
static enum kw_status add_number(struct line_reader *r, struct kw_str part, int64_t value)
{
	struct line_dim *d = NULL;
	char name[16];
	size_t unnamed = 0;
	enum kw_status s;

	if (value < 0)
		return fail_spec(r, "a size cannot be negative:", part);
	if (value < 2) {
		kw_buf_printf(&r->inputs, "%lld", (long long)value);
		return KW_OK;
	}
	for (size_t i = 0; i < r->dim_count; i++) {
		unnamed += !r->dims[i].named;
		if (!r->dims[i].named && r->dims[i].value == value)
			d = &r->dims[i];
	}
	if (!d) {
		snprintf(name, sizeof(name), "n%zu", unnamed);
		s = add_dim(r, kw_str_from(name), value, false, &d);
		if (s != KW_OK)
			return s;
	}
	kw_buf_addz(&r->inputs, d->name);
	return KW_OK;
}

/* One size: 128, rows=128, or rows (named before). */
static enum kw_status add_size(struct line_reader *r, struct kw_str part)
{
	struct kw_str rest = part, name;
	struct line_dim *d;
	int64_t value;
	enum kw_status s = KW_OK;

	if (kw_str_to_i64(part, &value))
		return add_number(r, part, value);
	if (!kw_str_split(&rest, '=', &name))
		return fail_spec(r, "expected a size at", part);
	name = kw_str_trim(name);
	d = find_dim(r, name);
	if (rest.ptr) {
		if (!kw_str_to_i64(kw_str_trim(rest), &value) || value < 0)
			return fail_spec(r, "expected a whole number behind", name);
		if (d && d->value != value)
			return fail_spec(r, "another size for", name);
		if (!d)
			s = add_dim(r, name, value, true, &d);
	} else if (!d) {
		return fail_spec(r, "expected a number or NAME=NUMBER, got", part);
	}
	if (s == KW_OK)
		kw_buf_addz(&r->inputs, d->name);
	return s;
}

static enum kw_status add_sizes(struct line_reader *r, struct kw_str list)
{
	struct kw_str part;
	enum kw_status s = KW_OK;
	bool first = true;

	if (kw_str_trim(list).len == 0) /* [] is a scalar */
		return KW_OK;
	while (s == KW_OK && kw_str_split(&list, ',', &part)) {
		kw_buf_addz(&r->inputs, first ? "" : ", ");
		first = false;
		s = add_size(r, kw_str_trim(part));
	}
	return s;
}

static enum kw_status fail_dtype(struct line_reader *r, struct kw_str word)
{
	char text[64];
	const char *near;

	snprintf(text, sizeof(text), KW_STR_FMT, (int)(word.len > 60 ? 60 : word.len), word.ptr);
	near = kw_dtype_nearest(text);
	if (near)
		return kw_fail(r->err, KW_ERR_USAGE, "",
			       "--input '%.200s': unknown dtype '%s'; did you mean '%s'?", r->spec,
			       text, near);
	return fail_spec(r, "unknown dtype", word);
}

/* In quotes each, so that an expression with a comma stays one. */
static void add_strides(struct line_reader *r, struct kw_str list)
{
	int depth = 0;

	kw_buf_addz(&r->inputs, ", strides: [\"");
	for (size_t i = 0; i < list.len; i++) {
		depth += (list.ptr[i] == '(') - (list.ptr[i] == ')');
		if (list.ptr[i] == ',' && depth == 0)
			kw_buf_addz(&r->inputs, "\", \"");
		else
			kw_buf_addc(&r->inputs, list.ptr[i]);
	}
	kw_buf_addz(&r->inputs, "\"]");
}

static void add_grad(struct line_reader *r)
{
	kw_buf_printf(&r->grad, "%s" KW_STR_FMT, r->grad.len ? ", " : "", KW_STR_ARG(r->name));
}

static enum kw_status fail_word(struct line_reader *r, const char *const *keys, size_t count, struct kw_str key)
{
	char text[64];
	const char *near;

	snprintf(text, sizeof(text), KW_STR_FMT, (int)(key.len > 60 ? 60 : key.len), key.ptr);
	near = kw_str_nearest(text, keys, count);
	if (near)
		return kw_fail(r->err, KW_ERR_USAGE, "", "--input '%.200s': unknown word '%s'; did you mean '%s'?", r->spec, text,
			       near);
	return fail_spec(r, "expected strides=, align=, contiguous=, inout or grad behind the sizes, not", key);
}

/* What may follow the sizes: `strides=[cols + 4, 1] align=4 contiguous=false inout grad`, written on as keys. */
static enum kw_status add_words(struct line_reader *r, struct kw_str rest)
{
	static const char *const keys[] = { "strides", "align", "contiguous", "inout", "grad" };
	enum { STRIDES = 0, INOUT = 3, GRAD = 4 };
	const size_t count = sizeof(keys) / sizeof(keys[0]);
	struct kw_str key, value;

	for (rest = kw_str_trim(rest); rest.len; rest = kw_str_trim(rest)) {
		const char *at;
		size_t known = 0, end = 0;

		while (end < rest.len && rest.ptr[end] != '=' && rest.ptr[end] != ' ')
			end++;
		key = (struct kw_str){ rest.ptr, end };
		rest = kw_str_trim((struct kw_str){ rest.ptr + end, rest.len - end });
		while (known < count && !kw_str_eqz(key, keys[known]))
			known++;
		if (known == count)
			return fail_word(r, keys, count, key);
		if (rest.len == 0 || rest.ptr[0] != '=') {
			if (known != INOUT && known != GRAD)
				return fail_spec(r, "the = is missing behind", key);
			if (known == INOUT)
				kw_buf_addz(&r->inputs, ", inout: true");
			else
				add_grad(r);
			continue;
		}
		value = kw_str_trim((struct kw_str){ rest.ptr + 1, rest.len - 1 });
		at = value.len ? memchr(value.ptr, value.ptr[0] == '[' ? ']' : ' ', value.len) : NULL;
		end = at ? (size_t)(at - value.ptr) + (value.ptr[0] == '[') : value.len;
		rest = (struct kw_str){ value.ptr + end, value.len - end };
		value.len = end;
		if (known == GRAD)
			return fail_spec(r, "'grad' stands alone, not with", value);
		if (value.len == 0 || (value.ptr[0] == '[' && value.ptr[value.len - 1] != ']'))
			return fail_spec(r, "a value is missing or not closed behind", key);
		if (known != STRIDES)
			kw_buf_printf(&r->inputs, ", %s: " KW_STR_FMT, keys[known], KW_STR_ARG(value));
		else if (value.ptr[0] == '[')
			add_strides(r, (struct kw_str){ value.ptr + 1, value.len - 2 });
		else
			return fail_spec(r, "expected strides=[…], got", value);
	}
	return KW_OK;
}

/* "f16[128,4096] align=16" or "f16 align=16": the dtype, what is between the brackets, and what follows. */
static enum kw_status cut_spec(struct line_reader *r, struct kw_str rest, struct kw_str *dtype, struct kw_str *sizes,
			       struct kw_str *words)
{
	const char *open = memchr(rest.ptr, '[', rest.len), *end = memchr(rest.ptr, ' ', rest.len);

	*dtype = rest;
	*sizes = *words = (struct kw_str){ rest.ptr + rest.len, 0 };
	if (open && (!end || end > open || kw_str_trim((struct kw_str){ end, (size_t)(open - end) }).len == 0)) {
		dtype->len = (size_t)(open - rest.ptr);
		*sizes = kw_str_trim((struct kw_str){ open + 1, rest.len - dtype->len - 1 });
		end = sizes->len ? memchr(sizes->ptr, ']', sizes->len) : NULL;
		if (!end)
			return fail_spec(r, "the ] is missing behind", *sizes);
		*words = (struct kw_str){ end + 1, (size_t)(sizes->ptr + sizes->len - (end + 1)) };
		sizes->len = (size_t)(end - sizes->ptr);
	} else if (end) { /* a scalar */
		dtype->len = (size_t)(end - rest.ptr);
		*words = (struct kw_str){ end, rest.len - dtype->len };
	}
	*dtype = kw_str_trim(*dtype);
	return KW_OK;
}

/* x:f16[128,4096] */
static enum kw_status add_input(struct line_reader *r, const char *spec)
{
	struct kw_str rest = kw_str_trim(kw_str_from(spec)), name, dtype, sizes, words;
	enum kw_status s;

	r->spec = spec;
	if (!memchr(spec, ':', strlen(spec)) || !kw_str_split(&rest, ':', &name))
		return fail_spec(r, "expected NAME:DTYPE[SIZES], got", rest);
	rest = rest.ptr ? kw_str_trim(rest) : (struct kw_str){ "", 0 };
	name = kw_str_trim(name);
	r->name = name;
	s = cut_spec(r, rest, &dtype, &sizes, &words);
	if (s != KW_OK)
		return s;
	if (kw_dtype_parse(dtype) == KW_DTYPE_NONE)
		return fail_dtype(r, dtype);
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '_')
			return fail_spec(r, "an input cannot be named", name);
	if (name.len == 0 || name.len > 48)
		return fail_spec(r, "expected a name before the ':', got", name);
	kw_buf_printf(&r->inputs, "  " KW_STR_FMT ": { dtype: %s, shape: [", KW_STR_ARG(name),
		      kw_dtype_name(kw_dtype_parse(dtype)));
	s = add_sizes(r, sizes);
	kw_buf_addz(&r->inputs, "]");
	if (s == KW_OK)
		s = add_words(r, words);
	kw_buf_addz(&r->inputs, " }\n");
	return s;
}

/* The function that the expression begins with, as a name for the task. */
static void write_name(const char *expr, struct kw_buf *out)
{
	size_t n;

	expr += strspn(expr, " \t\n");
	n = strspn(expr, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	if (n > 0 && n < 48 && expr[n] == '(')
		kw_buf_printf(out, "name: %.*s\n", (int)n, expr);
	else
		kw_buf_addz(out, "name: expression\n");
}

/* Named dims may be anything from 1 to 4 times what was given. */
static void write_dims(const struct line_reader *r, struct kw_buf *out)
{
	if (r->dim_count > 0)
		kw_buf_addz(out, "dims:\n");
	for (size_t i = 0; i < r->dim_count; i++) {
		const struct line_dim *d = &r->dims[i];

		if (d->named && d->value > 0 && d->value < INT64_MAX / 4)
			kw_buf_printf(out, "  %s: { min: 1, max: %lld }\n", d->name,
				      (long long)d->value * 4);
		else
			kw_buf_printf(out, "  %s: %lld\n", d->name, (long long)d->value);
	}
}

/* "torch: F.softmax(x, -1)" is a line of PyTorch. */
static const char *torch_line(const char *expr)
{
	struct kw_str text = kw_str_trim(kw_str_from(expr));

	return text.len >= strlen(TORCH) && memcmp(text.ptr, TORCH, strlen(TORCH)) == 0 ? text.ptr + strlen(TORCH) : NULL;
}

static void write_yaml(const struct line_reader *r, const char *expr, struct kw_buf *out)
{
	const char *torch = torch_line(expr);
	struct kw_str rest = torch ? kw_str_trim(kw_str_from(torch)) : kw_str_from(expr), line;

	if (torch)
		kw_buf_addz(out, "name: torch\n");
	else
		write_name(expr, out);
	write_dims(r, out);
	kw_buf_addz(out, "inputs:\n");
	kw_buf_add(out, r->inputs.ptr, r->inputs.len);
	kw_buf_printf(out, "reference:\n  %s: |2-\n", torch ? "torch" : "expr");
	while (kw_str_split(&rest, '\n', &line))
		kw_buf_printf(out, "    " KW_STR_FMT "\n", KW_STR_ARG(line));
	if (r->grad.len)
		kw_buf_printf(out, "grad: [" KW_STR_FMT "]\n", KW_STR_ARG(kw_buf_str(&r->grad)));
	kw_buf_addz(out, "perf:\n  - {");
	for (size_t i = 0; i < r->dim_count; i++)
		kw_buf_printf(out, "%s %s: %lld", i ? "," : "", r->dims[i].name,
			      (long long)r->dims[i].value);
	kw_buf_addz(out, " }\n");
}

enum kw_status kw_task_parse_line(struct kw_task *t, const char *expr, const char *const *inputs,
				  size_t input_count, struct kw_error *err)
{
	struct line_reader r = { .err = err };
	struct kw_buf yaml;
	enum kw_status s = KW_OK;

	memset(t, 0, sizeof(*t));
	if (kw_str_trim(kw_str_from(expr)).len == 0)
		return kw_fail(err, KW_ERR_USAGE, "", "the expression is empty");
	if (input_count == 0)
		return kw_fail(err, KW_ERR_USAGE, "",
			       "an expression needs its inputs, like --input 'x:f32[128,4096]'");
	kw_buf_init(&r.inputs, MAX_TEXT);
	kw_buf_init(&r.grad, MAX_TEXT);
	kw_buf_init(&yaml, 2 * MAX_TEXT);
	for (size_t i = 0; i < input_count && s == KW_OK; i++)
		s = add_input(&r, inputs[i]);
	if (s == KW_OK)
		write_yaml(&r, expr, &yaml);
	if (s == KW_OK && (yaml.full || r.inputs.full || r.grad.full))
		s = kw_fail(err, KW_ERR_LIMIT, SOURCE, "the expression and its inputs are too long");
	if (s == KW_OK)
		s = kw_task_parse_yaml(t, SOURCE, yaml.ptr, yaml.len, err);
	if (s == KW_OK) {
		/* Messages point into what the user typed. */
		t->expr_line = 1;
		t->expr_column = 1;
		for (size_t i = 0; i < t->input_count; i++)
			t->inputs[i].line = 0;
	}
	kw_buf_release(&r.inputs);
	kw_buf_release(&r.grad);
	kw_buf_release(&yaml);
	return s;
}
