#include "author/emit.h"

#include <ctype.h>
#include <string.h>

#include "author/emit_internal.h"
#include "author/forms.h"

const char *kw_au_printf(struct kw_au_emit *e, const char *fmt, ...)
{
	struct kw_buf b;
	va_list ap;
	char *s;

	kw_buf_init(&b, 1 << 20);
	va_start(ap, fmt);
	kw_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	s = b.full ? NULL : kw_arena_strndup(e->g->arena, b.ptr ? b.ptr : "", b.len);
	kw_buf_release(&b);
	e->failed = e->failed || !s;
	return s ? s : "";
}

static bool word_at(const char *s, const char *word)
{
	size_t n = strlen(word);

	return strncmp(s, word, n) == 0 && !isalnum((unsigned char)s[n]) && s[n] != '_';
}

const char *kw_au_put(struct kw_au_emit *e, const char *text, const char *const (*words)[2])
{
	const char *s = "";

	while (*text) {
		const char *at = strchr(text, '$'), *value = NULL;
		size_t n = at ? (size_t)(at - text) : strlen(text);

		s = kw_au_printf(e, "%s%.*s", s, (int)n, text);
		text += n;
		for (size_t i = 0; at && words[i][0]; i++)
			if (word_at(at + 1, words[i][0])) {
				value = words[i][1];
				text += 1 + strlen(words[i][0]);
				break;
			}
		if (at)
			s = value ? kw_au_printf(e, "%s%s", s, value)
				  : kw_au_printf(e, "%s%c", s, *text++);
	}
	return s;
}

bool kw_au_is_mean(const struct kw_node *n)
{
	return strcmp(kw_au_op(n), "mean") == 0;
}

/* ---- names ---- */

static bool taken(const struct kw_au_emit *e, const char *name)
{
	for (int i = 0; i < e->name_count; i++)
		if (strcmp(e->names[i], name) == 0)
			return true;
	return false;
}

static void take(struct kw_au_emit *e, const char *name)
{
	if (e->name_count < (int)(sizeof(e->names) / sizeof(*e->names)))
		e->names[e->name_count++] = name;
	else
		e->failed = true;
}

const char *kw_au_name(struct kw_au_emit *e, const char *wish)
{
	const char *name = wish;

	for (int i = 2; taken(e, name); i++)
		name = kw_au_printf(e, "%s_%d", wish, i);
	take(e, name);
	return name;
}

bool kw_au_word_in(struct kw_str text, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= text.len; i++) {
		bool before = i == 0 ||
			      !(isalnum((unsigned char)text.ptr[i - 1]) || text.ptr[i - 1] == '_');
		bool after = i + n == text.len ||
			     !(isalnum((unsigned char)text.ptr[i + n]) || text.ptr[i + n] == '_');

		if (before && after && memcmp(text.ptr + i, word, n) == 0)
			return true;
	}
	return false;
}

/* The same for a pattern's code: what its header lines say does not count. */
static bool word_in_code(struct kw_str text, const char *word)
{
	struct kw_str line;

	while (text.len && kw_str_split(&text, '\n', &line))
		if (!kw_str_starts(line, "//@") && kw_au_word_in(line, word))
			return true;
	return false;
}

/* A name of the task as a C identifier that means nothing else in the kernel. */
static const char *own_name(struct kw_au_emit *e, const char *name, struct kw_str pattern)
{
	static const char *const words[] = {
		"auto",	    "break",	"case",	     "char",	"const",    "continue",	 "default",
		"do",	    "double",	"else",	     "enum",	"extern",   "float",	 "for",
		"goto",	    "if",	"inline",    "int",	"long",	    "register",	 "restrict",
		"return",   "short",	"signed",    "sizeof",	"static",   "struct",	 "switch",
		"typedef",  "union",	"unsigned",  "void",	"volatile", "while",	 "rows",
		"cols",	    "segs",	"row",	     "seg",	"col",	    "i",	 "n",
		"w",	    "cores",	"main",	     "exp",	"log",	    "pow",	 "sin",
		"cos",	    "tan",	"tanh",	     "erf",	"sqrt",	    "memcpy",	 "memset",
		"fabs",	    "floor",	"ceil",	     "trunc",	"unix",	    "linux",	 "best",
		"block",    "blocks",	"first",     "end",	"task",	    "strips",	 "asm",
		"typeof",   "bool",	"class",     "delete",	"friend",   "namespace", "new",
		"operator", "private",	"protected", "public",	"template", "this",	 "throw",
		"try",	    "typename", "using",     "virtual", "true",	    "false",	 "half"
	};
	char c[64];
	size_t k = 0;
	bool clash;

	for (const char *p = name; *p && k < sizeof(c) - 8; p++)
		c[k++] = isalnum((unsigned char)*p) ? *p : '_';
	c[k] = '\0';
	clash = strlen(c) > 1 ? word_in_code(pattern, c) : strchr("cijkmnprw", c[0]) != NULL;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		clash = clash || strcmp(c, words[i]) == 0;
	for (size_t i = 0; e->lang->names && e->lang->names[i][0]; i++)
		clash = clash || strcmp(c, e->lang->names[i][1]) == 0;
	clash = clash || isdigit((unsigned char)c[0]) || strncmp(c, "kw_", 3) == 0 ||
		strncmp(c, "KW_", 3) == 0 || c[0] == '_';
	return kw_au_name(e, kw_au_printf(e, clash ? "t_%s" : "%s", c));
}

static bool narrow_outputs(const struct kw_task *t)
{
	for (size_t i = 0; i < t->output_count; i++)
		if (!kw_dtype_is_float(t->outputs[i].dtype) ||
		    kw_dtype_bytes(t->outputs[i].dtype) > 2)
			return false;
	return t->output_count > 0;
}

static bool alloc_tables(struct kw_au_emit *e)
{
	struct kw_au_graph *g = e->g;
	size_t n = g->expr->node_count + 1, tensors = g->tensor_count + 1;

	e->var = kw_arena_calloc(g->arena, n, sizeof(*e->var));
	e->named = kw_arena_calloc(g->arena, n, sizeof(*e->named));
	e->cone = kw_arena_calloc(g->arena, n, sizeof(*e->cone));
	e->uses = kw_arena_calloc(g->arena, n, sizeof(*e->uses));
	e->divides = kw_arena_calloc(g->arena, n, sizeof(*e->divides));
	e->exact = kw_arena_calloc(g->arena, n, sizeof(*e->exact));
	e->by = kw_arena_calloc(g->arena, n, sizeof(*e->by));
	e->param_name = kw_arena_calloc(g->arena, g->task->param_count + 1, sizeof(*e->param_name));
	e->param_used = kw_arena_calloc(g->arena, g->task->param_count + 1, sizeof(*e->param_used));
	e->total_name = kw_arena_calloc(g->arena, n, sizeof(*e->total_name));
	e->kept = kw_arena_calloc(g->arena, tensors, sizeof(*e->kept));
	e->loaded = kw_arena_calloc(g->arena, tensors, sizeof(*e->loaded));
	e->vector = kw_arena_calloc(g->arena, tensors, sizeof(*e->vector));
	return e->total_name && e->var && e->named && e->cone && e->uses && e->param_name &&
	       e->param_used && e->kept && e->loaded && e->vector && e->divides && e->exact &&
	       e->by;
}

enum kw_status kw_au_emit_init(struct kw_au_emit *e, struct kw_au_graph *g,
			       const struct kw_pattern *p, struct kw_error *err)
{
	const struct kw_str text = { p->text, p->len };

	*e = (struct kw_au_emit){ .g = g, .pattern = p, .err = err };
	e->lang = kw_au_lang_find(p->backend);
	e->split =
		kw_fill_has(p->text, p->len, "combine") || kw_fill_has(p->text, p->len, "earlier");
	e->shares = kw_fill_has(p->text, p->len, "share");
	e->keeps = e->shares || kw_fill_has(p->text, p->len, "keep");
	e->late = kw_fill_has(p->text, p->len, "carried");
	e->rough = narrow_outputs(g->task);
	e->uses_cores = kw_au_word_in(text, "num_threads");
	e->wants_segs = kw_au_word_in(text, "segs");
	if (!e->lang || !alloc_tables(e))
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	e->col_mask = g->col_atom >= 0 ? 1u << g->col_atom : 0;
	for (int i = 0; i < g->seg_count; i++)
		e->seg_mask |= 1u << g->seg_atoms[i];
	for (size_t i = 0; i < g->tensor_count; i++)
		g->tensors[i].c_name = own_name(e, g->tensors[i].output ? g->task->outputs[g->tensors[i].index].name :
									  g->tensors[i].name, text);
	for (size_t i = 0; i < g->task->param_count; i++)
		e->param_name[i] = own_name(e, g->task->params[i].name, text);
	return e->failed ? kw_fail(err, KW_ERR_NOMEM, "", "no memory to write the kernel") : KW_OK;
}

enum kw_au_level kw_au_level(const struct kw_au_emit *e, const struct kw_node *n)
{
	const struct kw_au_node *a = &e->g->nodes[n->id];

	if (e->flat)
		return KW_AU_ELEMENT;
	if (a->total)
		return KW_AU_TOTAL;
	if (e->g->form == KW_AU_COLUMNS && a->stage > 0)
		return a->mask & e->seg_mask ? KW_AU_ELEMENT : KW_AU_VECTOR;
	if (a->mask & e->col_mask)
		return KW_AU_ELEMENT;
	return a->mask & e->seg_mask ? KW_AU_SEGMENT : KW_AU_ROW;
}

/* ---- access to tensors ---- */

/* "row_i1 * cols + seg * rows" over the given atoms; "" when t varies over none of them. */
static const char *offset(struct kw_au_emit *e, const struct kw_au_tensor *t, const int *atoms,
			  int count, const char *single, const char *many)
{
	const char *s = "";

	for (int i = 0; i < count; i++) {
		const char *stride = kw_au_stride(e->g, t, atoms[i]), *index;

		if (strcmp(stride, "0") == 0)
			continue;
		index = count == 1 ? single : kw_au_printf(e, "%s%d", many, i);
		index = strcmp(stride, "1") == 0 ? index
						 : kw_au_printf(e, "%s * %s", index, stride);
		s = *s ? kw_au_printf(e, "%s + %s", s, index) : index;
	}
	return s;
}

const char *kw_au_row_offset(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return offset(e, t, e->g->row_atoms, e->g->row_count, "row", "row_i");
}

const char *kw_au_seg_offset(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return offset(e, t, e->g->seg_atoms, e->g->seg_count, "seg", "seg_i");
}

static const char *flat_element(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	const char *s = "";

	for (int i = 0; i < t->atom_count; i++) {
		const char *stride = kw_au_stride(e->g, t, t->atoms[i]),
			   *index = e->index[t->atoms[i]];

		index = strcmp(stride, "1") == 0 ? index
						 : kw_au_printf(e, "%s * %s", index, stride);
		s = *s ? kw_au_printf(e, "%s + %s", s, index) : index;
	}
	return kw_au_printf(e, "%s[%s]", t->c_name, *s ? s : "0");
}

/* On a GPU what runs along the columns is moved as vectors. */
bool kw_au_is_vector(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	return e->lang->device && !e->flat && (t->mask & e->col_mask) &&
	       strcmp(kw_au_stride(e->g, t, e->g->col_atom), "1") == 0;
}

/* The element of t that the loops stand at, as an lvalue. */
const char *kw_au_element(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	const char *row, *seg;

	if (e->flat)
		return flat_element(e, t);
	row = kw_au_row_offset(e, t);
	seg = kw_au_seg_offset(e, t);

	if (t->mask & e->col_mask) {
		const char *stride = kw_au_stride(e->g, t, e->g->col_atom);
		const char *base = t->mask & e->seg_mask ? "seg" : "row";
		size_t at = (size_t)(t - e->g->tensors);

		if (e->in_body && kw_au_is_vector(e, t)) {
			bool registers = e->kept[at] && !e->shares;

			e->loaded[at] = e->loaded[at] || !registers;
			return kw_au_printf(e, registers ? "%s_keep[k][i]" : "%s_vec[i]",
					    t->c_name);
		}
		if (strcmp(stride, "1") == 0)
			return kw_au_printf(e, "%s_%s[col + i]", t->c_name, base);
		return kw_au_printf(e, "%s_%s[(col + i) * %s]", t->c_name, base, stride);
	}
	if (t->mask & e->seg_mask)
		return kw_au_printf(e, "%s_row[%s]", t->c_name, seg);
	return kw_au_printf(e, "%s[%s]", t->c_name, *row ? row : "0");
}

static const char *load(struct kw_au_emit *e, const struct kw_node *input)
{
	const struct kw_au_tensor *t = &e->g->tensors[input->index];
	const char *at = kw_au_element(e, t);

	return kw_dtype_is_float(t->dtype) && t->dtype != KW_F64 && t->dtype != KW_F32
		       ? kw_au_printf(e, "KW_F32(%s)", at)
		       : at;
}

/* The position along the atom that an arange varies over. */
static const char *position(struct kw_au_emit *e, const struct kw_node *n)
{
	const struct kw_au_graph *g = e->g;
	uint32_t mask = g->nodes[n->id].mask;
	const char *at = NULL;

	if (mask == e->col_mask)
		at = "(int32_t)(col + i)";
	for (int i = 0; i < g->row_count; i++)
		if (mask == 1u << g->row_atoms[i])
			at = g->row_count == 1 ? "(int32_t)row"
					       : kw_au_printf(e, "(int32_t)row_i%d", i);
	for (int i = 0; i < g->seg_count; i++)
		if (mask == 1u << g->seg_atoms[i])
			at = g->seg_count == 1 ? "(int32_t)seg"
					       : kw_au_printf(e, "(int32_t)seg_i%d", i);
	if (!at) {
		e->why = "an arange that varies over more than one loop";
		e->failed = true;
	}
	return at ? at : "0";
}

/* One element of the row, at an index that the row knows. */
static const char *picked(struct kw_au_emit *e, const struct kw_node *n)
{
	const struct kw_au_tensor *t = &e->g->tensors[n->args[0]->index];
	const char *index = kw_au_expression(e, n->args[1]), *at;

	if (e->g->form != KW_AU_ROWS || e->g->seg_count || kw_au_level(e, n) != KW_AU_ROW) {
		e->why = "a gather outside of a row";
		e->failed = true;
	}
	at = kw_au_printf(e, "%s_row[(int64_t)(%s)]", t->c_name, index);
	return kw_dtype_is_float(t->dtype) && kw_dtype_bytes(t->dtype) < 4
		       ? kw_au_printf(e, "KW_F32(%s)", at)
		       : at;
}

static bool is_arange(const struct kw_node *n)
{
	return strcmp(kw_au_op(n), "arange") == 0;
}

static const char *dim_argument(struct kw_au_emit *e, const struct kw_node *n)
{
	for (int i = 0; i < e->dim_count; i++)
		if (e->dim[i] == n)
			return kw_au_printf(e, "dim%d", i);
	if (e->dim_count == (int)(sizeof(e->dim) / sizeof(*e->dim))) {
		e->failed = true;
		return "0";
	}
	e->dim[e->dim_count] = n;
	return kw_au_printf(e, "dim%d", e->dim_count++);
}

/* ---- expressions ---- */

struct print {
	struct kw_au_emit *e;
	const struct kw_node *root;
};

static const char *leaf_text(struct kw_au_emit *e, const struct kw_node *n)
{
	if (e->var[n->id])
		return kw_au_level(e, n) == KW_AU_VECTOR ? kw_au_printf(e, "%s[i]", e->var[n->id])
							 : e->var[n->id];
	switch (n->kind) {
	case KW_NODE_INPUT:
		return load(e, n);
	case KW_NODE_PARAM:
		e->param_used[n->index] = true;
		return e->param_name[n->index];
	case KW_NODE_DIM:
		return kw_au_printf(e, "(%s)%s", kw_au_ctype(n->dtype), dim_argument(e, n));
	case KW_NODE_GATHER:
		return picked(e, n);
	case KW_NODE_MOVE:
	case KW_NODE_REDUCE:
		return e->g->nodes[n->id].same
			       ? kw_au_printf(e, "(%s)", kw_au_expression(e, n->args[0]))
			       : NULL;
	case KW_NODE_ELEMENTWISE:
		return is_arange(n) ? kw_au_printf(e, "(%s)", position(e, n)) : NULL;
	default:
		return NULL;
	}
}

static bool leaf(void *arg, const struct kw_node *n, struct kw_buf *out)
{
	const struct print *p = arg;
	const char *text = n == p->root && !is_arange(n) && n->kind == KW_NODE_ELEMENTWISE
				   ? NULL
				   : leaf_text(p->e, n);

	text = text ? text : kw_au_form(p->e, n);
	if (!text)
		return false;
	kw_buf_addz(out, text);
	return true;
}

static const char *other_name(const char *const (*names)[2], struct kw_str word)
{
	for (; names && (*names)[0]; names++)
		if (kw_str_eqz(word, (*names)[0]))
			return (*names)[1];
	return NULL;
}

/* The functions of kw.h under the language's own names. */
static const char *rename_functions(struct kw_au_emit *e, struct kw_str text)
{
	struct kw_buf b;
	const char *s;

	kw_buf_init(&b, 1 << 20);
	for (size_t i = 0, n; i < text.len; i += n) {
		const char *to = NULL;

		for (n = 0; i + n < text.len &&
			    (isalnum((unsigned char)text.ptr[i + n]) || text.ptr[i + n] == '_');)
			n++;
		if (n && e->rough)
			to = other_name(e->lang->rough, (struct kw_str){ text.ptr + i, n });
		if (n && !to)
			to = other_name(e->lang->names, (struct kw_str){ text.ptr + i, n });
		n += !n;
		if (to)
			kw_buf_addz(&b, to);
		else
			kw_buf_add(&b, text.ptr + i, n);
	}
	s = kw_au_printf(e, "%s", b.ptr && !b.full ? b.ptr : "");
	e->failed = e->failed || b.full;
	kw_buf_release(&b);
	return s;
}

const char *kw_au_expression(struct kw_au_emit *e, const struct kw_node *n)
{
	struct print p = { e, n };
	struct kw_buf b;
	const char *s;
	enum kw_status st;

	if (e->failed)
		return "";
	while (e->g->nodes[n->id].same && !e->var[n->id])
		n = p.root = n->args[0];
	if (e->var[n->id] || n->kind != KW_NODE_ELEMENTWISE) {
		s = leaf_text(e, n);
		if (s)
			return s;
	}
	kw_buf_init(&b, 1 << 20);
	st = kw_expr_emit_scalar_c(n, leaf, &p, &b, e->err);
	if (st != KW_OK) {
		e->failed = true;
		e->why = kw_arena_printf(e->g->arena, "%s has no C form", kw_au_op(n));
	}
	s = rename_functions(e, kw_str_from(b.ptr ? b.ptr : ""));
	kw_buf_release(&b);
	return s;
}

/* Without parentheses around the whole. */
const char *kw_au_bare(struct kw_au_emit *e, const char *text)
{
	size_t n = strlen(text);
	int depth = 0;

	if (n < 2 || text[0] != '(' || text[n - 1] != ')')
		return text;
	for (size_t i = 0; i + 1 < n; i++) {
		depth += (text[i] == '(') - (text[i] == ')');
		if (!depth)
			return text;
	}
	return kw_au_bare(e, kw_au_printf(e, "%.*s", (int)n - 2, text + 1));
}

/* ---- sections: named values of one level, in order ---- */

static bool is_leaf(const struct kw_node *n)
{
	return n->kind == KW_NODE_INPUT || n->kind == KW_NODE_PARAM || n->kind == KW_NODE_CONST ||
	       n->kind == KW_NODE_DIM || is_arange(n);
}

/* A value that needs no variable: numbers, params and what is made of them. */
static bool trivial(const struct kw_au_emit *e, const struct kw_node *n)
{
	return n->kind == KW_NODE_PARAM || n->kind == KW_NODE_CONST || n->kind == KW_NODE_DIM ||
	       (e->g->nodes[n->id].same && trivial(e, n->args[0]));
}

/* Walks from n through values of the level, counting uses; what lies on outer levels is marked
 * `named`. */
void kw_au_cone(struct kw_au_emit *e, const struct kw_node *n, enum kw_au_level level)
{
	if (kw_au_level(e, n) != level) {
		if (!trivial(e, n))
			e->named[kw_au_origin(e->g, n)->id] = true;
		return;
	}
	e->uses[n->id]++;
	if (e->cone[n->id] || e->var[n->id] || (kw_au_is_reduce(n) && !e->g->nodes[n->id].same))
		return;
	e->cone[n->id] = true;
	for (int i = 0; i < n->arg_count; i++)
		kw_au_cone(e, n->args[i], level);
}

void kw_au_cone_reset(struct kw_au_emit *e)
{
	memset(e->cone, 0, e->g->expr->node_count * sizeof(*e->cone));
	memset(e->uses, 0, e->g->expr->node_count * sizeof(*e->uses));
}

/* fmt has one %s; a format that is not a literal must not reach printf. */
static const char *shape_name(struct kw_au_emit *e, const char *fmt, const char *word)
{
	const char *at = strstr(fmt, "%s");

	return kw_au_printf(e, "%.*s%s%s", (int)(at - fmt), fmt, word, at + 2);
}

/* What to call a value: its op, or for a loaded one its tensor. */
static const char *wish(struct kw_au_emit *e, const struct kw_node *n, const char *fmt)
{
	const char *s = n->kind == KW_NODE_INPUT ? e->g->tensors[n->index].c_name : kw_au_op(n);
	static const struct {
		const char *op, *say;
	} words[] = { { "subtract", "diff" },	{ "add", "sum" },	{ "multiply", "product" },
		      { "divide", "quotient" }, { "square", "square" }, { "negative", "minus" },
		      { "rsqrt", "inv_root" },	{ "sqrt", "root" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(s, words[i].op) == 0)
			s = words[i].say;
	while (*s == '_')
		s++;
	return shape_name(e, fmt, s);
}

/* The element of a kept value: in a row buffer, or in registers. */
const char *kw_au_cached(struct kw_au_emit *e, int at)
{
	return kw_au_printf(e, e->lang->device ? "%s[k][i]" : "%s[col + i]", e->cached_name[at]);
}

/* Emits `const T name = ...;` for every value of the cone that is used more than once (or is kept).
 */
const char *kw_au_section(struct kw_au_emit *e, int pass)
{
	const struct kw_expr *x = e->g->expr;
	const char *s = "";

	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];
		const char *name, *text;
		int kept = -1;

		if (!e->cone[n->id] || e->var[n->id] || e->g->nodes[n->id].same)
			continue;
		for (int k = 0; k < e->cached_count; k++)
			if (e->cached[k] == n && e->cached_pass[k] == pass)
				kept = k;
		if (e->uses[n->id] < 2 && kept < 0)
			continue;
		if (trivial(e, n) || is_arange(n))
			continue;
		text = kw_au_bare(e, kw_au_expression(e, n));
		name = kw_au_name(e, wish(e, n, "%s_i"));
		s = kw_au_printf(e, "%sconst %s %s = %s;\n", s, kw_au_ctype(n->dtype), name, text);
		if (kept >= 0)
			s = kw_au_printf(e, "%s%s = %s;\n", s, kw_au_cached(e, kept), name);
		e->var[n->id] = name;
	}
	return s;
}

/* What a segment names depends on the pass. */
void kw_au_forget_segment_names(struct kw_au_emit *e)
{
	for (size_t i = 0; i < e->g->expr->node_count; i++)
		if (kw_au_level(e, e->g->expr->nodes[i]) == KW_AU_SEGMENT)
			e->named[i] = false;
}

/* Inner names live in one pass only; what a pass kept is in its buffer afterwards. */
void kw_au_forget(struct kw_au_emit *e, int pass)
{
	for (size_t i = 0; i < e->g->expr->node_count; i++) {
		enum kw_au_level level = kw_au_level(e, e->g->expr->nodes[i]);

		if (level == KW_AU_ELEMENT || level == KW_AU_SEGMENT)
			e->var[i] = e->by[i] = NULL;
	}
	for (int k = 0; k < e->cached_count; k++)
		if (e->cached_pass[k] <= pass)
			e->var[e->cached[k]->id] = kw_au_cached(e, k);
}

/* The head of a loop over a strip. */
const char *kw_au_for_each(struct kw_au_emit *e, const char *count, const char *brace)
{
	return kw_au_printf(e, "%sfor (int i = 0; i < %s; i++)%s\n", e->lang->unroll, count, brace);
}

void kw_au_note_value(struct kw_au_emit *e, const char *type, const char *name)
{
	if (e->value_count == KW_AU_MAX_VALUES) {
		e->failed = true;
		return;
	}
	e->value[e->value_count].type = type;
	e->value[e->value_count++].name = name;
}

bool kw_au_cached_twice(const struct kw_au_emit *e, int k)
{
	return e->late && e->cached_pass[k] < e->g->stage_count - 1;
}

/* Variables of the levels outside the inner loop: every `named` value of that level and stage. */
const char *kw_au_outer(struct kw_au_emit *e, enum kw_au_level level, int stage)
{
	static const char *const shape[] = { [KW_AU_ROW] = "row_%s",
					     [KW_AU_VECTOR] = "col_%s",
					     [KW_AU_SEGMENT] = "seg_%s",
					     [KW_AU_TOTAL] = "all_%s" };
	const struct kw_expr *x = e->g->expr;
	const char *s = "";

	for (size_t i = 0; i < x->node_count; i++) {
		const struct kw_node *n = x->nodes[i];
		const char *text, *name;

		if (!e->named[n->id] || e->var[n->id] || kw_au_level(e, n) != level ||
		    (stage >= 0 && e->g->nodes[n->id].stage != stage) || kw_au_is_reduce(n) ||
		    trivial(e, n) || (is_leaf(n) && n->kind != KW_NODE_INPUT))
			continue;
		text = kw_au_bare(e, kw_au_expression(e, n));
		name = kw_au_name(e, wish(e, n, shape[level]));
		if (level == KW_AU_VECTOR)
			s = kw_au_printf(e, "%s%s %s[%s];\n\n%s\t%s[i] = %s;\n", s,
					 kw_au_ctype(n->dtype), name, e->lang->strip,
					 kw_au_for_each(e, e->lang->count, ""), name, text);
		else
			s = kw_au_printf(e, "%sconst %s %s = %s;\n%s", s, kw_au_ctype(n->dtype),
					 name, text, kw_au_divisor(e, n, name));
		if (level == KW_AU_ROW && stage > 0)
			kw_au_note_value(e, kw_au_ctype(n->dtype), name);
		e->var[n->id] = name;
	}
	return s;
}

/* What a named value is made of gets a name when it is used elsewhere too. */
void kw_au_close_named(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;

	for (size_t i = x->node_count; i-- > 0;) {
		const struct kw_node *n = x->nodes[i];

		if (!e->named[n->id])
			continue;
		for (int k = 0; k < n->arg_count && !kw_au_is_reduce(n); k++) {
			const struct kw_node *arg = kw_au_origin(e->g, n->args[k]);

			if (arg->use_count > 1 && !trivial(e, arg) &&
			    kw_au_level(e, arg) != KW_AU_ELEMENT)
				e->named[arg->id] = true;
		}
	}
}
