#include "author/matmul.h"

#include <string.h>

#include "author/emit_internal.h"
#include "author/triton.h"

struct product {
	const struct kw_expr *expr;
	const struct kw_node *node;	 /* the CONTRACT */
	bool b_is_nk;			 /* linear: the right operand is (n, k) */
	struct kw_au_emit *a, *b, *y;	 /* left, right, result */
	const char *batches, *m, *n, *k; /* sizes */
	enum kw_dtype
		plain; /* both operands are tensors of this narrow type, as they are; else 0 */
	const char *why;
};

static enum kw_status no(struct product *p, const char *why)
{
	p->why = why;
	return KW_NO;
}

/* "bijl,lk->bijk" and "bik,bkj->bij" say what matmul does: the rows of the left side by a matrix, or by one for each of them. */
static bool is_matmul(const struct kw_node *n)
{
	const char *s = n->sattr, *comma, *arrow;
	size_t left, right, batch;

	if (strcmp(kw_au_op(n), "einsum") != 0)
		return strcmp(kw_au_op(n), "matmul") == 0;
	comma = s ? strchr(s, ',') : NULL;
	arrow = comma ? strstr(comma, "->") : NULL;
	if (!arrow || n->arg_count != 2)
		return false;
	left = (size_t)(comma - s);
	right = (size_t)(arrow - comma) - 1;
	batch = right - 2;
	if (left < 2 || right < 2 || (batch && left != right) || strlen(arrow + 2) != left)
		return false;
	return memcmp(s, comma + 1, batch) == 0 && comma[1 + batch] == s[left - 1] && !memchr(s, arrow[-1], left) &&
	       memcmp(arrow + 2, s, left - 1) == 0 && arrow[1 + left] == arrow[-1];
}

static enum kw_status find_product(struct product *p)
{
	for (size_t i = 0; i < p->expr->node_count; i++) {
		const struct kw_node *n = p->expr->nodes[i];

		if (n->kind != KW_NODE_CONTRACT)
			continue;
		if (p->node)
			return no(p, "more than one matrix product");
		p->node = n;
	}
	if (!p->node)
		return no(p, "no matrix product");
	p->b_is_nk = strcmp(kw_au_op(p->node), "linear") == 0;
	if ((!p->b_is_nk && !is_matmul(p->node)) || p->node->arg_count != 2)
		return no(p, "a contraction that is no plain matrix product");
	if (p->node->args[0]->rank < 2 || p->node->args[1]->rank < 2)
		return no(p, "one operand is a vector: that is a reduction");
	return KW_OK;
}

/* An operand (or the result) as a space of its own: two atoms, or three with a batch. */
static enum kw_status space(struct product *p, const struct kw_au_part *part,
			    const struct kw_pattern *pattern, struct kw_arena *arena,
			    struct kw_au_emit **out, struct kw_error *err)
{
	struct kw_au_graph *g;
	enum kw_status st = kw_au_analyse(p->expr, part, arena, &g, &p->why, err);

	*out = kw_arena_calloc(arena, 1, sizeof(**out));
	if (!*out)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	if (st != KW_OK)
		return st;
	if (g->form != KW_AU_POINTWISE || g->atom_count < 2)
		return no(p, "an operand is not elementwise over its matrix");
	if (g->atom_count > 3)
		return no(p, "batch axes that do not merge into one");
	st = kw_au_emit_init(*out, g, pattern, err);
	(*out)->flat = true;
	return st;
}

/* Names sizes and indices of a space's atoms: batch, then the two of the matrix. */
static void name_space(struct kw_au_emit *e, const char *size0, const char *index0,
		       const char *size1, const char *index1)
{
	int last = e->g->atom_count - 1;

	e->g->atoms[0].var = "batches";
	e->index[0] = "batch";
	e->g->atoms[last - 1].var = size0;
	e->index[last - 1] = index0;
	e->g->atoms[last].var = size1;
	e->index[last] = index1;
}

static enum kw_status check_sizes(struct product *p)
{
	const struct kw_au_graph *a = p->a->g, *b = p->b->g, *y = p->y->g;
	const struct kw_au_atom *ya = &y->atoms[y->atom_count - 2];
	const struct kw_au_tensor *given = &y->tensors[y->tensor_count - 1];

	if (given->atom_count != y->atom_count)
		return no(p, "the result has axes that the product has not");
	for (int i = 0; i < given->atom_count; i++)
		if (given->atoms[i] != i)
			return no(p, "the result is permuted");
	if ((a->atom_count == 3 || b->atom_count == 3) && y->atom_count != 3)
		return no(p, "batches are joined with the matrix");
	if ((a->atom_count == 3 && a->atoms[0].probe != y->atoms[0].probe) ||
	    (b->atom_count == 3 && b->atoms[0].probe != y->atoms[0].probe))
		return no(p, "one operand's batch is broadcast");
	if (a->atoms[a->atom_count - 2].probe != ya[0].probe)
		return no(p, "rows of the product do not line up");
	p->batches = y->atom_count == 3 ? y->atoms[0].size : "1";
	p->m = ya[0].size;
	p->n = ya[1].size;
	p->k = a->atoms[a->atom_count - 1].size;
	return KW_OK;
}

/* Whether the operand's memory runs along its last atom. */
static bool last_contiguous(const struct kw_au_graph *g)
{
	for (size_t i = 0; i < g->task->input_count; i++) {
		const struct kw_au_tensor *t = &g->tensors[i];

		if (t->used && t->atom_count >= 2)
			return t->atoms[t->atom_count - 1] == g->atom_count - 1;
	}
	return true;
}

static const char *pack_a(struct product *p)
{
	const char *value = kw_au_expression(p->a, p->node->args[0]);

	if (last_contiguous(p->a->g))
		return kw_au_printf(
			p->a,
			"for (int r = 0; r < rows; r++)\n\tfor (int64_t p = 0; p < depth; p++)\n"
			"\t\tto[p * MR + r] = (real)(%s);\n",
			value);
	return kw_au_printf(
		p->a,
		"for (int64_t p = 0; p < depth; p++)\n\tfor (int r = 0; r < rows; r++)\n"
		"\t\tto[p * MR + r] = (real)(%s);\n",
		value);
}

static const char *pack_b(struct product *p)
{
	const char *value = kw_au_expression(p->b, p->node->args[1]);

	if (last_contiguous(p->b->g) != p->b_is_nk)
		return kw_au_printf(
			p->b,
			"if (cols == NR) { /* a constant count makes vector code */\n"
			"\tfor (int64_t p = 0; p < depth; p++)\n\t\tfor (int c = 0; c < NR; c++)\n"
			"\t\t\tto[p * NR + c] = (real)(%s);\n} else {\n"
			"\tfor (int64_t p = 0; p < depth; p++)\n\t\tfor (int c = 0; c < cols; "
			"c++)\n"
			"\t\t\tto[p * NR + c] = (real)(%s);\n}\n",
			value, value);
	return kw_au_printf(
		p->b,
		"for (int c = 0; c < cols; c++)\n\tfor (int64_t p = 0; p < depth; p++)\n"
		"\t\tto[p * NR + c] = (real)(%s);\n",
		value);
}

static const char *body(struct product *p)
{
	struct kw_au_emit *e = p->y;
	const char *s;

	e->var[p->node->id] = e->lang->device ? "sum" : "sum_row[c]";
	for (size_t i = 0; i < p->expr->output_count; i++)
		kw_au_cone(e, p->expr->outputs[i], KW_AU_ELEMENT);
	s = kw_au_section(e, 0);
	if (*s)
		s = kw_au_printf(e, "%s\n", s);
	for (size_t i = 0; i < p->expr->output_count; i++) {
		const struct kw_au_tensor *t = &e->g->tensors[e->g->task->input_count + i];

		s = kw_au_printf(e, "%s%s", s,
				 kw_au_store(e, t, kw_au_element(e, t),
					     kw_au_expression(e, p->expr->outputs[i])));
	}
	return s;
}

static enum kw_dtype sum_dtype(const struct kw_node *n)
{
	if (kw_dtype_is_float(n->dtype))
		return n->dtype == KW_F64 ? KW_F64 : KW_F32;
	return n->dtype == KW_I64 ? KW_I64 : KW_I32;
}

/* What the three spaces use, in the result's. */
static void join_uses(struct product *p)
{
	struct kw_au_emit *e = p->y;

	for (size_t i = 0; i < e->g->task->input_count; i++) {
		struct kw_au_tensor *t = &e->g->tensors[i];

		t->used = t->used || p->a->g->tensors[i].used || p->b->g->tensors[i].used;
		t->strides |= p->a->g->tensors[i].strides | p->b->g->tensors[i].strides;
	}
	for (size_t i = 0; i < e->g->task->param_count; i++)
		e->param_used[i] = e->param_used[i] || p->a->param_used[i] || p->b->param_used[i];
}

/* Tensors, params and sizes of all three spaces, named alike in each. Gives the workspaces' plan
 * lines. */
static const char *arguments(struct product *p, struct kw_au_args *args)
{
	struct kw_au_emit *e = p->y;
	enum kw_dtype d = sum_dtype(p->node);
	const char *lines = "";

	join_uses(p);
	for (size_t i = 0; i < e->g->tensor_count; i++)
		kw_au_arg_tensor(e, args, &e->g->tensors[i]);
	if (!e->lang->device) {
		lines = kw_au_arg_workspace(e, args, lines, "packed_a", d, "cores, MC * KC");
		lines = kw_au_arg_workspace(e, args, lines, "packed_b", d, "cores, KC * NC");
		lines = kw_au_arg_workspace(e, args, lines, "tiles", d, "cores, MC * NC");
	}
	kw_au_arg_scalars(e, args);
	kw_au_arg_size(e, args, p->batches, "batches");
	kw_au_arg_size(e, args, p->m, "m");
	kw_au_arg_size(e, args, p->n, "n");
	kw_au_arg_size(e, args, p->k, "k");
	for (size_t i = 0; i < e->g->task->input_count; i++)
		kw_au_arg_strides(e, args, &e->g->tensors[i]);
	if (!e->lang->device)
		kw_au_arg(e, args, "cores:i32", "int32_t cores");
	lines = kw_au_printf(e, "%s%s", lines, kw_au_require_strides(e));
	return lines;
}

/* How many elements of an operand can be moved at once along its rows. */
static const char *operand_vector(struct product *p, const char *name, struct kw_au_emit *space,
				  const char *row)
{
	bool *marked = kw_arena_calloc(p->y->g->arena, p->y->g->tensor_count + 1, sizeof(*marked));
	const char *s;

	if (!marked) {
		p->y->failed = true;
		return "";
	}
	for (size_t i = 0; i < space->g->task->input_count; i++)
		marked[i] = space->g->tensors[i].used;
	s = kw_au_vector_lines(p->y, name, row, marked);
	return s;
}

static void interface(struct product *p, const char *kernel, struct kw_fill *f)
{
	struct kw_au_emit *e = p->y;
	struct kw_au_args args = { "", "" };
	const char *lines = arguments(p, &args);
	bool a_along_k = last_contiguous(p->a->g),
	     b_along_k = last_contiguous(p->b->g) == p->b_is_nk;
	const char *sizes[][2] = { { "batches", p->batches },
				   { "m", p->m },
				   { "n", p->n },
				   { "k", p->k },
				   { NULL, NULL } };
	const char *defines[][2] = { { "A_ALONG_K", NULL },
				     { "B_ALONG_K", NULL },
				     { "A_VEC", NULL },
				     { "B_VEC", NULL },
				     { NULL, NULL } };

	e->sizes = sizes;
	defines[0][1] = kw_au_printf(e, "//@ define A_ALONG_K = %d\n", a_along_k);
	defines[1][1] = kw_au_printf(e, "//@ define B_ALONG_K = %d\n", b_along_k);
	defines[2][1] = operand_vector(p, "A_VEC", p->a, a_along_k ? p->k : p->m);
	defines[3][1] = operand_vector(p, "B_VEC", p->b, b_along_k ? p->k : p->n);
	e->defines = defines;
	kw_fill_set(f, "plan", kw_au_printf(e, "%s%s", kw_au_plan(e, kernel, &args, f), lines));
	e->sizes = e->defines = NULL;
	kw_fill_set(
		f, "types",
		p->plain ? kw_au_printf(e, "typedef %s element;\n", kw_au_storage(p->plain))
			 : kw_au_printf(e, "typedef %s real;\n", kw_au_ctype(sum_dtype(p->node))));
}

/* Triton: where the blocks stand, and what of them is inside. */
static void name_block(struct kw_au_emit *e, const char *size0, const char *index0, const char *limit0, const char *size1,
		       const char *index1, const char *limit1)
{
	int last = e->g->atom_count - 1;

	name_space(e, size0, index0, size1, index1);
	e->limit[last - 1] = limit0;
	e->limit[last] = limit1;
}

static void name_blocks(struct product *p)
{
	name_block(p->a, "m", "i", "i_in", "k", "p", "p_in");
	if (p->b_is_nk)
		name_block(p->b, "n", "j", "j_in", "k", "q", "q_in");
	else
		name_block(p->b, "k", "q", "q_in", "n", "j", "j_in");
	name_block(p->y, "m", "i", "i_in", "n", "j", "j_in");
}

static enum kw_status spaces(struct product *p, const struct kw_pattern *pattern,
			     struct kw_arena *a, struct kw_error *err)
{
	const struct kw_au_part left = { .root = p->node->args[0], .apart = 2 };
	const struct kw_au_part right = { .root = p->node->args[1], .apart = 2 };
	const struct kw_au_part result = { .given = p->node, .apart = 2 };
	enum kw_status st = space(p, &left, pattern, a, &p->a, err);

	if (st == KW_OK)
		st = space(p, &right, pattern, a, &p->b, err);
	if (st == KW_OK)
		st = space(p, &result, pattern, a, &p->y, err);
	if (st == KW_OK)
		st = check_sizes(p);
	if (st != KW_OK)
		return st;
	if (p->y->lang->tensors) {
		name_blocks(p);
	} else if (p->y->lang->device) {
		name_space(p->a, "m", "i", "k", "p");
		name_space(p->b, p->b_is_nk ? "n" : "k", p->b_is_nk ? "j" : "p",
			   p->b_is_nk ? "k" : "n", p->b_is_nk ? "p" : "j");
	} else {
		name_space(p->a, "m", "(i0 + panel + r)", "k", "(k0 + p)");
		if (p->b_is_nk)
			name_space(p->b, "n", "(j0 + panel + c)", "k", "(k0 + p)");
		else
			name_space(p->b, "k", "(k0 + p)", "n", "(j0 + panel + c)");
	}
	if (!p->y->lang->tensors)
		name_space(p->y, "m", "i", "n", "j");
	return KW_OK;
}

/* The one tensor that an operand is, without arithmetic; NULL when there is more to it. */
static const struct kw_au_tensor *plain_tensor(const struct kw_au_emit *e, const struct kw_node *n)
{
	while (n->kind == KW_NODE_MOVE)
		n = n->args[0];
	return n->kind == KW_NODE_INPUT ? &e->g->tensors[n->index] : NULL;
}

/* For tensor cores: both operands as they are, in one type of 16 bits. */
static enum kw_status check_plain(struct product *p)
{
	const struct kw_au_tensor *a = plain_tensor(p->a, p->node->args[0]);
	const struct kw_au_tensor *b = plain_tensor(p->b, p->node->args[1]);

	if (!a || !b)
		return no(p, "an operand is computed, which tensor cores would round");
	if (a->dtype != b->dtype || (a->dtype != KW_F16 && a->dtype != KW_BF16))
		return no(p, "its operands are not both f16 or both bf16");
	p->plain = a->dtype;
	return KW_OK;
}

static const char *load_operand(struct product *p, struct kw_au_emit *e, int arg, const char *name)
{
	const struct kw_node *n = p->node->args[arg];

	if (p->plain)
		return kw_au_printf(e, "from = &%s;\n", kw_au_element(e, plain_tensor(e, n)));
	return kw_au_printf(e, "%s_next[e] = (real)(%s);\n", name, kw_au_expression(e, n));
}

static void fill_body(struct product *p, struct kw_fill *f)
{
	bool device = p->y->lang->device;
	const char *a = device ? load_operand(p, p->a, 0, "a") : pack_a(p);
	const char *b = device ? load_operand(p, p->b, 1, "b") : pack_b(p);
	const char *text = kw_au_printf(p->y, "%s%s", device ? "" : "\n", body(p));

	kw_fill_set(f, p->plain ? "copy_a" : device ? "load_a" : "pack_a", a);
	kw_fill_set(f, p->plain ? "copy_b" : device ? "load_b" : "pack_b", b);
	kw_fill_set(f, "body", text);
	if (kw_au_word_in(kw_str_from(kw_au_printf(p->y, "%s%s%s", text, a, b)), "batch"))
		kw_fill_set(f, "batch", "const int64_t batch = task / (tiles_m * tiles_n);\n");
}

/* Triton: the operands as blocks, and what is done with the block `sums`. */
static enum kw_status fill_blocks(struct product *p, const char *kernel, struct kw_fill *f)
{
	struct kw_au_emit *e = p->y;
	const char *sizes[][2] = { { "batches", p->batches }, { "m", p->m }, { "n", p->n }, { "k", p->k }, { NULL, NULL } };
	const char *lines_a, *lines_b, *a, *b, *stores;
	const struct kw_node *left, *right;
	bool plain;
	struct kw_au_args args = { "", "" };

	if (!kw_dtype_is_float(p->node->dtype) || p->node->dtype == KW_F64)
		return no(p, "matrix units of Triton take floats of 32 bits or less");
	left = kw_au_origin(p->a->g, p->node->args[0]);
	right = kw_au_origin(p->b->g, p->node->args[1]);
	/* A matrix unit takes two blocks of one type. */
	plain = left->kind == KW_NODE_INPUT && right->kind == KW_NODE_INPUT && left->dtype == right->dtype;
	a = kw_au_triton_operand(p->a, p->node->args[0], plain, "p_in", &lines_a);
	b = kw_au_triton_operand(p->b, p->node->args[1], plain, "q_in", &lines_b);
	e->var[p->node->id] = "sums";
	stores = kw_au_triton_stores(e);
	if (p->a->failed || p->b->failed || e->failed)
		return no(p, p->a->why ? p->a->why : p->b->why ? p->b->why : e->why ? e->why : "its text grew too long");
	a = kw_au_printf(e, "%sa_part = %s\n", lines_a, a);
	b = kw_au_printf(e, "%sb_part = %s\n", lines_b, b);
	kw_fill_set(f, "load_a", a);
	kw_fill_set(f, "load_b", b);
	kw_fill_set(f, "body", stores);
	kw_fill_set(f, "helpers", kw_au_triton_imports(e, kw_au_printf(e, "%s%s%s", a, b, stores)));
	join_uses(p);
	kw_au_triton_args(e, &args);
	for (size_t i = 1; i < 4; i++)
		kw_au_arg(e, &args, kw_au_printf(e, "%s:i32", sizes[i][1]), sizes[i][0]);
	kw_au_triton_strides(e, &args);
	kw_fill_set(f, "signature", kw_au_printf(e, "def %s(%s, TILE_M: tl.constexpr, TILE_N: tl.constexpr, DEPTH: tl.constexpr, "
						 "GROUP: tl.constexpr):\n", kernel, args.c));
	e->sizes = sizes;
	kw_fill_set(f, "plan", kw_au_printf(e, "%s%s", kw_au_plan(e, kernel, &args, f), kw_au_require_strides(e)));
	e->sizes = NULL;
	return KW_OK;
}

enum kw_status kw_au_matmul(const struct kw_expr *lowered, const struct kw_pattern *pattern,
			    const char *kernel, struct kw_arena *a, struct kw_fill *f,
			    const char **why, struct kw_error *err)
{
	struct product p = { .expr = lowered };
	enum kw_status st = find_product(&p);

	if (st == KW_OK)
		st = spaces(&p, pattern, a, err);
	if (st == KW_OK && kw_fill_has(pattern->text, pattern->len, "copy_a"))
		st = check_plain(&p);
	if (st == KW_OK && p.y->lang->tensors && (p.a->dim_count || p.b->dim_count))
		st = no(&p, "an operand that computes with a dim");
	if (st == KW_OK && p.y->lang->tensors)
		st = fill_blocks(&p, kernel, f);
	*why = p.why;
	if (st != KW_OK || p.y->lang->tensors)
		return st;
	fill_body(&p, f);
	if (p.a->dim_count || p.b->dim_count) {
		*why = "an operand that computes with a dim";
		return KW_NO;
	}
	interface(&p, kernel, f);
	if (p.a->failed || p.b->failed || p.y->failed) {
		*why = p.a->why	  ? p.a->why
		       : p.b->why ? p.b->why
		       : p.y->why ? p.y->why
				  : "its text grew too long";
		return KW_NO;
	}
	return KW_OK;
}
