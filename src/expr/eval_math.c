/* eval_math.c - loops over doubles, branch-free so that they vectorise; several clones for several machines.
 *
 * exp, log, expm1, log1p, tanh, erf are ours: argument reduction, then a Taylor polynomial long enough for f64 (errors measured in
 * tests/unit/test_expr_math.c, at most 3 ulp). ln 2 is split in two so that n ln2_hi is exact for |n| < 2^20. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-math-errno,no-trapping-math,fp-contract=fast")
#endif
#include "expr/eval_internal.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

static const double log2_e = 1.4426950408889634074, ln2_hi = 0x1.62e42feep-1, ln2_lo = 0x1.a39ef35793c76p-33,
		    shift = 0x1.8p52;

INLINE double bits_f64(uint64_t u)
{
	double d;

	memcpy(&d, &u, sizeof(d));
	return d;
}

INLINE uint64_t f64_bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

/* 2^n for a whole n in the exponent's range; n is the low bits of t = n + shift. */
INLINE double pow2_of(double t)
{
	return bits_f64((f64_bits(t) + 1023) << 52);
}

/* exp(r) - 1 for |r| <= ln2 / 2 */
INLINE double expm1_small(double r)
{
	double p = 1.0 / 6227020800.0;

	p = p * r + 1.0 / 479001600.0;
	p = p * r + 1.0 / 39916800.0;
	p = p * r + 1.0 / 3628800.0;
	p = p * r + 1.0 / 362880.0;
	p = p * r + 1.0 / 40320.0;
	p = p * r + 1.0 / 5040.0;
	p = p * r + 1.0 / 720.0;
	p = p * r + 1.0 / 120.0;
	p = p * r + 1.0 / 24.0;
	p = p * r + 1.0 / 6.0;
	p = p * r + 0.5;
	return r + r * r * p;
}

INLINE double exp_one(double x)
{
	double v = x > 710.0 ? 710.0 : x, t, n, half, r;

	v = v < -746.0 ? -746.0 : v;
	t = v * log2_e + shift;
	n = t - shift;
	r = (v - n * ln2_hi) - n * ln2_lo;
	half = n * 0.5 + shift;   /* two factors, so that subnormals and the last binade come out right */
	return (1.0 + expm1_small(r)) * pow2_of(half) * pow2_of(n - (half - shift) + shift);
}

INLINE double expm1_one(double x)
{
	double v = x > 710.0 ? 710.0 : x, t, n, half, r, s, s1, s2;

	v = v < -60.0 ? -60.0 : v;
	t = v * log2_e + shift;
	n = t - shift;
	r = (v - n * ln2_hi) - n * ln2_lo;
	half = n * 0.5 + shift;
	s1 = pow2_of(half);
	s2 = pow2_of(n - (half - shift) + shift);
	s = s1 * s2;
	r = expm1_small(r);
	return n > 60.0 ? (r + 1.0) * s1 * s2 : (s - 1.0) + s * r;
}

/* log(m) for m in [sqrt(1/2), sqrt(2)]: 2 atanh(s), s = (m - 1) / (m + 1) */
INLINE double log_one(double x)
{
	double scaled = x < 0x1p-1022 ? x * 0x1p54 : x, e0 = x < 0x1p-1022 ? -54.0 : 0.0;
	uint64_t u = f64_bits(scaled), off = u - 0x3fe6a09e667f3bcdULL;
	/* exponent as a double: the biased integer in the mantissa of 2^52 */
	double k = bits_f64(((off >> 52) ^ 0x800) | 0x4330000000000000ULL) - (0x1p52 + 2048.0) + e0;
	double m, f, s, z, p, r;

	m = bits_f64(u - (off & 0xfff0000000000000ULL));
	f = m - 1.0;
	s = f / (2.0 + f);
	z = s * s;
	p = 1.0 / 23.0;
	p = p * z + 1.0 / 21.0;
	p = p * z + 1.0 / 19.0;
	p = p * z + 1.0 / 17.0;
	p = p * z + 1.0 / 15.0;
	p = p * z + 1.0 / 13.0;
	p = p * z + 1.0 / 11.0;
	p = p * z + 1.0 / 9.0;
	p = p * z + 1.0 / 7.0;
	p = p * z + 1.0 / 5.0;
	p = p * z + 1.0 / 3.0;
	/* log m = f - s (f - 2 z p): 2 s = f - s f */
	r = k * ln2_hi + (f - (s * (f - 2.0 * z * p) - k * ln2_lo));
	r = x == 0.0 ? -INFINITY : r;
	r = x < 0.0 ? NAN : r;
	return x < INFINITY ? r : x;   /* inf and NaN stay */
}

INLINE double log1p_one(double x)
{
	double u = 1.0 + x, r = log_one(u) + (x - (u - 1.0)) / u;

	r = u == 1.0 ? x : r;
	r = x == -1.0 ? -INFINITY : r;
	return x < INFINITY ? r : x;
}

INLINE double tanh_one(double x)
{
	double a = x < 0 ? -x : x, e;

	a = a > 20.0 ? 20.0 : a;
	e = expm1_one(2.0 * a);
	e = e / (e + 2.0);
	e = x < 0 ? -e : e;
	return x == 0 ? x : e;
}

/* erf: below 1/2 its Taylor series; above, 1 - exp(-x^2) P(u) / (1 + 2 x), where u runs over [-1, 1] as
 * (x - 3) / (x + 3) does over [0.5, 6]; P interpolates at 17 Chebyshev nodes (relative error 3e-17, computed with 40
 * digits). */
INLINE double erf_one(double x)
{
	double a = x < 0 ? -x : x, s, z, p, u, r;

	a = a > 6.0 ? 6.0 : a;
	z = a < 0.5 ? x * x : 0;
	s = 0x1.9e6ad5e55a730p-34;
	s = s * z + -0x1.51d7181c5d36dp-30;
	s = s * z + 0x1.fcc5720624c1cp-27;
	s = s * z + -0x1.5f742ec43e71ap-23;
	s = s * z + 0x1.b9e6c9dc651a3p-20;
	s = s * z + -0x1.f4d25c3e0c2ebp-17;
	s = s * z + 0x1.f9a326f9b89b7p-14;
	s = s * z + -0x1.c02db40040b86p-11;
	s = s * z + 0x1.565bcd0e6a53fp-8;
	s = s * z + -0x1.b82ce31288b51p-6;
	s = s * z + 0x1.ce2f21a042be2p-4;
	s = s * z + -0x1.812746b0379e7p-2;
	s = s * z + 0x1.20dd750429b6dp+0;
	u = (a - 3.0) / (a + 3.0) * 0x1.e8ba2e8ba2e8cp+0 + 0x1.745d1745d1746p-2;
	p = 0x1.18450cf9123d0p-35;
	p = p * u + 0x1.3722a59a83216p-35;
	p = p * u + -0x1.bb73883f54ee5p-31;
	p = p * u + -0x1.e39d7a7864849p-30;
	p = p * u + 0x1.3b4c688e329efp-26;
	p = p * u + 0x1.c1cfe3435d819p-25;
	p = p * u + -0x1.0a581a1cb4df3p-21;
	p = p * u + -0x1.1b0f55ddcdad9p-20;
	p = p * u + 0x1.15b455578f776p-16;
	p = p * u + -0x1.bde447599d0bfp-17;
	p = p * u + -0x1.0cbb69eebef0ap-11;
	p = p * u + 0x1.f309245a0c339p-9;
	p = p * u + -0x1.e7a5b5246fc73p-7;
	p = p * u + 0x1.24c80c3c3c9aap-5;
	p = p * u + -0x1.577846c6f662cp-5;
	p = p * u + -0x1.ab6c36377a31bp-5;
	p = p * u + 0x1.46aacea2f0261p+0;
	r = 1.0 - exp_one(-a * a) * p / (1.0 + 2.0 * a);
	r = x < 0 ? -r : r;
	r = a < 0.5 ? s * x : r;
	return x != x ? x : r;
}

INLINE double sigmoid_one(double x) { return 1.0 / (1.0 + exp_one(-x)); }
INLINE double max_one(double x, double y) { return x > y || x != x ? x : y; }
INLINE double min_one(double x, double y) { return x < y || x != x ? x : y; }
/* y NaN: x > NaN is false, so y */
INLINE double relu_one(double x) { return x < 0 ? 0.0 : x; }
INLINE double sign_one(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }
/* As numpy: from fmod, which is exact, since a quotient that is rounded up may reach a whole number that x / y does not. */
INLINE double mod_one(double x, double y)
{
	double r = fmod(x, y);

	r = r != 0 && (r < 0) != (y < 0) ? r + y : r;
	return r == 0 ? copysign(0.0, y) : r;
}
INLINE double floordiv_one(double x, double y)
{
	double r = fmod(x, y), q = (x - r) / y, whole;

	q -= r != 0 && (r < 0) != (y < 0) ? 1.0 : 0.0;
	whole = floor(q);
	whole += q - whole > 0.5 ? 1.0 : 0.0;
	whole = q == 0 ? copysign(0.0, x / y) : whole;
	return y == 0 ? x / y : whole;
}

#define UNARY(name, e)                                                            \
	CLONES static void v_##name(const double *xs, double *out, int64_t n)     \
	{                                                                         \
		for (int64_t i = 0; i < n; i++) {                                 \
			double x = xs[i];                                         \
			out[i] = (e);                                             \
		}                                                                 \
	}
UNARY(neg, -x)
UNARY(exp, exp_one(x))
UNARY(expm1, expm1_one(x))
UNARY(log, log_one(x))
UNARY(log1p, log1p_one(x))
UNARY(tanh, tanh_one(x))
UNARY(sigmoid, sigmoid_one(x))
UNARY(erf, erf_one(x))
UNARY(sqrt, sqrt(x))
UNARY(rsqrt, 1.0 / sqrt(x))
UNARY(reciprocal, 1.0 / x)
UNARY(relu, relu_one(x))
UNARY(abs, fabs(x))
UNARY(square, x * x)
UNARY(sign, sign_one(x))
UNARY(floor, floor(x))
UNARY(ceil, ceil(x))
UNARY(round, rint(x))
UNARY(trunc, trunc(x))
UNARY(isnan, x != x ? 1.0 : 0.0)
UNARY(not, x == 0 ? 1.0 : 0.0)
UNARY(f32, (double)(float)x)

#define LIBM(name)                                                                \
	static void v_##name(const double *xs, double *out, int64_t n)            \
	{                                                                         \
		for (int64_t i = 0; i < n; i++)                                   \
			out[i] = name(xs[i]);                                     \
	}
LIBM(exp2)
LIBM(log2)
LIBM(log10)
LIBM(sin)
LIBM(cos)
LIBM(tan)
LIBM(atan)

/* As kw_uniformf of the builder header: SplitMix64 (Steele, Lea and Flood 2014) of the seed and the place. */
static inline double uniform_one(double seed, double place)
{
	uint64_t z = (uint64_t)(int64_t)seed * 0xd1342543de82ef95u + (uint64_t)(int64_t)place * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 40) * 0x1p-24;
}

#define BINARY(name, e)                                                                             \
	CLONES static void b_##name(const double *xs, const double *ys, double *out, int64_t n)     \
	{                                                                                           \
		for (int64_t i = 0; i < n; i++) {                                                   \
			double x = xs[i], y = ys[i];                                                \
			out[i] = (e);                                                               \
		}                                                                                   \
	}                                                                                           \
	CLONES static void s_##name(const double *xs, double y, double *out, int64_t n)             \
	{                                                                                           \
		for (int64_t i = 0; i < n; i++) {                                                   \
			double x = xs[i];                                                           \
			out[i] = (e);                                                               \
		}                                                                                   \
	}                                                                                           \
	CLONES static void r_##name(const double *ys, double x, double *out, int64_t n)             \
	{                                                                                           \
		for (int64_t i = 0; i < n; i++) {                                                   \
			double y = ys[i];                                                           \
			out[i] = (e);                                                               \
		}                                                                                   \
	}
BINARY(add, x + y)
BINARY(sub, x - y)
BINARY(mul, x * y)
BINARY(div, x / y)
BINARY(floordiv, floordiv_one(x, y))
BINARY(mod, mod_one(x, y))
BINARY(pow, pow(x, y))
BINARY(max, max_one(x, y))
BINARY(min, min_one(x, y))
BINARY(eq, x == y ? 1.0 : 0.0)
BINARY(ne, x != y ? 1.0 : 0.0)
BINARY(lt, x < y ? 1.0 : 0.0)
BINARY(le, x <= y ? 1.0 : 0.0)
BINARY(gt, x > y ? 1.0 : 0.0)
BINARY(ge, x >= y ? 1.0 : 0.0)
BINARY(and, (double)((int64_t)x & (int64_t)y))
BINARY(or, (double)((int64_t)x | (int64_t)y))
BINARY(uniform, uniform_one(x, y))

vec1_fn vec_unary(enum op_id id)
{
	switch (id) {
	case OP_NEG: return v_neg;
	case OP_EXP: return v_exp;
	case OP_EXP2: return v_exp2;
	case OP_EXPM1: return v_expm1;
	case OP_LOG: return v_log;
	case OP_LOG2: return v_log2;
	case OP_LOG10: return v_log10;
	case OP_LOG1P: return v_log1p;
	case OP_TANH: return v_tanh;
	case OP_SIGMOID: return v_sigmoid;
	case OP_SQRT: return v_sqrt;
	case OP_RSQRT: return v_rsqrt;
	case OP_RECIPROCAL: return v_reciprocal;
	case OP_RELU: return v_relu;
	case OP_ABS: return v_abs;
	case OP_SQUARE: return v_square;
	case OP_SIGN: return v_sign;
	case OP_FLOOR: return v_floor;
	case OP_CEIL: return v_ceil;
	case OP_ROUND: return v_round;
	case OP_TRUNC: return v_trunc;
	case OP_ISNAN: return v_isnan;
	case OP_NOT: return v_not;
	case OP_SIN: return v_sin;
	case OP_COS: return v_cos;
	case OP_TAN: return v_tan;
	case OP_ATAN: return v_atan;
	case OP_ERF: return v_erf;
	default: return NULL;
	}
}

#define BINARY_LIST(X)                                                                              \
	X(ADD, add) X(SUB, sub) X(MUL, mul) X(DIV, div) X(FLOORDIV, floordiv) X(MOD, mod) X(POW, pow) \
	X(MAXIMUM, max) X(MINIMUM, min) X(EQ, eq) X(NE, ne) X(LT, lt) X(LE, le) X(GT, gt) X(GE, ge)  \
	X(AND, and) X(OR, or) X(UNIFORM, uniform)

vec2_fn vec_binary(enum op_id id)
{
	switch (id) {
#define X(ID, name) case OP_##ID: return b_##name;
	BINARY_LIST(X)
#undef X
	default: return NULL;
	}
}

vec2s_fn vec_binary_scalar(enum op_id id)
{
	switch (id) {
#define X(ID, name) case OP_##ID: return s_##name;
	BINARY_LIST(X)
#undef X
	default: return NULL;
	}
}

vec2s_fn vec_scalar_binary(enum op_id id)
{
	switch (id) {
#define X(ID, name) case OP_##ID: return r_##name;
	BINARY_LIST(X)
#undef X
	default: return NULL;
	}
}

CLONES static void where_cloned(const double *c, const double *x, const double *y, double *out, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double a = x[i], b = y[i];
		out[i] = c[i] != 0 ? a : b;
	}
}

void vec_where(const double *c, const double *x, const double *y, double *out, int64_t n)
{
	where_cloned(c, x, y, out, n);
}

CLONES static void round_24_bits(double *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = keep_24_bits(x[i]);
}

void vec_round(enum rounding r, double *x, int64_t n)
{
	if (r == ROUND_F32)
		v_f32(x, x, n);
	else if (r == ROUND_24_BITS)
		round_24_bits(x, n);
}

void vec_copy(const double *x, double *out, int64_t n)
{
	memcpy(out, x, sizeof(*x) * (size_t)n);
}

CLONES static void disturb_cloned(uint64_t seed, const double *x, double *out, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		uint64_t u = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15u;

		u = (u ^ u >> 32) * 0xd6e8feb86659fd93u;
		out[i] = x[i] * (1 + (double)(int32_t)(u >> 32) * 0x1p-54);
	}
}

void vec_disturb(uint64_t seed, const double *x, double *out, int64_t n)
{
	disturb_cloned(seed, x, out, n);
}

/* Sums in 32 lanes; the order is fixed, whatever the machine. */
#define LANES 32
CLONES static double sum_cloned(const double *x, int64_t n)
{
	double s[LANES] = { 0 }, total = 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		for (int k = 0; k < LANES; k++)
			s[k] += x[i + k];
	}
	for (; i < n; i++)
		total += x[i];
	for (int k = 0; k < LANES; k++)
		total += s[k];
	return total;
}

double vec_sum(const double *x, int64_t n)
{
	return sum_cloned(x, n);
}

CLONES static double dot_cloned(const double *x, const double *y, int64_t n)
{
	double s[LANES] = { 0 }, total = 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		for (int k = 0; k < LANES; k++)
			s[k] += x[i + k] * y[i + k];
	}
	for (; i < n; i++)
		total += x[i] * y[i];
	for (int k = 0; k < LANES; k++)
		total += s[k];
	return total;
}

double vec_dot(const double *x, const double *y, int64_t n)
{
	return dot_cloned(x, y, n);
}

#define EXTREME(name, start, one)                                                 \
	CLONES static double name##_cloned(const double *x, int64_t n)            \
	{                                                                         \
		double s[LANES], r = start;                                       \
		int64_t i = 0;                                                    \
		for (int k = 0; k < LANES; k++)                                   \
			s[k] = start;                                             \
		for (; i + LANES <= n; i += LANES) {                              \
			for (int k = 0; k < LANES; k++)                           \
				s[k] = one(x[i + k], s[k]);                       \
		}                                                                 \
		for (; i < n; i++)                                                \
			r = one(x[i], r);                                         \
		for (int k = 0; k < LANES; k++)                                   \
			r = one(s[k], r);                                         \
		return r;                                                         \
	}                                                                         \
	double name(const double *x, int64_t n)                                   \
	{                                                                         \
		return name##_cloned(x, n);                                       \
	}
EXTREME(vec_max, -INFINITY, max_one)
EXTREME(vec_min, INFINITY, min_one)

CLONES static void axpy(double a, const double *x, double *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

CLONES static void axpy_f32(double a, const double *x, double *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = (double)(float)(y[i] + a * x[i]);
}

void vec_axpy(enum rounding r, double a, const double *x, double *y, int64_t n)
{
	if (r == ROUND_F32) {
		axpy_f32(a, x, y, n);
		return;
	}
	axpy(a, x, y, n);
	vec_round(r, y, n);
}

CLONES static void axpy4(const double *a, int64_t sa, const double *x, int64_t sx, double *y, int64_t n)
{
	double a0 = a[0], a1 = a[sa], a2 = a[2 * sa], a3 = a[3 * sa];
	const double *x1 = x + sx, *x2 = x1 + sx, *x3 = x2 + sx;

	for (int64_t i = 0; i < n; i++)
		y[i] += (a0 * x[i] + a1 * x1[i]) + (a2 * x2[i] + a3 * x3[i]);
}

CLONES static void axpy4_f32(const double *a, int64_t sa, const double *x, int64_t sx, double *y, int64_t n)
{
	double a0 = a[0], a1 = a[sa], a2 = a[2 * sa], a3 = a[3 * sa];
	const double *x1 = x + sx, *x2 = x1 + sx, *x3 = x2 + sx;

	for (int64_t i = 0; i < n; i++) {
		double v = (double)(float)(y[i] + a0 * x[i]);
		v = (double)(float)(v + a1 * x1[i]);
		v = (double)(float)(v + a2 * x2[i]);
		y[i] = (double)(float)(v + a3 * x3[i]);
	}
}

void vec_axpy4(enum rounding r, const double *a, int64_t sa, const double *x, int64_t sx, double *y, int64_t n)
{
	if (r == ROUND_F32)
		axpy4_f32(a, sa, x, sx, y, n);
	else if (r == ROUND_NONE)
		axpy4(a, sa, x, sx, y, n);
	else
		for (int i = 0; i < 4; i++)
			vec_axpy(r, a[i * sa], x + i * sx, y, n);
}

CLONES static void add_f32(const double *x, double *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = (double)(float)(y[i] + x[i]);
}

void vec_add(enum rounding r, const double *x, double *y, int64_t n)
{
	if (r == ROUND_F32)
		add_f32(x, y, n);
	else
		vec_axpy(r, 1.0, x, y, n);
}
