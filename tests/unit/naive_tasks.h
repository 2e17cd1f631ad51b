/* naive_tasks.h - what the tests of the naive kernels run: every task of the library and what it has no task for, random
 * inputs as the judge would draw them, arrays between guards. */
#ifndef KW_TESTS_NAIVE_TASKS_H
#define KW_TESTS_NAIVE_TASKS_H

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "core/plan.h"
#include "expr/expr.h"
#include "tap.h"

#define MAX_TASKS 200
#define GUARD 64                        /* bytes on each side of an array that must stay as they are */
#define GUARD_BYTE 0xC3

/* One task, or one expression of `more` below. */
struct entry {
	struct kw_task task;
	struct kw_arena a;
	struct kw_expr *e;
	const char *name;
	struct kw_plan plan[3];         /* C: serial, openmp; a GPU: the forms */
	bool emitted;
};
static struct entry entries[MAX_TASKS];
static size_t entry_count;

/* What the library has no task for. */
static const struct {
	const char *name, *expr, *inputs[4];
} more[] = {
	{ "chain", "tanh(x) * exp(-abs(x)) + maximum(x, 0.5) - x % 2", { "x:f32[a=3,b=5]" } },
	{ "scalar", "3", { "x:f32[4]" } },
	{ "copy", "x", { "x:f32[a=3,b=5]" } },
	{ "random", "dropout(x, s, p=0.25) + rand(s, a, b) * randn(s, a, b) + bernoulli(abs(x), s)", { "x:f32[a=3,b=5]", "s:i64" } },
	{ "outer", "x[:, None] * z[None, :]", { "x:f32[a=3]", "z:f32[b=5]" } },
	{ "doubles", "softmax(x * 2.0, axis=0)", { "x:f64[a=7,b=5]" } },
	{ "whole", "(x // 3) % 4 + (x & 7)", { "x:i32[a=7,b=5]" } },
	{ "float_floors", "x // y + (x % y) * 3.0 - x % -0.3 + (x * 100.0) // 0.1 + 1.0 // x", { "x:f32[a=70]", "y:f32[a=70]" } },
	{ "double_floors", "x // y + (x % y) * 3.0 + (x * 100.0) // 0.1", { "x:f64[a=70]", "y:f64[a=70]" } },
	{ "bytes", "(x * y + 250) // 3 + i16(-x) % 7 + (~y) // 2", { "x:u8[a=70]", "y:u8[a=70]" } },
	{ "signed_bytes", "abs(x * x * 9 - 128) // (y * y * 5) + (x * -128) // -1", { "x:i8[a=70]", "y:i8[a=70]" } },
	{ "shorts", "(square(x * 99) - y * 30000) % 1000 > (x ** 9) // 3", { "x:i16[a=70]", "y:i16[a=70]" } },
	{ "ints", "(x * 1664525 + 1013904223) % 1000 + square(x * 65537) // 3 + (y + 3) ** 19 // 7 - (-2 + x) ** (y - 3)",
	  { "x:i32[a=70]", "y:i32[a=70]" } },
	{ "floors", "(x // y) + (x % y) * 3 - x % -5 + (0 - x) // 2", { "x:i32[a=7,b=5]", "y:i32[a=7,b=5]" } },
	{ "truth", "any(x > 2.0, axis=-1) | ~all(x > -2.0, axis=-1)", { "x:f32[a=9,b=5]" } },
	{ "narrow", "f32(f16(x * 3.0)) + f32(bf16(x))", { "x:f32[a=9,b=5]" } },
	{ "mixed", "x * y", { "x:bf16[a=9,b=5]", "y:f32[b=5]" } },
	{ "ranks", "sum(x, axis=(0, 2)) * mean(x)", { "x:f32[a=3,b=5,c=7]" } },
	{ "twice", "(x - mean(x, axis=0, keepdims=True)) / std(x, axis=0, keepdims=True) + max(x, axis=1, keepdims=True)",
	  { "x:f32[a=6,b=5]" } },
	{ "columns", "softmax(x, axis=1)", { "x:f32[a=3,b=5,c=7]" } },
	{ "planes", "layernorm(x, axis=(-2, -1))", { "x:f32[a=3,b=5,c=7]" } },
	{ "product", "softmax(relu(x @ w), axis=-1) @ w.T", { "x:f32[a=3,b=5]", "w:f32[b=5,c=7]" } },
	{ "summed", "sum(exp(x @ w), axis=-1)", { "x:f32[a=3,b=5]", "w:f32[b=5,c=7]" } },
	{ "einsum", "einsum('bij,bkj->bik', x, z)", { "x:f32[a=2,b=3,c=4]", "z:f32[a=2,d=5,c=4]" } },
	{ "triple", "einsum('ij,jk,kl->il', x, z, x)", { "x:f32[a=3,b=5]", "z:f32[b=5,a=3]" } },
	{ "linear", "linear(x, w, z)", { "x:f32[a=3,b=5]", "w:f32[c=7,b=5]", "z:f32[c=7]" } },
	{ "moves", "concat([x[1:, ::2], flip(x, 0)[1:, ::2], pad(x, ((0, 0), (1, 2)))[:2, 1:4]], axis=1)",
	  { "x:f32[a=3,b=5]" } },
	{ "shapes", "reshape(swapaxes(reshape(x, a, b // 2, 2), 0, 1), -1) * 2.0", { "x:f32[a=3,b=6]" } },
	{ "reshaped_sum", "reshape(sum(x, axis=1), 2, -1)", { "x:f32[a=4,b=6]" } },
	{ "repeat", "repeat(x, 3, axis=1) + roll(repeat(x, 3, axis=1), 2, axis=1)", { "x:f32[a=4,b=6]" } },
	{ "stack", "stack([x, x + 1.0], axis=1)", { "x:f32[a=4,b=6]" } },
	{ "tri", "tril(x) - triu(x, 1)", { "x:f32[a=4,b=6]" } },
	{ "one_hot", "one_hot(i64(abs(x)) % 5, 5)", { "x:f32[a=4]" } },
	{ "take", "exp(take(x * 2.0, i64(abs(z)) % 4, axis=0))", { "x:f32[a=4,b=6]", "z:f32[c=5]" } },
	{ "scans", "cumsum(x, axis=0) + cumprod(x, axis=1) + cummax(x, axis=0)", { "x:f32[a=4,b=6]" } },
	{ "argmin", "argmin(x * x, axis=0)", { "x:f32[a=4,b=6]" } },
	{ "entropy", "cross_entropy(x, softmax(z, axis=1))", { "x:f32[a=4,b=6]", "z:f32[a=4,b=6]" } },
	{ "entropies", "cross_entropy(x, i64(abs(z)) % 6, reduction='none')", { "x:f32[a=4,b=6,c=3]", "z:f32[a=4,c=3]" } },
	{ "losses", "huber_loss(x, z) + l1_loss(x, z) + smooth_l1_loss(x, z, beta=0.5)", { "x:f32[a=4]", "z:f32[a=4]" } },
	{ "norms", "norm(x, axis=-1) + norm(x, ord=inf, axis=-1) + logsumexp(x, axis=-1)", { "x:f32[a=4,b=6]" } },
	{ "acts", "gelu(x) + mish(x) + elu(x) + selu(x) + hardswish(x) + softplus(x) + leaky_relu(x) + logsigmoid(x)",
	  { "x:f32[a=40]" } },
	{ "conv_groups", "relu(conv2d(x, w, groups=2, stride=2, padding=1, dilation=2))",
	  { "x:f32[n=2,c=4,h=7,w1=9]", "w:f32[o=6,ci=2,kh=3,kw=2]" } },
	{ "conv_deep", "softmax(conv1d(relu(conv1d(x, w, padding=1)), w), axis=-1)", { "x:f32[n=2,c=3,l=9]", "w:f32[o=3,c=3,k=3]" } },
	{ "transpose_groups", "conv_transpose1d(x, w, groups=2, stride=3, padding=1, output_padding=1)",
	  { "x:f32[n=2,c=4,l=5]", "w:f32[c=4,o=3,k=4]" } },
	{ "pools", "max_pool1d(x, 3, padding=1) - avg_pool1d(x, 3, padding=1, count_include_pad=False)", { "x:f32[n=2,c=4,l=12]" } },
	{ "attention_bias", "attention(x, x * 0.5, x, z, scale=0.3)", { "x:f32[b=2,h=3,s=5,d=4]", "z:f32[s=5,s2=5]" } },
	{ "attention_flat", "attention(x, x, x, causal=True)", { "x:f32[s=5,d=4]" } },
	{ "attention_moved", "attention(swapaxes(x, 1, 2), swapaxes(x, 1, 2), swapaxes(x, 1, 2))", { "x:f32[b=2,s=5,h=3,d=4]" } },
	{ "taken", "exp(log) + floor[None, :] * class", { "log:f32[new=3,max=5]", "floor:f32[max=5]", "class:f32[new=3,max=5]" } },
	{ "all_of_it", "sum(x) + max(x) - min(x * 2.0) + mean(x, axis=0, keepdims=True)", { "x:f32[a=2000]" } },
	{ "counts", "sum(x) + max(x)", { "x:i32[a=2000]" } },
	{ "all_true", "any(x > 3.0) | all(x > -9.0)", { "x:f32[a=3000]" } },
	{ "casts", "i32(x * 8192.0) + i32(u8(abs(x) * 16.0)) + i8(i64(x * 8.0))", { "x:f32[a=40]" } },
	{ "narrow_doubles", "f32(f16(x * 1e-4)) + f32(bf16(x)) + f32(f8e4m3(x * 100.0)) + f32(f8e5m2(x))", { "x:f64[a=400]" } },
	{ "halves_of_doubles", "f16(x * 1.5)", { "x:f64[a=400]" } },
	{ "group", "relu(group_norm(x, 2, eps=0.1))", { "x:f32[n=2,c=4,l=5]" } },
	{ "far", "mean(x, axis=(1, 2))", { "x:f32[3,17,301]" } },
	{ "far_apart", "sum(x * 1.5, axis=0) + bias", { "x:f32[5000,10]", "bias:f32[10]" } },
	{ "far_norm", "layernorm(x, axis=(-2, -1)) * sqrt(mean(exp(x)))", { "x:f16[2,9,600]" } },
	{ "beyond", "i32(x * 3e9) + i32(u8(x * 200.0)) + i8(i64(x * 1e3)) + i16(x / 0.0) + i8(0.0 * (x / 0.0))", { "x:f64[a=40]" } },
};

/* ---- tasks ---- */

static void load_entry(struct entry *en, void (*then)(struct entry *))
{
	struct kw_error err = { 0 };

	kw_arena_init(&en->a, 64u << 20);
	if (ok(kw_expr_parse(&en->task, &en->a, &en->e, &err) == KW_OK, "%s: is read", en->name))
		then(en);
	else
		diag("%s: %s", err.where, err.text);
}

/* then: for each one that is read. KW_ONLY: the only one. */
static void load_entries(void (*then)(struct entry *), bool with_more)
{
	static struct kw_arena a;
	struct kw_error err = { 0 };
	char **paths = NULL;
	size_t count = 0;
	const char *only = getenv("KW_ONLY");

	kw_arena_init(&a, 4 << 20);
	kw_data_list("tasks/", ".yaml", &a, &paths, &count, &err);
	ok(count > 60 && count < MAX_TASKS - 50, "the library is listed");
	for (size_t i = 0; i < count; i++) {
		struct entry *en = &entries[entry_count];
		char *name = kw_arena_strdup(&a, kw_path_base(paths[i]));

		name[strlen(name) - 5] = '\0';
		if ((only && strcmp(only, name)) || kw_task_load(&en->task, name, &err) != KW_OK ||
		    kw_expr_complete_task(&en->task, &err) != KW_OK)
			continue;
		en->name = en->task.name;
		entry_count++;
		load_entry(en, then);
	}
	for (size_t i = 0; with_more && i < sizeof(more) / sizeof(*more); i++) {
		struct entry *en = &entries[entry_count];
		size_t n = 0;

		while (n < 4 && more[i].inputs[n])
			n++;
		if (only && strcmp(only, more[i].name))
			continue;
		if (!ok(kw_task_parse_line(&en->task, more[i].expr, more[i].inputs, n, &err) == KW_OK &&
				kw_expr_complete_task(&en->task, &err) == KW_OK, "%s: is a task", more[i].name)) {
			diag("%s: %s", err.where, err.text);
			continue;
		}
		en->name = more[i].name;
		entry_count++;
		load_entry(en, then);
	}
}

static void release_entries(void)
{
	for (size_t i = 0; i < entry_count; i++) {
		kw_arena_release(&entries[i].a);
		kw_task_release(&entries[i].task);
	}
}

/* ---- inputs ---- */

static uint64_t seed;
static double unit(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 40) / 16777216.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - unit())) * cos(6.283185307179586 * unit());
}

static double draw(const struct kw_tensor_decl *d, double lo, double hi)
{
	double v;

	switch (d->dist) {
	case KW_DIST_UNIFORM: return d->has_range ? lo + (hi - lo) * unit() : unit();
	case KW_DIST_INTEGERS: v = lo + floor(unit() * (hi - lo + 1)); return v > hi ? hi : v;
	case KW_DIST_BERNOULLI: return unit() < (d->has_range ? lo : 0.5);
	case KW_DIST_POSITIVE: return fabs(normal()) + 0.1;
	case KW_DIST_PROBABILITIES: return 0.01 + unit();
	default: return d->has_range ? lo + hi * normal() : normal();
	}
}

__attribute__((unused)) static void *guarded(size_t bytes, int fill)
{
	unsigned char *p = kw_alloc(bytes + 2 * GUARD);

	memset(p, GUARD_BYTE, bytes + 2 * GUARD);
	memset(p + GUARD, fill, bytes);
	return p + GUARD;
}

__attribute__((unused)) static bool guards_hold(const void *p, size_t bytes)
{
	const unsigned char *q = p;

	for (size_t i = 1; i <= GUARD; i++)
		if (q[-(ptrdiff_t)i] != GUARD_BYTE || q[bytes + i - 1] != GUARD_BYTE)
			return false;
	return true;
}

__attribute__((unused)) static void release(void *p)
{
	kw_free((unsigned char *)p - GUARD);
}

/* p: contiguous */
__attribute__((unused)) static void fill(const struct kw_tensor_decl *d, const struct kw_intenv *env,
					 const struct kw_shape *s, void *p)
{
	int64_t n = kw_shape_count(s), lo_i = 0, hi_i = 0, last = s->rank ? s->dim[s->rank - 1] : 1;
	double lo = d->range_lo, hi = d->range_hi, *v = kw_calloc((size_t)n + 1, sizeof(double));

	if (d->range_lo_int && kw_intexpr_eval(d->range_lo_int, env, &lo_i, NULL) == KW_OK)
		lo = (double)lo_i;
	if (d->range_hi_int && kw_intexpr_eval(d->range_hi_int, env, &hi_i, NULL) == KW_OK)
		hi = (double)hi_i;
	for (int64_t i = 0; i < n; i++)
		v[i] = draw(d, lo, hi);
	for (int64_t i = 0; d->dist == KW_DIST_PROBABILITIES && i < n; i += last) {
		double sum = 0;
		for (int64_t k = 0; k < last; k++)
			sum += v[i + k];
		for (int64_t k = 0; k < last; k++)
			v[i + k] /= sum;
	}
	kw_dtype_from_f64(d->dtype, v, p, (size_t)n);
	kw_free(v);
}

/* ---- what is compared ---- */

/* Error of a plain f32 loop over `length` terms, and two units of the output's own type. */
__attribute__((unused)) static double tolerance(const struct entry *en, size_t output, int64_t length, double scale)
{
	enum kw_dtype d = en->task.outputs[output].dtype;
	bool wide = d == KW_F64;

	if (!kw_dtype_is_float(d))
		return 0;
	return scale * ((wide ? 1e-13 : 4e-7) * (10 + 4 * sqrt((double)length)) + (wide ? 0 : 2 * kw_dtype_ulp(d, 1.0)));
}

__attribute__((unused)) static bool small(const struct kw_bound *b)
{
	struct kw_cost cost;

	kw_expr_cost(b, &cost);
	return cost.flops < 4e6 && cost.bytes_read + cost.bytes_written < 2e6;
}

#endif
