/* Random numbers of expressions: what they are, that they are the same again, and that draws are independent. */
#include "expr_run.h"

#include "backend/builtin/kw.h"
#include "base/alloc.h"

static double *values(struct run *r, int64_t draw)
{
	struct kw_eval *ev = NULL;
	const struct kw_shape *s = kw_bound_output_shape(r->b, 0);
	int64_t start[KW_MAX_RANK] = { 0 };
	double *out = kw_alloc((size_t)(kw_shape_count(s) + 1) * sizeof(*out));

	if (kw_eval_new(r->b, r->view, NULL, KW_EVAL_F64, 1, 1 << 26, &ev, &r->err) == KW_OK) {
		kw_eval_draw(ev, draw);
		kw_eval_box(ev, 0, start, s->dim, out, &r->err);
	}
	kw_eval_free(ev);
	return out;
}

static double mean(const double *x, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* The mean of f(x) within six of its own standard deviations. */
static void moments(const char *text, double want, double deviation, double square)
{
	struct run r;
	const int64_t n = 40000;

	if (!ok(run_init(&r, text, "s:i64", "x:f64[n=200,m=200]", NULL), "%s", text)) {
		diag("%s", r.err.text);
		return;
	}
	run_set(&r, 0, (const double[]){ 17 });
	double *y = values(&r, 0), *again = values(&r, 0), *other = values(&r, 3), dot = 0;
	ok(fabs(mean(y, n) - want) < 6 * deviation / 200, "has its mean: %g", mean(y, n));
	ok(memcmp(y, again, (size_t)n * sizeof(*y)) == 0, "is the same again");
	ok(fabs(mean(other, n) - want) < 6 * deviation / 200 && memcmp(y, other, (size_t)n * sizeof(*y)) != 0,
	   "another draw is as good, and another one");
	for (int64_t i = 0; i < n; i++)
		dot += (y[i] - want) * (other[i] - want) / (deviation * deviation);
	ok(fabs(dot) < 6 * 200, "which does not depend on it: %g", dot / 200);
	for (int64_t i = 0; i < n; i++)
		again[i] = y[i] * y[i];
	ok(fabs(mean(again, n) - square) < 0.05 * (square + 1), "has its second moment: %g", mean(again, n));
	kw_free(y);
	kw_free(again);
	kw_free(other);
	run_free(&r);
}

static void test_builder_header(void)
{
	struct run r;
	bool same = true;

	if (!ok(run_init(&r, "rand(s, 100)", "s:i64", NULL), "a line of them"))
		return;
	run_set(&r, 0, (const double[]){ -5 });
	double *y = values(&r, 0);
	for (int64_t i = 0; i < 100; i++)
		same = same && y[i] == (double)kw_uniformf(-5, i) && y[i] >= 0 && y[i] < 1;
	ok(same, "are those of kw_uniformf");
	kw_free(y);
	run_free(&r);
}

static void test_refused(void)
{
	static const struct {
		const char *expr, *message;
	} bad[] = {
		{ "rand(x, 4)", "the seed must be one whole number" },
		{ "rand(f, 4)", "the seed must be one whole number" },
		{ "dropout(x)", "seed" },
		{ "rand(s, f)", "" },
		{ "_uniform(s, s)", "_uniform" },
	};
	struct kw_task t;
	struct kw_expr *e;
	struct kw_arena a;
	struct kw_error err = { 0 };
	static const char plain[] = "name: a\ndims: { n: 4 }\ninputs: { x: { dtype: f32, shape: [n] } }\noutputs: { y: { dtype: f32, shape: "
				    "[n], compare: distribution } }\nreference: { expr: y = x + 1 }\nperf: [ {} ]\n";
	static const char c[] = "name: a\ndims: { n: 4 }\ninputs: { x: { dtype: f32, shape: [n] } }\noutputs: { y: { dtype: f32, shape: [n], "
				"compare: distribution } }\nreference: { c: r.c }\nperf: [ {} ]\n";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct run r;

		ok(!run_init(&r, bad[i].expr, "s:i64", "x:i64[4]", "f:f32", NULL), "%s is refused", bad[i].expr);
		has_str(r.err.text, bad[i].message, "with the reason");
		run_free(&r);
	}
	kw_arena_init(&a, 1 << 24);
	is_int(kw_task_parse_yaml(&t, "t.yaml", plain, strlen(plain), &err), KW_OK, "a task whose output is not random");
	is_int(kw_expr_parse(&t, &a, &e, &err), KW_ERR_INPUT, "cannot be compared by distribution");
	has_str(err.text, "draws no random numbers", "with the reason");
	kw_task_release(&t);
	kw_arena_release(&a);
	is_int(kw_task_parse_yaml(&t, "t.yaml", c, strlen(c), &err), KW_ERR_INPUT, "nor can a reference in C");
	has_str(err.text, "only an 'expr' can be", "with the reason");
}

int main(void)
{
	moments("rand(s, n, m)", 0.5, 0.288675, 1.0 / 3);
	moments("rand(s, (n, m))", 0.5, 0.288675, 1.0 / 3);
	moments("randn(s, n, m)", 0, 1, 1);
	moments("bernoulli(x * 0 + 0.2, s)", 0.2, 0.4, 0.2);
	moments("dropout(x * 0 + 1, s, p=0.75)", 1, 1.7320508, 4);
	test_builder_header();
	test_refused();
	return done();
}
