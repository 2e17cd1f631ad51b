/* Works on words: what is no comment, no text and no number. Kernels of one language only have to be told apart by their names. */
#include "search/compose.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { NAMES_MAX = 1024, NAME_MAX_BYTES = 128, SOURCE_MAX_BYTES = 4 << 20 };

struct names {
	struct kw_str at[NAMES_MAX];
	size_t count;
	bool full;
};
struct composer {
	const struct kw_task *whole;
	const struct kw_compose_part *parts;
	size_t count;
	struct kw_arena *a;
	struct kw_buf out;
	struct names own;                 /* of the part that is being written */
	bool python;
};

static bool has(const struct names *n, struct kw_str word)
{
	for (size_t i = 0; i < n->count; i++)
		if (kw_str_eq(n->at[i], word))
			return true;
	return false;
}

static void add(struct names *n, struct kw_str word)
{
	if (has(n, word))
		return;
	if (n->count == NAMES_MAX)
		n->full = true;
	else
		n->at[n->count++] = word;
}

/* ---- scanning ---- */

static bool begins_word(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool in_word(char c)
{
	return begins_word(c) || isdigit((unsigned char)c);
}

static struct kw_str word_at(const char *p, const char *end)
{
	const char *q = p;

	while (q < end && in_word(*q))
		q++;
	return (struct kw_str){ p, (size_t)(q - p) };
}

/* The end of what is no code at p: a text, a comment that is no plan line, a number; p: there is none. */
static const char *skip(const struct composer *c, const char *p, const char *end)
{
	const char *q = p;

	if (*p == '"' || *p == '\'') {
		for (q = p + 1; q < end && *q != *p && *q != '\n'; q++)
			q += *q == '\\';
		return q < end ? q + 1 : end;
	}
	if (c->python ? *p == '#' && !(p + 1 < end && p[1] == '@') : p + 1 < end && *p == '/' && p[1] == '/' && !(p + 2 < end && p[2] == '@')) {
		while (q < end && *q != '\n')
			q++;
		return q;
	}
	if (!c->python && p + 1 < end && *p == '/' && p[1] == '*') {
		q = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
		return q ? q + 2 : end;
	}
	if (isdigit((unsigned char)*p)) {
		while (q < end && (in_word(*q) || *q == '.'))
			q++;
	}
	return q;
}

static bool is_plan_line(const struct composer *c, const char *p, const char *end)
{
	return c->python ? end - p > 1 && p[0] == '#' && p[1] == '@' : end - p > 2 && p[0] == '/' && p[1] == '/' && p[2] == '@';
}

static const char *line_end(const char *p, const char *end)
{
	const char *q = memchr(p, '\n', (size_t)(end - p));

	return q ? q : end;
}

static const char *next_code(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p;
}

/* Words before a bracket or a semicolon that define nothing. */
static bool is_language(struct kw_str w)
{
	static const char *const words[] = { "if", "for", "while", "switch", "return", "sizeof", "alignas", "_Alignas", "static_assert",
					     "_Static_assert", "asm", "template", "defined", "decltype", "void", "int", "float", "double",
					     "char", "long", "short", "unsigned", "signed", "bool", "const", "extern", "static", "inline",
					     "attribute", "kernel", "struct", "union", "enum", "class", "namespace", "noexcept" };

	if (w.len > 1 && w.ptr[0] == '_' && w.ptr[1] == '_')
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (kw_str_eqz(w, words[i]))
			return true;
	return false;
}

/* ---- what a part defines ---- */

static void c_names(const struct composer *c, const struct kw_candidate *k, struct names *out)
{
	const char *p = k->source, *end = p + k->source_len;
	int depth = 0, brackets = 0;
	bool enumeration = false, fresh = true;

	while (p < end) {
		const char *q = is_plan_line(c, p, end) ? line_end(p, end) : skip(c, p, end);
		struct kw_str w;

		if (q > p) {
			p = q;
			fresh = false;
			continue;
		}
		if (*p == '#' && fresh) {
			const char *at = next_code(p + 1, end);

			if (kw_str_eqz(word_at(at, end), "define"))
				add(out, word_at(next_code(at + 6, end), end));
			for (p = line_end(p, end); p > k->source && p[-1] == '\\' && p < end;)
				p = line_end(p + 1, end);
			continue;
		}
		if (begins_word(*p)) {
			const char *behind;

			w = word_at(p, end);
			behind = next_code(w.ptr + w.len, end);
			if (kw_str_eqz(w, "enum"))
				enumeration = true;
			/* extern "C" { is no scope. */
			if (kw_str_eqz(w, "extern") && behind < end && *behind == '"') {
				behind = next_code(skip(c, behind, end), end);
				p = behind < end && *behind == '{' ? behind + 1 : behind;
				continue;
			}
			if (behind < end && !is_language(w) &&
			    ((depth == 0 && brackets == 0 && strchr("(=[;,{:", *behind)) || (enumeration && depth == 1 && strchr(",=}", *behind))))
				add(out, w);
			p = w.ptr + w.len;
			fresh = false;
			continue;
		}
		depth += *p == '{' ? 1 : *p == '}' && depth > 0 ? -1 : 0;
		brackets += *p == '(' ? 1 : *p == ')' && brackets > 0 ? -1 : 0;
		enumeration = enumeration && *p != ';' && *p != '}';
		fresh = *p == '\n' || (fresh && isspace((unsigned char)*p));
		p++;
	}
}

/* "def NAME", "NAME =", "NAME:" at the beginning of a line. */
static void python_names(const struct kw_candidate *k, struct names *out)
{
	struct kw_str rest = { k->source, k->source_len }, line;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		const char *end = line.ptr + line.len, *p = line.ptr;
		struct kw_str w;

		if (line.len == 0 || !begins_word(*p))
			continue;
		w = word_at(p, end);
		p = next_code(w.ptr + w.len, end);
		if (kw_str_eqz(w, "def") || kw_str_eqz(w, "class"))
			add(out, word_at(p, end));
		else if (p < end && (*p == '=' || *p == ':') && !(p + 1 < end && p[1] == '='))
			add(out, w);
	}
}

/* What Triton itself asks for by name, for all kernels of a plan. */
static bool is_option_word(const struct composer *c, struct kw_str w)
{
	return c->python && (kw_str_eqz(w, "num_warps") || kw_str_eqz(w, "num_stages") || kw_str_eqz(w, "num_ctas"));
}

static bool is_option(const struct composer *c, const char *name)
{
	return is_option_word(c, kw_str_from(name));
}

static void plan_names(const struct composer *c, const struct kw_plan *p, struct names *out)
{
	for (size_t i = 0; i < p->kernel_count; i++)
		add(out, kw_str_from(p->kernels[i].name));
	for (size_t i = 0; i < p->workspace_count; i++)
		add(out, kw_str_from(p->workspaces[i].name));
	for (size_t i = 0; i < p->tensormap_count; i++)
		add(out, kw_str_from(p->tensormaps[i].name));
	for (size_t i = 0; i < p->define_count; i++)
		if (!is_option(c, p->defines[i].name))
			add(out, kw_str_from(p->defines[i].name));
	for (size_t i = 0; i < p->tune_count; i++)
		if (!is_option(c, p->tunes[i].name))
			add(out, kw_str_from(p->tunes[i].name));
}

/* ---- writing ---- */

static const struct kw_tensor_decl *input_of(const struct kw_task *t, struct kw_str name)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (kw_str_eqz(name, t->inputs[i].name))
			return &t->inputs[i];
	for (size_t i = 0; i < t->output_count; i++)
		if (kw_str_eqz(name, t->outputs[i].name))
			return &t->outputs[i];
	return NULL;
}

/* A tensor of a part that the whole has not: a workspace there. */
static const struct kw_tensor_decl *joint_of(const struct composer *c, const struct kw_task *part, struct kw_str name)
{
	return input_of(c->whole, name) ? NULL : input_of(part, name);
}

/* What a plan asks of a joint's layout is known: it is packed. False: it is none of these. */
static bool put_fact(struct composer *c, const struct kw_tensor_decl *d, struct kw_str what)
{
	int axis = what.len && isdigit((unsigned char)what.ptr[what.len - 1]) ? what.ptr[what.len - 1] - '0' : -1;

	if (kw_str_eqz(what, "contiguous")) {
		kw_buf_addc(&c->out, '1');
	} else if (kw_str_eqz(what, "align")) {
		kw_buf_printf(&c->out, "%d", KW_WORKSPACE_ALIGN);
	} else if (axis >= 0 && axis < d->rank && kw_str_starts(what, "dim")) {
		kw_buf_printf(&c->out, "(%s)", kw_intexpr_text(d->shape[axis]));
	} else if (axis >= 0 && axis < d->rank && kw_str_starts(what, "stride")) {
		kw_buf_addz(&c->out, "(1");
		for (int i = axis + 1; i < d->rank; i++)
			kw_buf_printf(&c->out, " * max(1, %s)", kw_intexpr_text(d->shape[i]));
		kw_buf_addc(&c->out, ')');
	} else {
		return false;
	}
	return true;
}

static void put_word(struct composer *c, size_t part, struct kw_str w)
{
	kw_buf_add(&c->out, w.ptr, w.len);
	if (has(&c->own, w))
		kw_buf_printf(&c->out, "_p%zu", part + 1);
}

/* The words of p to end. plan: of a plan line, where x.stride0 is a fact. */
static void put_words(struct composer *c, size_t part, const char *p, const char *end, bool plan)
{
	const struct kw_task *t = c->parts[part].task;
	char before = '\0';

	while (p < end) {
		const char *q = plan ? p : skip(c, p, end);
		struct kw_str w;
		const struct kw_tensor_decl *joint;

		if (q > p) {
			kw_buf_add(&c->out, p, (size_t)(q - p));
			before = q[-1];
			p = q;
			continue;
		}
		if (!begins_word(*p) || (plan && (isdigit((unsigned char)before) || before == '.'))) {
			before = *p;
			kw_buf_addc(&c->out, *p++);
			continue;
		}
		w = word_at(p, end);
		p = w.ptr + w.len;
		joint = plan ? joint_of(c, t, w) : NULL;
		if (joint && p < end && *p == '.' && put_fact(c, joint, word_at(p + 1, end))) {
			p = word_at(p + 1, end).ptr + word_at(p + 1, end).len;
		} else if (before == '.' || (before == '>' && w.ptr > c->parts[part].candidate->source + 1 && w.ptr[-2] == '-')) {
			kw_buf_add(&c->out, w.ptr, w.len);
		} else {
			put_word(c, part, w);
		}
		before = 'a';
	}
}

static const char *marker(const struct composer *c)
{
	return c->python ? "#@" : "//@";
}

static int64_t value_of(const struct kw_candidate *k, size_t i)
{
	return k->tune_values ? k->tune_values[i] : k->plan.tunes[i].default_value;
}

/* A plan line of a part. Tune lines are there already; what was left out by `where` is required. */
static void put_plan_line(struct composer *c, size_t part, const char *p, const char *end)
{
	const char *at = next_code(p + strlen(marker(c)), end);
	struct kw_str word = word_at(at, end);

	if (kw_str_eqz(word, "tune") || (kw_str_eqz(word, "define") && is_option_word(c, word_at(next_code(word.ptr + word.len, end), end))))
		return;
	kw_buf_printf(&c->out, "%s ", marker(c));
	if (kw_str_eqz(word, "where")) {
		kw_buf_addz(&c->out, "require");
		at = word.ptr + word.len;
	}
	if (kw_str_eqz(word, "flags"))
		kw_buf_add(&c->out, at, (size_t)(end - at));
	else
		put_words(c, part, at, end, true);
	kw_buf_addc(&c->out, '\n');
}

/* Before all else of a part: a define line knows only what stands above it. */
static void put_tunes(struct composer *c, size_t part)
{
	const struct kw_candidate *k = c->parts[part].candidate;

	for (size_t i = 0; i < k->plan.tune_count; i++) {
		if (is_option(c, k->plan.tunes[i].name))
			continue;
		kw_buf_printf(&c->out, "%s define ", marker(c));
		put_word(c, part, kw_str_from(k->plan.tunes[i].name));
		kw_buf_printf(&c->out, " = %lld\n", (long long)value_of(k, i));
	}
}

static void put_source(struct composer *c, size_t part)
{
	const struct kw_candidate *k = c->parts[part].candidate;
	const char *p = k->source, *end = p + k->source_len;

	while (p < end) {
		const char *q = line_end(p, end), *code = p;

		while (code < q && (*code == ' ' || *code == '\t'))
			code++;
		if (is_plan_line(c, code, end)) {
			put_plan_line(c, part, code, q);
			p = q < end ? q + 1 : end;
			continue;
		}
		/* As far as the next plan line: comments and texts may go over several lines. */
		for (q = code; q < end;) {
			const char *skipped;

			if ((q == p || q[-1] == '\n') && q > code && is_plan_line(c, next_code(q, end), end))
				break;
			skipped = skip(c, q, end);
			q = skipped > q ? skipped : q + 1;
		}
		put_words(c, part, p, q, false);
		p = q;
	}
	kw_buf_addc(&c->out, '\n');
}

/* An input whose strides another part passes, and this one does not, is packed here. */
static void put_contiguous(struct composer *c, size_t part)
{
	const struct kw_task *t = c->parts[part].task;

	for (size_t i = 0; i < t->input_count; i++) {
		const struct kw_tensor_decl *d = &t->inputs[i];
		char fact[NAME_MAX_BYTES];

		snprintf(fact, sizeof(fact), "%.100s.stride", d->name);
		if (d->has_strides || d->contiguous == KW_CONTIGUOUS_ALWAYS || joint_of(c, t, kw_str_from(d->name)) ||
		    strstr(c->parts[part].candidate->source, fact))
			continue;
		kw_buf_printf(&c->out, "%s require %s.contiguous\n", marker(c), d->name);
	}
}

static void put_joints(struct composer *c)
{
	for (size_t p = 0; p < c->count; p++) {
		const struct kw_task *t = c->parts[p].task;

		for (size_t i = 0; i < t->output_count; i++) {
			const struct kw_tensor_decl *d = &t->outputs[i];

			if (!joint_of(c, t, kw_str_from(d->name)))
				continue;
			kw_buf_printf(&c->out, "%s workspace %s %s[", marker(c), d->name, kw_dtype_name(d->dtype));
			for (int k = 0; k < d->rank; k++)
				kw_buf_printf(&c->out, "%s%s", k ? ", " : "", kw_intexpr_text(d->shape[k]));
			kw_buf_addz(&c->out, d->rank ? "]\n" : "1]\n");
		}
	}
}

/* Options of all kernels of a plan: the largest that a part wants. */
static void put_options(struct composer *c)
{
	static const char *const options[] = { "num_warps", "num_stages", "num_ctas" };

	for (size_t o = 0; c->python && o < sizeof(options) / sizeof(*options); o++) {
		int64_t most = 0;

		for (size_t p = 0; p < c->count; p++) {
			const struct kw_candidate *k = c->parts[p].candidate;

			for (size_t i = 0; i < k->plan.tune_count; i++)
				if (strcmp(k->plan.tunes[i].name, options[o]) == 0 && value_of(k, i) > most)
					most = value_of(k, i);
			for (size_t i = 0; i < k->plan.define_count; i++) {
				int64_t v;

				if (strcmp(k->plan.defines[i].name, options[o]) == 0 &&
				    kw_str_to_i64(kw_str_from(kw_intexpr_text(k->plan.defines[i].expr)), &v) && v > most)
					most = v;
			}
		}
		if (most)
			kw_buf_printf(&c->out, "%s define %s = %lld\n", marker(c), options[o], (long long)most);
	}
}

enum kw_status kw_compose(const struct kw_task *whole, const struct kw_compose_part *parts, size_t count, struct kw_arena *a,
			  const char **source, struct kw_error *err)
{
	struct composer *c = kw_calloc(1, sizeof(*c));
	enum kw_status status = KW_OK;

	*source = NULL;
	if (!c || count == 0) {
		kw_free(c);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a candidate");
	}
	*c = (struct composer){ .whole = whole, .parts = parts, .count = count, .a = a };
	c->python = strcmp(parts[0].candidate->backend, "triton") == 0;
	kw_buf_init(&c->out, SOURCE_MAX_BYTES);
	put_joints(c);
	put_options(c);
	for (size_t p = 0; p < count && !c->own.full; p++) {
		const struct kw_candidate *k = parts[p].candidate;

		c->own.count = 0;
		plan_names(c, &k->plan, &c->own);
		if (c->python)
			python_names(k, &c->own);
		else
			c_names(c, k, &c->own);
		put_contiguous(c, p);
		put_tunes(c, p);
		put_source(c, p);
	}
	*source = c->own.full || c->out.full ? NULL : kw_arena_strdup(a, c->out.ptr ? c->out.ptr : "");
	if (!*source)
		status = kw_fail(err, c->own.full ? KW_NO : KW_ERR_NOMEM, "", c->own.full ? "a part defines too many names"
										       : "out of memory for a candidate");
	kw_buf_release(&c->out);
	kw_free(c);
	return status;
}
