/* docs.c - docs/expressions.md, from the table of functions and the definitions. A test compares the two. */
#include "expr/internal.h"

#include <string.h>

static const char intro[] =
	"# Expressions\n"
	"\n"
	"The reference of a task is written in a small language that looks like numpy. From it come the expected values\n"
	"(computed in f64), the shapes and dtypes, the flops and compulsory bytes, and the family that decides which\n"
	"patterns fit. This page is generated from `src/expr/ops.def` and `src/expr/define.c`\n"
	"(`KW_UPDATE=1 build/tests/unit/test_expr_docs`).\n"
	"\n"
	"    h = x + residual\n"
	"    y = rmsnorm(h, weight, axis=-1, eps=eps)\n"
	"\n"
	"## The language\n"
	"\n"
	"- One `name = expression` a line (or behind `;`). Every output must be assigned; other names are steps on the way.\n"
	"  A one-line task is a lone expression. `v, i = topk(x, 8)` takes two results apart. `#` begins a comment; brackets\n"
	"  continue a line.\n"
	"- Names are the task's inputs, params and dims, earlier names, and `inf`, `nan`, `pi`, `True`, `False`, `None`.\n"
	"- Operators bind as in Python: `**`, then unary `- + ~`, then `* / // % @`, then `+ -`, `&`, `|`, then one comparison\n"
	"  (`== != < <= > >=`). `@` is matmul.\n"
	"- Shapes broadcast as in numpy. Sizes are whole numbers or arithmetic of dims: `reshape(x, (rows, cols // 2))`. Sizes\n"
	"  that are not certainly equal are compared for every case; a message names the case.\n"
	"- `x[1:, ::2, None, -1]`, `x[..., 0]`: slices with positive steps, new axes, single indices; `x[i]` with a tensor of\n"
	"  whole numbers is `take`. `x.shape`, `x.T`, `x.mT`, and any function as a method: `x.sum(axis=0)`.\n"
	"- `f16(x)`, `i32(x)` and so on convert. Names of functions and of arguments follow numpy and torch.nn.functional;\n"
	"  `axis|dim` means that both names are known.\n"
	"\n"
	"## Dtypes\n"
	"\n"
	"Two floats of one width that differ (f16, bf16) give f32, else the wider one; f8 computes as f32. Numbers, dims and\n"
	"params do not widen: `x * 0.5` of f16 is f16; of whole numbers it is f32. Division gives floats. Sums of whole numbers\n"
	"are i64. An output may be declared with another float dtype than the expression gives (it is stored so), but not as\n"
	"whole numbers if the expression gives floats.\n"
	"\n"
	"The expected values are computed in f64 whatever the dtypes are. Only explicit conversions to narrower dtypes round.\n"
	"Whole numbers narrower than 64 bits wrap after each operation, as in numpy and PyTorch: `(x + y) // 2` of u8 is not the\n"
	"mean of 200 and 100. `i32(x)` gives room, and `kwright task check` says where something wraps. i64 is computed in f64:\n"
	"exact up to 2^53, and it does not wrap.\n\n"
	"`//` and `%` of floats are numpy's, made from fmod: 1 // 0.1 is 9, a // 0 is inf or NaN, a % 0 is NaN, and a remainder of 0\n"
	"has the sign of the divisor.\n";

static const struct {
	enum op_id first;
	const char *title;
} sections[] = {
	{ OP_ADD, "Operators" }, { OP_EXP, "Elementwise functions" }, { OP_SUM, "Reductions" }, { OP_CUMSUM, "Scans" }, { OP_RNN, "Recurrences" },
	{ OP_SOFTMAX, "Normalisation and losses" }, { OP_MATMUL, "Contractions" }, { OP_CONV1D, "Convolution and pooling" },
	{ OP_RESHAPE, "Moving elements" }, { OP_TAKE, "By index" },
	{ OP_RAND, "Random numbers" },
};

/* | splits the columns of a table. */
static void add_cell(struct kw_buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '|')
			kw_buf_addc(out, '\\');
		kw_buf_addc(out, *s);
	}
}

static void add_row(struct kw_buf *out, const struct kw_op *op)
{
	struct kw_str rest = kw_str_from(op->aliases), part;

	kw_buf_printf(out, "| `%s(", op->name);
	add_cell(out, op->sig);
	kw_buf_addz(out, ")`");
	while (rest.len && kw_str_split(&rest, ' ', &part))
		kw_buf_printf(out, ", `" KW_STR_FMT "`", KW_STR_ARG(part));
	kw_buf_addz(out, " | ");
	add_cell(out, op->doc);
	kw_buf_addz(out, " |\n");
}

static void add_definition(struct kw_buf *out, const struct kw_op *op)
{
	struct kw_str rest = kw_str_from(op_definition(op->id)), line;

	if (!rest.ptr || op->name[0] == '_')
		return;
	kw_buf_printf(out, "\n`%s`:\n\n", op->name);
	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		if (line.len)
			kw_buf_printf(out, "    " KW_STR_FMT "\n", KW_STR_ARG(line));
	}
}

void expr_docs(struct kw_buf *out)
{
	size_t section = 0;

	kw_buf_addz(out, intro);
	for (int id = 1; id < OP_COUNT; id++) {
		const struct kw_op *op = op_get((enum op_id)id);

		if (section < sizeof(sections) / sizeof(*sections) && sections[section].first == (enum op_id)id)
			kw_buf_printf(out, "\n## %s\n\n| call | meaning |\n|---|---|\n", sections[section++].title);
		if (op->name[0] != '_')
			add_row(out, op);
	}
	kw_buf_addz(out, "\n## Definitions\n\n"
		    "What composites mean, in the language itself. `?name` before a line: only if that argument is given\n"
		    "(and not False); `?!name`: only if not; `?name=text`: if it is that string. The last line is the value.\n"
		    "Names that begin with `_`, and `count`, `rest`, `axes`, `batch`, `indices`, `grouped`, `keep`, are made by\n"
		    "the call.\n");
	for (int id = 1; id < OP_COUNT; id++)
		add_definition(out, op_get((enum op_id)id));
}
