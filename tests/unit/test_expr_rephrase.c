/* Other formulas: the same numbers in f64, other rounding errors in f32, and nothing where there is no other one. */
#include "expr_run.h"

#include "base/file.h"
#include "base/str.h"

#include <stdlib.h>

static struct kw_buf docs;

struct row {
	const char *expr, *in[4];
	int form;
	const char *says;                 /* a part of it; NULL: KW_NO */
};

static const struct row rows[] = {
	{ "var(x, axis=-1)", { "x:f32[3,40]" }, 1, "var as mean(x * x)" },
	{ "var(x, axis=(0, 2), keepdims=True, correction=1)", { "x:f32[3,4,5]" }, 1, "var as mean(x * x)" },
	{ "var(x)", { "x:f32[3,4]" }, 1, "var as" },
	{ "std(x, axis=0, correction=1)", { "x:f32[30,4]" }, 1, "std with its variance as" },
	{ "layernorm(x, w, b)", { "x:f32[3,40]", "w:f32[40]", "b:f32[40]" }, 1, "layernorm with its variance" },
	{ "layernorm(x, w, b)", { "x:f32[3,40]", "w:f32[40]", "b:f32[40]" }, 2, "layernorm as x * scale + shift" },
	{ "layernorm(x, bias=b)", { "x:f32[3,40]", "b:f32[40]" }, 2, "layernorm as" },
	{ "layer_norm(x, 40)", { "x:f32[3,40]" }, 2, "layernorm as" },
	{ "groupnorm(x, 2, w, b)", { "x:f32[2,4,5]", "w:f32[4]", "b:f32[4]" }, 1, "groupnorm with" },
	{ "batchnorm(x, weight=w, bias=b, training=True)", { "x:f32[6,4,5]", "w:f32[4]", "b:f32[4]" }, 1, "batchnorm with" },
	{ "batchnorm(x, weight=w, bias=b, training=True)", { "x:f32[6,4,5]", "w:f32[4]", "b:f32[4]" }, 2, "batchnorm as" },
	{ "batchnorm(x, m, abs(v))", { "x:f32[6,4]", "m:f32[4]", "v:f32[4]" }, 2, "batchnorm as" },
	{ "softmax(x, axis=0)", { "x:f32[30,4]" }, 1, "softmax as exp(x - logsumexp(x))" },
	{ "softmax(x)", { "x:f32[3,40]" }, 2, "exp as exp2" },
	{ "log_softmax(x)", { "x:f32[3,40]" }, 1, "log_softmax as" },
	{ "cross_entropy(x, t)", { "x:f32[3,40]", "t:f32[3,40]" }, 1, "log_softmax as" },
	{ "kl_div(x, abs(t), reduction='sum')", { "x:f32[3,40]", "t:f32[3,40]" }, 1, "kl_div as" },
	{ "kl_div(x, t, log_target=True, reduction='batchmean')", { "x:f32[3,40]", "t:f32[3,40]" }, 1, "kl_div as" },
	{ "expm1(x)", { "x:f32[100]" }, 1, "expm1 as exp(x) - 1" },
	{ "expm1(x)", { "x:f32[100]" }, 2, "expm1 as exp(x) - 1, exp as exp2" },
	{ "elu(x)", { "x:f32[100]" }, 1, "expm1 as" },
	{ "log1p(abs(x))", { "x:f32[100]" }, 1, "log1p as log(1 + x)" },
	{ "tanh(x)", { "x:f32[100]" }, 1, "tanh as 1 - 2 / (exp(2 * x) + 1)" },
	{ "gelu(x, approximate='tanh')", { "x:f32[100]" }, 1, "tanh as" },
	{ "sigmoid(x)", { "x:f32[100]" }, 1, "sigmoid as" },
	{ "erf(x)", { "x:f32[100]" }, 1, "erf as 1 - erfc(x)" },
	{ "gelu(x)", { "x:f32[100]" }, 1, "erf as" },
	{ "attention(q, k, v)", { "q:f32[2,5,8]", "k:f32[2,7,8]", "v:f32[2,7,8]" }, 2, "exp as exp2" },
	{ "attention(q, k, v)", { "q:f32[2,5,8]", "k:f32[2,7,8]", "v:f32[2,7,8]" }, 1, NULL },
	{ "x @ y", { "x:f32[3,4]", "y:f32[4,3]" }, 1, NULL },
	{ "relu(x)", { "x:f32[100]" }, 1, NULL },
	{ "rmsnorm(x)", { "x:f32[3,40]" }, 2, NULL },
	{ "var(x, axis=-1)", { "x:f32[3,40]" }, 2, NULL },
	{ "erf(x)", { "x:f32[100]" }, 2, NULL },
};

/* Both whole outputs; the second one from e. */
static double *other(struct run *r, const struct kw_expr *e, enum kw_eval_mode mode)
{
	struct kw_bound *own = r->b;
	double *y = NULL;

	if (kw_expr_bind(e, &r->task.cases[0], &r->arena, &r->b, &r->err) == KW_OK)
		y = run_whole(r, 0, mode);
	r->b = own;
	return y;
}

static void compare(struct run *r, const struct row *w, const struct kw_expr *e)
{
	double *want = run_whole(r, 0, KW_EVAL_F64), *got = other(r, e, KW_EVAL_F64);
	double *plain = run_whole(r, 0, KW_EVAL_F32), *again = other(r, e, KW_EVAL_F32);
	int64_t n = kw_shape_count(kw_bound_output_shape(r->b, 0)), far = 0, differ = 0;
	double worst = 0;

	if (!ok(want && got && plain && again, "%s: both are evaluated", w->expr)) {
		diag("%s", r->err.text);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		far += !run_near(got[i], want[i], 1e-11);
		differ += plain[i] != again[i];
		worst = fmax(worst, fabs(again[i] - want[i]) / (fabs(want[i]) + 1e-3));
	}
	is_int(far, 0, "%s: form %d is the same in f64", w->expr, w->form);
	ok(differ > 0, "%s: form %d is rounded otherwise in f32", w->expr, w->form);
	ok(worst < 1e-3, "%s: form %d is good in f32 (%.2g)", w->expr, w->form, worst);
}

/* docs/verdicts.md has every formula. */
static void check_docs(const char *says)
{
	struct kw_str rest = { says, strlen(says) }, part;

	while (kw_str_split(&rest, ',', &part)) {
		char formula[200], *at = formula;

		snprintf(formula, sizeof formula, "%.*s", (int)part.len, part.ptr);
		for (char *next = formula; (next = strstr(next, " as ")) != NULL;)
			at = next += 4;
		ok(at > formula && strstr(docs.ptr, at), "the docs have %s", at);
	}
}

static void check(const struct row *w)
{
	struct run r;
	struct kw_expr *e = NULL;
	struct kw_buf says;
	enum kw_status st = KW_ERR_BUG;

	kw_buf_init(&says, 1 << 12);
	if (run_init(&r, w->expr, w->in[0], w->in[1], w->in[1] ? w->in[2] : NULL, NULL))
		st = kw_expr_rephrase(r.e, w->form, &r.arena, &e, &says, &r.err);
	if (!is_int(st, w->says ? KW_OK : KW_NO, "%s: form %d", w->expr, w->form))
		diag("%s", r.err.text);
	if (st == KW_OK && w->says) {
		kw_buf_addz(&says, "");
		ok(memmem(says.ptr, says.len, w->says, strlen(w->says)), "%s: it says \"%.*s\"", w->expr, (int)says.len, says.ptr);
		check_docs(says.ptr);
		compare(&r, w, e);
	}
	kw_buf_release(&says);
	run_free(&r);
}

int main(void)
{
	const char *top = getenv("KW_TOP");
	struct kw_error err = { 0 };
	char path[512];

	snprintf(path, sizeof path, "%s/docs/verdicts.md", top ? top : ".");
	kw_buf_init(&docs, 1 << 20);
	if (!is_int(kw_file_read(path, 1 << 20, &docs, &err), KW_OK, "docs/verdicts.md is there"))
		return done();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(&rows[i]);
	kw_buf_release(&docs);
	return done();
}
