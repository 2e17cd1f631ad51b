/* An existing kernel as a candidate: its launches become plan lines, host code goes, and what the text does not say is asked for. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ops/import_kernel.h"
#include "ops/internal.h"

enum { ARENA_BYTES = 256 << 20, KERNELS_MAX = 16, DEPTH_MAX = 6, TEXT_MAX = 4096 };

struct importer {
	const struct kw_op_import_opts *o;
	const struct kw_task *task;
	const char *backend;
	struct kw_tokens t;
	struct kw_import_kernel kernels[KERNELS_MAX];
	size_t kernel_count;
	struct kw_buf plan, missing;
	bool no_grid, no_block;           /* no launch says them, and no option */
	struct kw_op_import *out;
	struct kw_error *err;
};

struct kw_str kw_import_span(const struct kw_tokens *t, size_t from, size_t to)
{
	const char *start, *end;

	if (from >= to)
		return (struct kw_str){ "", 0 };
	start = t->list[from].ptr;
	end = t->list[to - 1].ptr + t->list[to - 1].len;
	return (struct kw_str){ start, (size_t)(end - start) };
}

size_t kw_import_split(const struct kw_tokens *t, size_t from, size_t to, size_t starts[][2], size_t most)
{
	size_t n = 0, start = from;

	for (size_t i = from; i <= to && n < most; i++) {
		if (i == to || kw_token_is(t, i, ",")) {
			if (i > start) {
				starts[n][0] = start;
				starts[n++][1] = i;
			}
			start = i + 1;
		} else if (t->list[i].match > i) {
			i = t->list[i].match;
		}
	}
	return n;
}

static bool token_in(const struct kw_tokens *t, size_t from, size_t to, const char *word)
{
	for (size_t i = from; i < to; i++)
		if (kw_token_is(t, i, word))
			return true;
	return false;
}

static struct kw_import_param read_param(const struct kw_tokens *t, size_t from, size_t to)
{
	static const char *const wide[] = { "long", "size_t", "int64_t", "uint64_t", "ulong", "ptrdiff_t", NULL };
	static const char *const floats[] = { "float", "double", "half", NULL };
	struct kw_import_param p = { .text = kw_import_span(t, from, to) };

	p.pointer = token_in(t, from, to, "*") || token_in(t, from, to, "[");
	p.constant = token_in(t, from, to, "const");
	p.wide = kw_tokens_hold(t, from, to, wide) || token_in(t, from, to, "double");
	p.floating = kw_tokens_hold(t, from, to, floats);
	for (size_t i = from; i < to; i++)
		if (t->list[i].kind == KW_TOKEN_WORD && !kw_token_is(t, i, "restrict") && !kw_token_is(t, i, "__restrict__") &&
		    !kw_token_is(t, i, "__restrict"))
			p.name = (struct kw_str){ t->list[i].ptr, t->list[i].len };
	return p;
}

/* A definition whose name is the token i. */
static bool read_kernel(struct importer *m, size_t i, size_t start)
{
	const struct kw_tokens *t = &m->t;
	size_t parts[KW_IMPORT_PARAMS][2];
	struct kw_import_kernel *k = &m->kernels[m->kernel_count];

	if (m->kernel_count == KERNELS_MAX)
		return false;
	*k = (struct kw_import_kernel){ .name = { t->list[i].ptr, t->list[i].len }, .first = start, .at = i };
	k->param_count = kw_import_split(t, i + 2, t->list[i + 1].match, parts, KW_IMPORT_PARAMS);
	for (size_t p = 0; p < k->param_count; p++)
		k->params[p] = read_param(t, parts[p][0], parts[p][1]);
	if (k->param_count == 1 && kw_str_eqz(k->params[0].text, "void"))
		k->param_count = 0;
	kw_import_template_read(t, k);
	m->kernel_count++;
	return true;
}

static bool wanted(const struct importer *m, size_t i)
{
	return !m->o->entry || kw_token_is(&m->t, i, m->o->entry);
}

/* NAME ( ... ) { with something before it, at the top of the file. */
static void find_kernels(struct importer *m)
{
	const struct kw_tokens *t = &m->t;
	const char *mark = strcmp(m->backend, "cuda") == 0 ? "__global__" : strcmp(m->backend, "opencl") == 0 ? "kernel" : NULL;

	for (size_t i = 0; i + 1 < t->count; i++) {
		size_t close, start;

		if (t->list[i].kind != KW_TOKEN_WORD || !kw_token_is(t, i + 1, "(") || t->list[i + 1].match <= i + 1)
			continue;
		close = t->list[i + 1].match;
		if (!kw_token_is(t, close + 1, "{"))
			continue;
		start = kw_token_declaration_start(t, i);
		if (mark && !token_in(t, start, i, mark) && !(mark[0] == 'k' && token_in(t, start, i, "__kernel"))) {
			i = t->list[close + 1].match > close ? t->list[close + 1].match : close;
			continue;
		}
		if (wanted(m, i) && !kw_token_is(t, i, "main") && (mark || !token_in(t, start, i, "static") || m->o->entry))
			read_kernel(m, i, start);
		i = t->list[close + 1].match > close ? t->list[close + 1].match : close;
	}
}

/* NAME<<<grid, block, smem>>>(args): into the kernel of that name. */
static void find_launches(struct importer *m)
{
	const struct kw_tokens *t = &m->t;

	for (size_t i = 1; i < t->count; i++) {
		size_t end, parts[KW_IMPORT_PARAMS][2], given[KW_IMPORT_TEMPLATE][2], given_count, name, first = i;

		if (strncmp(t->list[i].ptr, "<<<", 3) != 0)
			continue;
		name = kw_import_template_launch(t, i - 1, given, KW_IMPORT_TEMPLATE, &given_count);
		while (first < t->count && t->list[first].ptr < t->list[i].ptr + 3)
			first++;
		for (end = first; end < t->count && strncmp(t->list[end].ptr, ">>>", 3) != 0; end++)
			;
		for (size_t k = 0; k < m->kernel_count && end < t->count; k++) {
			struct kw_import_kernel *x = &m->kernels[k];
			size_t open = end, n;

			if (x->config_count || !kw_str_eq(x->name, (struct kw_str){ t->list[name].ptr, t->list[name].len }))
				continue;
			for (size_t p = 0; p < given_count && p < x->template_count; p++)
				x->templates[p].given = kw_import_span(t, given[p][0], given[p][1]);
			n = kw_import_split(t, first, end, parts, KW_IMPORT_CONFIG);
			for (size_t p = 0; p < n; p++)
				x->config[x->config_count++] = kw_import_span(t, parts[p][0], parts[p][1]);
			while (open < t->count && !kw_token_is(t, open, "("))
				open++;
			if (open < t->count && t->list[open].match > open)
				x->arg_count = kw_import_split(t, open + 1, t->list[open].match, parts, KW_IMPORT_PARAMS);
			for (size_t p = 0; p < x->arg_count; p++)
				x->args[p] = kw_import_span(t, parts[p][0], parts[p][1]);
		}
		i = first;
	}
}

/* ---- expressions of the host ---- */

static bool is_dim(const struct importer *m, struct kw_str name)
{
	for (size_t i = 0; i < m->task->dim_count; i++)
		if (kw_str_eqz(name, m->task->dims[i].name))
			return true;
	return false;
}

static const char *given(const struct importer *m, struct kw_str name)
{
	for (size_t i = 0; i < m->o->arg_count; i++)
		if (strncmp(m->o->args[i], name.ptr, name.len) == 0 && m->o->args[i][name.len] == '=')
			return m->o->args[i] + name.len + 1;
	return NULL;
}

/* "dim3 grid(...), NAME(...)": whether the statement that NAME stands in begins with a type, and declares it. */
static bool declared_as(const struct kw_tokens *t, size_t i, const char *type)
{
	while (i > 0) {
		i--;
		if (kw_token_is(t, i, type))
			return true;
		if (t->list[i].match < i) /* behind a bracket: what stands before its name */
			i = t->list[i].match ? t->list[i].match - 1 : 0;
		else if (!kw_token_is(t, i, ","))
			return false;
	}
	return false;
}

/* What a name of the host stands for: NAME = ...;  dim3 NAME(...);  #define NAME ... */
static struct kw_str value_of(const struct importer *m, struct kw_str name)
{
	const struct kw_tokens *t = &m->t;

	for (size_t i = 0; i + 2 < t->count; i++) {
		struct kw_str line = { t->list[i].ptr, t->list[i].len };
		size_t end;

		if (t->list[i].kind == KW_TOKEN_DIRECTIVE) {
			const char *at = memmem(line.ptr, line.len, "define", 6);
			struct kw_str rest = at ? kw_str_trim((struct kw_str){ at + 6, (size_t)(line.ptr + line.len - at - 6) })
						: (struct kw_str){ "", 0 };

			if (rest.len > name.len && memcmp(rest.ptr, name.ptr, name.len) == 0 && isspace((unsigned char)rest.ptr[name.len]))
				return kw_str_trim((struct kw_str){ rest.ptr + name.len, rest.len - name.len });
			continue;
		}
		if (!kw_str_eq(line, name))
			continue;
		if (kw_token_is(t, i + 1, "=") && !kw_token_is(t, i + 2, "=")) {
			for (end = i + 2; end < t->count && !kw_token_is(t, end, ";") && !kw_token_is(t, end, ","); end++)
				if (t->list[end].match > end)
					end = t->list[end].match;
			return kw_import_span(t, i + 2, end);
		}
		if (t->list[i + 1].match > i + 1 && declared_as(t, i, "dim3"))
			return kw_import_span(t, i + 2, t->list[i + 1].match);
	}
	return (struct kw_str){ "", 0 };
}

static const char *tensor_named(const struct importer *m, struct kw_str name)
{
	for (size_t i = 0; i < m->task->input_count; i++)
		if (kw_str_eqz(name, m->task->inputs[i].name))
			return m->task->inputs[i].name;
	for (size_t i = 0; i < m->task->output_count; i++)
		if (kw_str_eqz(name, m->task->outputs[i].name))
			return m->task->outputs[i].name;
	return NULL;
}

/* By their order where names say nothing: const pointers are inputs, the others outputs. */
static const char *tensor_by_order(const struct importer *m, const struct kw_import_kernel *k, size_t p)
{
	size_t before = 0;

	for (size_t i = 0; i < p; i++)
		before += k->params[i].pointer && k->params[i].constant == k->params[p].constant;
	if (k->params[p].constant)
		return before < m->task->input_count ? m->task->inputs[before].name : NULL;
	return before < m->task->output_count ? m->task->outputs[before].name : NULL;
}

/* How libraries and people name it. */
static bool is_ceil_div(struct kw_str name)
{
	static const char *const names[] = { "cdiv", "ceil_div", "ceilDiv", "ceildiv", "CEIL_DIV", "CEILDIV", "DIVUP", "DIV_UP", "div_up", "divup" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (kw_str_eqz(name, names[i]))
			return true;
	return false;
}

/* The tensor of the task that the host calls so: by its name, or by the pointer that a launch makes of it. */
static const struct kw_tensor_decl *tensor_of_host(const struct importer *m, struct kw_str name)
{
	const char *found = tensor_named(m, name);

	for (size_t k = 0; k < m->kernel_count && !found; k++)
		for (size_t p = 0; p < m->kernels[k].arg_count && p < m->kernels[k].param_count && !found; p++) {
			struct kw_str arg = m->kernels[k].args[p];

			if (m->kernels[k].params[p].pointer && arg.len > name.len && memcmp(arg.ptr, name.ptr, name.len) == 0 && arg.ptr[name.len] == '.')
				found = tensor_by_order(m, &m->kernels[k], p);
		}
	for (size_t i = 0; found && i < m->task->input_count; i++)
		if (strcmp(m->task->inputs[i].name, found) == 0)
			return &m->task->inputs[i];
	for (size_t i = 0; found && i < m->task->output_count; i++)
		if (strcmp(m->task->outputs[i].name, found) == 0)
			return &m->task->outputs[i];
	return NULL;
}

/* "x.size(1)", "x.numel()" behind a name that ends at *at; false: it is something else. */
static bool put_extent(struct importer *m, struct kw_str text, size_t *at, struct kw_str name, struct kw_buf *out)
{
	struct kw_str rest = { text.ptr + *at, text.len - *at };
	const struct kw_tensor_decl *d = rest.len && rest.ptr[0] == '.' ? tensor_of_host(m, name) : NULL;
	bool all = kw_str_starts(rest, ".numel()");

	if (!d || (!all && !(kw_str_starts(rest, ".size(") && rest.len > 7 && isdigit((unsigned char)rest.ptr[6]) && rest.ptr[7] == ')')))
		return false;
	kw_buf_addz(out, "(");
	for (int i = 0; i < d->rank; i++)
		if (all || i == rest.ptr[6] - '0')
			kw_buf_printf(out, "%s%s.dim%d", all && i ? " * " : "", d->name, i);
	kw_buf_addz(out, ")");
	*at += 8;
	return true;
}

/* An expression of the host as one of a plan line: names that are no dims become what they stand for, casts and dim3 go. */
static bool translate(struct importer *m, struct kw_str text, int depth, struct kw_buf *out)
{
	static const char *const casts[] = { "(int)", "(unsigned)", "(unsigned int)", "(size_t)", "(long)", "dim3", "static_cast<int>",
					     "std::", "at::" };
	size_t i = 0;

	while (i < text.len) {
		size_t n = 0, skip = 0;
		struct kw_str name, value;

		for (size_t k = 0; k < sizeof(casts) / sizeof(casts[0]) && !skip; k++)
			if (text.len - i >= strlen(casts[k]) && memcmp(text.ptr + i, casts[k], strlen(casts[k])) == 0)
				skip = strlen(casts[k]);
		if (skip) {
			i += skip;
			continue;
		}
		while (i + n < text.len && (isalnum((unsigned char)text.ptr[i + n]) || text.ptr[i + n] == '_'))
			n++;
		name = (struct kw_str){ text.ptr + i, n };
		i += n ? n : 1;
		if (n && isdigit((unsigned char)name.ptr[0])) { /* 256u, 1024UL */
			while (n && strchr("uUlL", name.ptr[n - 1]))
				n--;
			kw_buf_add(out, name.ptr, n);
			continue;
		}
		if (n && text.ptr[i - n] && put_extent(m, text, &i, name, out))
			continue;
		if (is_ceil_div(name)) {
			kw_buf_addz(out, "cdiv");
			continue;
		}
		if (!n || is_dim(m, name) || kw_str_eqz(name, "min") || kw_str_eqz(name, "max")) {
			kw_buf_add(out, name.ptr, n ? n : 1);
			continue;
		}
		value = given(m, name) ? kw_str_from(given(m, name)) : value_of(m, name);
		if (value.len == 0 || depth == DEPTH_MAX || kw_str_eq(value, name)) {
			kw_buf_printf(&m->missing, "%s" KW_STR_FMT, m->missing.len ? ", " : "", KW_STR_ARG(name));
			return false;
		}
		kw_buf_addz(out, memchr(value.ptr, ',', value.len) ? "" : "(");
		if (!translate(m, value, depth + 1, out))
			return false;
		kw_buf_addz(out, memchr(value.ptr, ',', value.len) ? "" : ")");
	}
	return true;
}

/* ---- arguments ---- */

static bool names_match(const struct importer *m, const struct kw_import_kernel *k)
{
	for (size_t i = 0; i < k->param_count; i++)
		if (k->params[i].pointer && !tensor_named(m, k->params[i].name) && !given(m, k->params[i].name))
			return false;
	return true;
}

static void miss(struct importer *m, struct kw_str name)
{
	kw_buf_printf(&m->missing, "%s" KW_STR_FMT, m->missing.len ? ", " : "", KW_STR_ARG(name));
}

static void put_scalar(struct importer *m, const struct kw_import_kernel *k, size_t p)
{
	const struct kw_import_param *x = &k->params[p];
	const char *type = x->floating ? (x->wide ? "f64" : "f32") : x->wide ? "i64" : "i32", *said = given(m, x->name);

	if (said) {
		kw_buf_printf(&m->plan, "%s%s%s", said, strchr(said, ':') ? "" : ":", strchr(said, ':') ? "" : type);
		return;
	}
	for (size_t i = 0; i < m->task->param_count; i++)
		if (kw_str_eqz(x->name, m->task->params[i].name)) {
			kw_buf_printf(&m->plan, "%s:%s", m->task->params[i].name, type);
			return;
		}
	if (!x->floating && is_dim(m, x->name)) {
		kw_buf_printf(&m->plan, KW_STR_FMT ":%s", KW_STR_ARG(x->name), type);
	} else if (!x->floating && p < k->arg_count) {
		if (translate(m, k->args[p], 0, &m->plan))
			kw_buf_printf(&m->plan, ":%s", type);
	} else {
		miss(m, x->name);
	}
}

static void put_args(struct importer *m, const struct kw_import_kernel *k)
{
	bool by_name = names_match(m, k);

	kw_buf_addz(&m->plan, " args=(");
	for (size_t i = 0; i < k->param_count; i++) {
		const struct kw_import_param *p = &k->params[i];
		const char *name = given(m, p->name);

		kw_buf_addz(&m->plan, i ? ", " : "");
		if (!p->pointer) {
			put_scalar(m, k, i);
			continue;
		}
		name = name ? name : by_name ? tensor_named(m, p->name) : tensor_by_order(m, k, i);
		if (name)
			kw_buf_addz(&m->plan, name);
		else
			miss(m, p->name);
	}
	kw_buf_addz(&m->plan, ")\n");
}

static void put_config(struct importer *m, const char *word, const char *option, const struct kw_import_kernel *k, size_t at, bool *unsaid)
{
	if (option)
		kw_buf_printf(&m->plan, " %s=(%s)", word, option);
	else if (at < k->config_count) {
		kw_buf_printf(&m->plan, " %s=(", word);
		translate(m, k->config[at], 0, &m->plan);
		kw_buf_addz(&m->plan, ")");
	} else {
		*unsaid = true;
	}
}

static void put_kernel(struct importer *m, const struct kw_import_kernel *k)
{
	if (k->entry)
		kw_buf_printf(&m->plan, "//@ kernel %s", k->entry);
	else
		kw_buf_printf(&m->plan, "//@ kernel " KW_STR_FMT, KW_STR_ARG(k->name));
	if (strcmp(m->backend, "c") != 0) {
		put_config(m, "grid", m->o->grid, k, 0, &m->no_grid);
		put_config(m, "block", m->o->block, k, 1, &m->no_block);
		if (k->config_count > 2 && !kw_str_eqz(k->config[2], "0")) {
			kw_buf_addz(&m->plan, " smem=(");
			translate(m, k->config[2], 0, &m->plan);
			kw_buf_addz(&m->plan, ")");
		}
	}
	put_args(m, k);
}

/* What the launch gives for the parameters of a template; numbers become defines, so that they may depend on the case. */
static bool put_template(struct importer *m, struct kw_import_kernel *k)
{
	struct kw_arena *a = &m->out->arena;

	k->entry = kw_arena_printf(a, KW_STR_FMT "_launched", KW_STR_ARG(k->name));
	for (size_t i = 0; i < k->template_count && k->entry; i++) {
		struct kw_import_template *x = &k->templates[i];
		struct kw_str given = kw_str_trim(x->given);

		if (x->type) {
			x->value = x->given.len || !x->has_default ? kw_import_template_type(x, m->task, a) : NULL;
		} else if (kw_str_eqz(given, "true") || kw_str_eqz(given, "false")) {
			x->value = kw_arena_str(a, given);
		} else if (given.len) {
			x->value = kw_arena_printf(a, KW_STR_FMT "_" KW_STR_FMT, KW_STR_ARG(k->name), KW_STR_ARG(x->name));
			kw_buf_printf(&m->plan, "//@ define %s = ", x->value ? x->value : "");
			translate(m, given, 0, &m->plan);
			kw_buf_addc(&m->plan, '\n');
		} else if (!x->has_default) {
			miss(m, x->name);
		}
		if (!x->value && given.len)
			return false;
	}
	return k->entry != NULL;
}

/* The kernels of the file, with what their plan lines name. NULL: out of memory. */
static const char *device_text(struct importer *m, const char *text, size_t len)
{
	struct kw_arena *a = &m->out->arena;
	char *body = kw_tokens_device_only(text, len, a);
	const char *wrappers = "";

	for (size_t i = 0; i < m->kernel_count && body && wrappers; i++)
		if (m->kernels[i].template_count) {
			const char *one = kw_import_template_wrap(&m->t, &m->kernels[i], body, a);

			wrappers = one ? kw_arena_printf(a, "%s%s", wrappers, one) : NULL;
		}
	return body && wrappers ? kw_arena_printf(a, "%s%s", body, wrappers) : NULL;
}

/* ---- the whole ---- */

static enum kw_status choose(struct importer *m)
{
	if (m->kernel_count == 0)
		return kw_fail(m->err, KW_ERR_INPUT, m->o->file, m->o->entry ? "there is no kernel '%.100s' in it" : "there is no kernel in it%s",
			       m->o->entry ? m->o->entry : "");
	if (strcmp(m->backend, "c") == 0 && m->kernel_count > 1)
		return kw_fail(m->err, KW_ERR_USAGE, m->o->file, "there are %zu functions in it; name the one to be called by --entry NAME",
			       m->kernel_count);
	return KW_OK;
}

static enum kw_status not_launched(const struct importer *m)
{
	return kw_fail(m->err, KW_ERR_USAGE, m->o->file, "no launch in it says how it is launched; give it by %s%s%s%s%.400s%s",
		       m->no_grid ? "--grid EXPR" : "", m->no_grid && m->no_block ? " and " : "", m->no_block ? "--block EXPR" : "",
		       m->missing.len ? ", and by --arg NAME=EXPR (a tensor, or a number of the task's dims) what these are: " : ", like ",
		       m->missing.len ? m->missing.ptr : m->no_grid ? "--grid 'cdiv(n, 256)'" : "--block 256",
		       m->missing.len || !m->no_grid || !m->no_block ? "" : " --block 256");
}

static enum kw_status convert(struct importer *m, const char *text, size_t len)
{
	struct kw_arena *a = &m->out->arena;
	bool cuda = strcmp(m->backend, "cuda") == 0;
	struct kw_candidate c;
	enum kw_status status = choose(m);

	for (size_t i = 0; i < m->kernel_count && status == KW_OK; i++) {
		if (cuda && m->kernels[i].template_count && !put_template(m, &m->kernels[i]))
			return kw_fail(m->err, KW_ERR_NOMEM, "", "out of memory for a candidate");
		put_kernel(m, &m->kernels[i]);
	}
	if (status == KW_OK && (m->no_grid || m->no_block))
		return not_launched(m);
	if (status == KW_OK && m->missing.len)
		return kw_fail(m->err, KW_ERR_USAGE, m->o->file, "the text does not say what this is: %.600s; say it by --arg NAME=EXPR (a tensor, "
			       "or a number of the task's dims)", m->missing.ptr);
	if (status == KW_OK) {
		const char *body = cuda ? device_text(m, text, len) : text;

		m->out->plan = kw_arena_strdup(a, m->plan.ptr ? m->plan.ptr : "");
		m->out->text = body && m->out->plan ? kw_arena_printf(a, "%s%s", m->out->plan, body) : NULL;
		if (!m->out->text)
			status = kw_fail(m->err, KW_ERR_NOMEM, "", "out of memory for a candidate");
	}
	if (status == KW_OK)
		status = kw_candidate_from_text(&c, m->o->out, m->backend, m->out->text, strlen(m->out->text), m->task, a, m->err);
	return status;
}

static enum kw_status read_file(const struct kw_op_import_opts *o, const char *backend, struct kw_arena *a, char **text, size_t *len,
				struct kw_error *err)
{
	enum kw_status status = kw_file_read_arena(o->file, KW_CANDIDATE_MAX_BYTES, a, text, len, err);

	if (status != KW_OK)
		return status;
	if (strcmp(backend, "c") != 0 && strcmp(backend, "cuda") != 0 && strcmp(backend, "opencl") != 0 && strcmp(backend, "triton") != 0)
		return kw_fail(err, KW_ERR_INPUT, o->file, "kernels in C, CUDA, OpenCL and Triton are converted, not in %s", backend);
	if (strstr(*text, strcmp(backend, "triton") == 0 ? "#@ kernel" : "//@ kernel"))
		return kw_fail(err, KW_ERR_USAGE, o->file, "this is a candidate already: it has kernel lines");
	return KW_OK;
}

enum kw_status kw_op_import_for(const struct kw_op_import_opts *o, const struct kw_task *t, struct kw_op_import *out, struct kw_error *err)
{
	struct importer m = { .o = o, .task = t, .out = out, .err = err };
	const char *dot = strrchr(o->file, '.');
	char *text = NULL;
	size_t len = 0;
	enum kw_status status = KW_OK;

	*out = (struct kw_op_import){ .plan = "", .text = "" };
	kw_arena_init(&out->arena, ARENA_BYTES);
	kw_buf_init(&m.plan, 1 << 20);
	kw_buf_init(&m.missing, TEXT_MAX);
	m.backend = o->backend ? o->backend : !dot ? "" : strcmp(dot, ".cu") == 0 ? "cuda" : strcmp(dot, ".cl") == 0 ? "opencl"
		    : strcmp(dot, ".c") == 0 ? "c" : strcmp(dot, ".py") == 0 ? "triton" : "";
	if (!m.backend[0])
		status = kw_fail(err, KW_ERR_USAGE, o->file, "the ending says no language (.c .cu .cl .py are known); give --backend");
	if (status == KW_OK)
		status = read_file(o, m.backend, &out->arena, &text, &len, err);
	if (status == KW_OK && strcmp(m.backend, "triton") == 0) {
		status = kw_op_import_triton(o, m.task, text, out, err);
	} else if (status == KW_OK && !kw_tokens_read(&m.t, text, len, &out->arena)) {
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a kernel");
	} else if (status == KW_OK) {
		find_kernels(&m);
		find_launches(&m);
		status = convert(&m, text, len);
	}
	kw_buf_release(&m.plan);
	kw_buf_release(&m.missing);
	return status;
}

enum kw_status kw_op_import(const struct kw_op_import_opts *o, struct kw_op_import *out, struct kw_error *err)
{
	struct kw_op_task task = { 0 };
	enum kw_status status = kw_op_task_load(o->task, o->inputs, o->input_count, &task, err);

	*out = (struct kw_op_import){ .plan = "", .text = "" };
	if (status == KW_OK && kw_path_exists(o->out))
		status = kw_fail(err, KW_ERR_USAGE, o->out, "is there already; name another file by --out");
	if (status == KW_OK)
		status = kw_op_import_for(o, &task.task, out, err);
	if (status == KW_OK)
		status = kw_file_write(o->out, out->text, strlen(out->text), err);
	kw_op_task_release(&task);
	return status;
}

/* A plan line of any language. */
static bool has_plan_line(struct kw_str text)
{
	struct kw_str line;

	while (text.len && kw_str_split(&text, '\n', &line)) {
		line = kw_str_trim(line);
		if (kw_str_starts(line, "//@") || kw_str_starts(line, "#@"))
			return true;
	}
	return false;
}

enum kw_status kw_op_kernel_load(struct kw_candidate *c, const char *path, const char *backend, const struct kw_task *t, struct kw_arena *a,
				 struct kw_error *err)
{
	struct kw_op_import_opts o = { .file = path, .out = path, .backend = backend };
	struct kw_op_import imported;
	struct kw_buf text;
	enum kw_status status;
	bool planned;

	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + 1);
	status = kw_file_read(path, KW_CANDIDATE_MAX_BYTES, &text, err);
	planned = status != KW_OK || text.len == 0 || has_plan_line((struct kw_str){ text.ptr, text.len });
	kw_buf_release(&text);
	if (status != KW_OK || planned)
		return status == KW_OK ? kw_candidate_load(c, path, backend, t, a, err) : status;
	status = kw_op_import_for(&o, t, &imported, err);
	if (status == KW_OK)
		status = kw_candidate_from_text(c, path, backend, imported.text, strlen(imported.text), t, a, err);
	if (status != KW_OK)
		kw_error_while(err, "making plan lines for a kernel without any; `kwright import` takes what is missing");
	kw_op_import_release(&imported);
	return status;
}

void kw_op_import_release(struct kw_op_import *r)
{
	kw_arena_release(&r->arena);
	*r = (struct kw_op_import){ .plan = "", .text = "" };
}
