/* Every operation: any box of an output holds what the whole output holds there, in both modes, whether few boxes or all
 * are wanted, and from strided inputs too. The table must name every function of ops.def. */
#include "expr/internal.h"

#include "expr_run.h"

struct row {
	const char *expr, *in[4];
};

static const struct row rows[] = {
	{ "x + y * 2 - x / (y + 9) + floor_divide(x, 2) % 3", { "x:f32[4,5]", "y:f32[5]" } },
	{ "where((x < y) | ~(x >= 0) & (x != y), x, y) + (x == y) + (x <= y) + (x > y)", { "x:f32[4,5]", "y:f32[4,1]" } },
	{ "exp(x) + exp2(x) + expm1(x) + log(abs(x) + 1) + log2(x + 3) + log10(x + 3) + log1p(abs(x))", { "x:f32[37]" } },
	{ "sqrt(abs(x)) + rsqrt(x + 3) + reciprocal(x + 3) + sin(x) + cos(x) + tan(x) + arctan(x)", { "x:f32[37]" } },
	{ "tanh(x) + erf(x) + sigmoid(x) + relu(x) + square(x) + sign(x) + negative(x) + isnan(x)", { "x:f32[37]" } },
	{ "floor(x) + ceil(x) + round(x) + trunc(x) + maximum(x, 0.5) + minimum(x, 0.5) + power(abs(x), 1.5)", { "x:f32[37]" } },
	{ "clip(x, -1, 1) + f32(cast(x, 'f16')) + i32(x)", { "x:f32[3,7]" } },
	{ "gelu(x) + gelu(x, 'tanh') + silu(x) + softplus(x) + leaky_relu(x) + elu(x) + selu(x) + mish(x)", { "x:f32[3,7]" } },
	{ "dropout(x, s, p=0.3) + rand(s, 37) * randn(s, 37) + bernoulli(abs(x), s)", { "x:f32[37]", "s:i64" } },
	{ "hardtanh(x) + hardsigmoid(x) + hardswish(x) + relu6(x) + softsign(x) + logsigmoid(x)", { "x:f32[3,7]" } },
	{ "arange(7) * x", { "x:f32[3,7]" } },
	{ "add(subtract(x, y), multiply(x, divide(y, 3))) + remainder(x, 2)", { "x:f32[3,7]", "y:f32[7]" } },
	{ "equal(x, y) + not_equal(x, y) + less(x, y) + less_equal(x, y) + greater(x, y) + greater_equal(x, y)", { "x:i32[9]", "y:i32[9]" } },
	{ "logical_and(x, y) + logical_or(x, y) + logical_not(x)", { "x:i32[9]", "y:i32[9]" } },
	{ "sum(x, axis=(0, 2)) + mean(x, axis=(0, 2)) + max(x, axis=(0, 2)) * min(x, axis=(0, 2))", { "x:f32[4,5,6]" } },
	{ "prod(x, axis=1) + argmax(x, axis=1) + argmin(x, axis=1) + any(x > 1, axis=1) + all(x > 1, axis=1)", { "x:f32[4,5,6]" } },
	{ "var(x, axis=-1) + std(x, axis=-1, correction=1) + logsumexp(x, axis=-1) + norm(x, axis=-1)", { "x:f32[4,5,6]" } },
	{ "sum(x * y, axis=0, keepdims=True)", { "x:f32[300,130]", "y:f32[130]" } },
	{ "cumsum(x, axis=1) + cumprod(x, axis=0) + cummax(x, axis=2)", { "x:f32[4,5,6]" } },
	{ "softmax(x) + softmax(x, axis=0) + log_softmax(x, axis=1)", { "x:f32[4,5,6]" } },
	{ "layernorm(x, w, b) + layer_norm(x, (5, 6)) + rmsnorm(x, w)", { "x:f32[4,5,6]", "w:f32[6]", "b:f32[6]" } },
	{ "groupnorm(x, 2, w, b)", { "x:f32[3,4,5]", "w:f32[4]", "b:f32[4]" } },
	{ "batchnorm(x, weight=w, bias=b) + batchnorm(x, w, w * w, b)", { "x:f32[3,4,5,2]", "w:f32[4]", "b:f32[4]" } },
	{ "cross_entropy(x, t, reduction='none') + nll_loss(x, t, 'none')", { "x:f32[6,3]", "t:i64[6]" } },
	{ "mse_loss(x, y, 'none') + l1_loss(x, y, 'none') + huber_loss(x, y, 'none') + smooth_l1_loss(x, y, 'none')",
	  { "x:f32[6,3]", "y:f32[6,3]" } },
	{ "kl_div(x, exp(y), 'none') + kl_div(x, y, 'none', log_target=True)", { "x:f32[6,3]", "y:f32[6,3]" } },
	{ "x @ y", { "x:f32[37,70]", "y:f32[70,41]" } },
	{ "matmul(x, y.mT)", { "x:f32[2,1,7,6]", "y:f32[3,5,6]" } },
	{ "relu(linear(x, w, b))", { "x:f32[2,5,6]", "w:f32[7,6]", "b:f32[7]" } },
	{ "einsum('bij,bjk,k->ibk', x, y, z)", { "x:f32[2,3,4]", "y:f32[2,4,5]", "z:f32[5]" } },
	{ "einsum('ij->ji', x) + einsum('ij,i->j', x, y)[:, None]", { "x:f32[3,4]", "y:f32[3]" } },
	{ "attention(q, k, v, causal=True)", { "q:f32[2,4,5,6]", "k:f32[2,2,7,6]", "v:f32[2,2,7,3]" } },
	{ "attention(q, k, v, m, scale=0.5)", { "q:f32[2,5,6]", "k:f32[2,7,6]", "v:f32[2,7,3]", "m:f32[5,7]" } },
	{ "conv1d(x, w, b, stride=2, padding=1, dilation=2)", { "x:f32[2,3,13]", "w:f32[4,3,3]", "b:f32[4]" } },
	{ "conv2d(x, w, padding=(1, 0), groups=2)", { "x:f32[2,4,6,7]", "w:f32[6,2,3,2]" } },
	{ "conv3d(x, w, stride=2, padding=1)", { "x:f32[1,2,5,6,4]", "w:f32[3,2,3,2,1]" } },
	{ "conv_transpose1d(x, w, stride=3, padding=1, output_padding=1)", { "x:f32[2,3,5]", "w:f32[3,2,4]" } },
	{ "conv_transpose2d(x, w, b, stride=2, groups=2)", { "x:f32[2,4,3,4]", "w:f32[4,3,2,3]", "b:f32[6]" } },
	{ "conv_transpose3d(x, w, dilation=2)", { "x:f32[1,2,3,2,3]", "w:f32[2,2,2,1,2]" } },
	{ "max_pool1d(x, 3, stride=2, padding=1) + avg_pool1d(x, 3, stride=2, padding=1)", { "x:f32[2,3,11]" } },
	{ "max_pool2d(x, (2, 3)) - avg_pool2d(x, (2, 3))", { "x:f32[2,3,6,7]" } },
	{ "max_pool3d(x, 2, stride=1) - avg_pool3d(x, 2, stride=1)", { "x:f32[2,3,4,5]" } },
	{ "reshape(x, (4, 3, -1)) + reshape(y, 4, 3, 5)", { "x:f32[6,10]", "y:f32[5,3,4]" } },
	{ "flatten(x, 1) + flatten(permute(y, 2, 0, 1), 1)", { "x:f32[4,3,5]", "y:f32[3,5,4]" } },
	{ "transpose(x) + swapaxes(y, 0, 1)", { "x:f32[4,5]", "y:f32[4,5]" } },
	{ "concat([x[:2], flip(x, (0, 1)), roll(x, 3, axis=0)], axis=0)", { "x:f32[5,6]" } },
	{ "stack([x, y], axis=1) + slice(expand_dims(x, 1), 0, 6, axis=2)", { "x:f32[5,6]", "y:f32[5,6]" } },
	{ "pad(x, ((1, 2), (0, 3)), value=-1) + full((8, 9), 2) + zeros(8, 9) + ones(8, 9)", { "x:f32[5,6]" } },
	{ "broadcast_to(squeeze(x, 0), (3, 5, 6)) + x", { "x:f32[1,5,6]" } },
	{ "repeat(x, 3, axis=1) + repeat(tril(x) + triu(x, 1), 3, axis=1)", { "x:f32[5,6]" } },
	{ "x[1:, ::2, None, 3] * y[2, 1]", { "x:f32[4,5,6]", "y:f32[4,5]" } },
	{ "take(x, i, axis=1) + take(exp(x), i, axis=1)", { "x:f32[4,5,2]", "i:i32[3]" } },
	{ "embedding(i, w)", { "i:i64[2,3]", "w:f32[5,4]" } },
	{ "gather(x * x, i, axis=0)", { "x:f32[4,5]", "i:i64[3,5]" } },
	{ "one_hot(i, 4) + one_hot(i, num_classes=4)", { "i:i64[2,3]" } },
	{ "rnn(x, y, z)", { "x:f32[5,3,4]", "y:f32[4,4]", "z:f32[3,4]" } },
	{ "gru(x, y, z, b) + 1", { "x:f32[5,3,6]", "y:f32[6,2]", "z:f32[3,2]", "b:f32[6]" } },
	{ "lstm(x, y, z, z)[0] * lstm(x, y, z, z)[1]", { "x:f32[5,3,8]", "y:f32[8,2]", "z:f32[3,2]" } },
	{ "topk(x, 3, axis=0)[0] + topk(x, 3, axis=0)[1]", { "x:f32[7,4]" } },
	{ "softmax(x @ y / 8, axis=-1) @ x", { "x:f32[6,6]", "y:f32[6,6]" } },
};

static int64_t next(uint64_t *state, int64_t below)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return below > 0 ? (int64_t)((*state >> 33) % (uint64_t)below) : 0;
}

static bool same_box(struct kw_eval *ev, struct run *r, const double *whole, uint64_t *state, double rel)
{
	const struct kw_shape *s = kw_bound_output_shape(r->b, 0);
	int64_t start[KW_MAX_RANK], count[KW_MAX_RANK], volume = 1, stride[KW_MAX_RANK];
	double *box;

	kw_shape_contiguous(s, stride);
	for (int i = 0; i < s->rank; i++) {
		start[i] = next(state, s->dim[i]);
		count[i] = 1 + next(state, s->dim[i] - start[i]);
		volume *= count[i];
	}
	box = kw_arena_alloc(&r->arena, sizeof(*box) * (size_t)volume);
	if (kw_eval_box(ev, 0, start, count, box, &r->err) != KW_OK) {
		diag("%s", r->err.text);
		return false;
	}
	for (int64_t i = 0; i < volume; i++) {
		int64_t rest = i, at = 0;
		for (int k = s->rank - 1; k >= 0; k--) {
			at += (start[k] + rest % count[k]) * stride[k];
			rest /= count[k];
		}
		if (!run_near(box[i], whole[at], rel)) {
			diag("element %lld: in its box %.17g, in the whole %.17g", (long long)at, box[i], whole[at]);
			return false;
		}
	}
	return true;
}

/* The same values behind other strides: the last axis with a step of 2, the first as far apart as it likes. */
static void spread(struct run *r)
{
	for (size_t i = 0; i < r->task.input_count; i++) {
		struct kw_view *v = &r->view[i];
		size_t bytes = kw_dtype_bytes((enum kw_dtype)v->dtype);
		int64_t n = kw_shape_count(&v->shape), step = 2, old[KW_MAX_RANK];
		char *base;

		kw_shape_contiguous(&v->shape, old);
		for (int k = v->shape.rank - 1; k >= 0; k--) {
			v->stride[k] = step;
			step = step * v->shape.dim[k] + 3;
		}
		base = kw_arena_calloc(&r->arena, (size_t)step + 1, bytes);
		for (int64_t j = 0; j < n; j++) {
			int64_t rest = j, to = 0;
			for (int k = v->shape.rank - 1; k >= 0; k--) {
				to += rest % v->shape.dim[k] * v->stride[k];
				rest /= v->shape.dim[k];
			}
			memcpy(base + (size_t)to * bytes, (char *)v->base + (size_t)j * bytes, bytes);
		}
		v->base = base;
	}
}

static void check(const struct row *w)
{
	struct run r;
	uint64_t state = 42;

	if (!ok(run_init(&r, w->expr, w->in[0], w->in[1], w->in[1] ? w->in[2] : NULL,
			 w->in[1] && w->in[2] ? w->in[3] : NULL, NULL), "%s", w->expr)) {
		diag("%s", r.err.text);
		run_free(&r);
		return;
	}
	for (int mode = 0; mode < 2; mode++) {
		/* Sums in another order may differ, in f32 by more: but an f32 evaluation keeps its order. */
		double *y = run_whole(&r, 0, mode ? KW_EVAL_F32 : KW_EVAL_F64);
		for (int whole = 0; whole < 2 && ok(y != NULL, "%s: whole, mode %d", w->expr, mode); whole++) {
			struct kw_eval *ev = run_eval(&r, mode ? KW_EVAL_F32 : KW_EVAL_F64, 3);
			bool same = ev && kw_eval_prepare(ev, whole != 0, &r.err) == KW_OK;
			for (int k = 0; k < 25 && same; k++)
				same = same_box(ev, &r, y, &state, mode ? 2e-6 : 1e-12);
			ok(same, "%s: boxes, mode %d, prepared for %s", w->expr, mode, whole ? "all" : "few");
			kw_eval_free(ev);
		}
		if (mode == 0 && y) {
			struct kw_eval *ev;
			spread(&r);
			ev = run_eval(&r, KW_EVAL_F64, 1);
			ok(ev && same_box(ev, &r, y, &state, 1e-12), "%s: strided inputs", w->expr);
			kw_eval_free(ev);
		}
	}
	run_free(&r);
}

static bool names(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = strstr(text, name); p; p = strstr(p + 1, name)) {
		if ((p == text || !(p[-1] == '_' || (p[-1] >= '0' && p[-1] <= 'z'))) && p[n] == '(')
			return true;
	}
	return false;
}

int main(void)
{
	size_t n = sizeof(rows) / sizeof(*rows);

	for (size_t i = 0; i < n; i++)
		check(&rows[i]);
	for (int id = 1; id < OP_COUNT; id++) {
		const char *name = op_get((enum op_id)id)->name;
		bool found = name[0] == '_' || id == OP_MATMUL;
		for (size_t i = 0; i < n; i++)
			found = found || names(rows[i].expr, name);
		if (!found)
			ok(false, "an expression above uses %s()", name);
	}
	return done();
}
