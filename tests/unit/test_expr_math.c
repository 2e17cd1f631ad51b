/* The evaluator's own functions against long double ones: at most 4 ulp, and the special values. */
#include "expr/eval_internal.h"

#include "expr_run.h"

struct row {
	enum op_id id;
	long double (*want)(long double);
	double lo, hi;
};

static double error_ulp(double got, long double want)
{
	double d = (double)want, spacing;

	if (d != d || isinf(d))
		return got == d || (got != got && d != d) ? 0 : 1e9;
	spacing = nextafter(fabs(d), INFINITY) - fabs(d);
	return fabs((double)((long double)got - want)) / spacing;
}

int main(void)
{
	static const struct row rows[] = {
		{ OP_EXP, expl, -745, 709.7 }, { OP_EXP, expl, -1, 1 }, { OP_EXPM1, expm1l, -60, 709 },
		{ OP_EXPM1, expm1l, -1.5, 1.5 }, { OP_EXPM1, expm1l, -1e-9, 1e-9 }, { OP_LOG, logl, 1e-300, 1e-290 },
		{ OP_LOG, logl, 0.5, 2 }, { OP_LOG, logl, 1, 1e6 }, { OP_LOG1P, log1pl, -0.99, 5 },
		{ OP_LOG1P, log1pl, -1e-9, 1e-9 }, { OP_TANH, tanhl, -3, 3 }, { OP_TANH, tanhl, -1e-3, 1e-3 },
		{ OP_ERF, erfl, -4, 4 },
	};
	static const double special[] = { 0, INFINITY, -INFINITY, NAN, 1e-310, -1, 1, -740, -750, 709.9, 1e300, -1e300 };
	static double x[20000], y[20000];
	int n = 20000;

	for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
		double worst = 0, at = 0;
		for (int i = 0; i < n; i++)
			x[i] = rows[r].lo + (rows[r].hi - rows[r].lo) * ((i * 7919 % n) + 0.37) / n;
		vec_unary(rows[r].id)(x, y, n);
		for (int i = 0; i < n; i++) {
			double e = error_ulp(y[i], rows[r].want((long double)x[i]));
			if (e > worst) {
				worst = e;
				at = x[i];
			}
		}
		if (!ok(worst <= 4, "%s in [%g, %g]", op_get(rows[r].id)->name, rows[r].lo, rows[r].hi))
			diag("%.2f ulp at %.17g", worst, at);
	}
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
		double v = special[i], got;
		for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r += 1 + (r == 0)) {
			vec_unary(rows[r].id)(&v, &got, 1);
			if (error_ulp(got, rows[r].want((long double)v)) > 4) {
				ok(false, "%s(%g)", op_get(rows[r].id)->name, v);
				diag("got %g", got);
			}
		}
	}
	/* A NaN anywhere wins; sums do not depend on where a vector ends. */
	for (int at = 0; at < 70; at++) {
		for (int i = 0; i < 70; i++)
			x[i] = i == at ? (double)NAN : (double)i;
		if (vec_max(x, 70) == vec_max(x, 70) || vec_min(x, 70) == vec_min(x, 70))
			ok(false, "maximum and minimum keep a NaN at %d", at);
	}
	for (int64_t m = 0; m < 100; m++) {
		double sum = 0;
		for (int64_t i = 0; i < m; i++) {
			x[i] = (double)(i * i);
			sum += x[i];
		}
		if (vec_sum(x, m) != sum || vec_dot(x, x, m) < sum)
			ok(false, "sum of %lld", (long long)m);
	}
	return done();
}
