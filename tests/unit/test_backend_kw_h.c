/* The builder header, as the compilers make it: errors in ulp over the float line, special values, and the narrow
 * types bit for bit against core/dtype. */
#include "backend/backend.h"
#include "base/proc.h"
#include "core/dtype.h"

#include "tap.h"
#include "temp.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/mman.h>

/* Loops over each function, in plan form but for the plan lines. */
static const char source[] =
	"#define L(f) void v_##f(float *restrict y, const float *restrict x, int64_t n) { _Pragma(\"omp simd\") \\\n"
	"for (int64_t i = 0; i < n; i++) y[i] = kw_##f(x[i]); }\n"
	"L(expf) L(exp2f) L(expm1f) L(logf) L(log2f) L(log10f) L(log1pf) L(tanhf) L(sigmoidf) L(erff) L(rsqrtf)\n"
	"L(exp_negf)\n"
	"void v_overf(float *restrict y, const float *restrict x, float d, int64_t n) { const kw_divisor by = kw_divisor_of(d);\n"
	"_Pragma(\"omp simd\") for (int64_t i = 0; i < n; i++) y[i] = kw_overf(x[i], by); }\n"
	"L(siluf) L(geluf) L(gelu_tanhf) L(softplusf) L(sinf) L(cosf)\n"
	"void v_powf(float *restrict y, const float *restrict x, const float *restrict z, int64_t n) {\n"
	"for (int64_t i = 0; i < n; i++) y[i] = kw_powf(x[i], z[i]); }\n"
	"void v_exp(double *restrict y, const double *restrict x, int64_t n) {\n"
	"for (int64_t i = 0; i < n; i++) y[i] = kw_exp(x[i]); }\n"
	"#define C(t) void to_##t(float *restrict y, const kw_##t *restrict x, int64_t n) { \\\n"
	"for (int64_t i = 0; i < n; i++) y[i] = KW_F32(x[i]); } \\\n"
	"void from_##t(kw_##t *restrict y, const float *restrict x, int64_t n) { \\\n"
	"for (int64_t i = 0; i < n; i++) KW_STORE(&y[i], x[i]); }\n"
	"C(f16) C(bf16) C(f8e4m3) C(f8e5m2)\n"
	"void to_n(float *y, const kw_f16 *x, int64_t n) { kw_f16_to_f32_n(y, x, n); }\n"
	"void from_n(kw_f16 *y, const float *x, int64_t n) { kw_f16_from_f32_n(y, x, n); }\n"
	"float row_max(const float *x, int64_t n) { return kw_row_max(x, n); }\n"
	"float row_sum(const float *x, int64_t n) { return kw_row_sum(x, n); }\n"
	"float maxf(float a, float b) { return kw_maxf(a, b); }\n"
	"int32_t div32(int32_t a, int32_t b) { return kw_floor_div32(a, b); }\n"
	"int32_t mod32(int32_t a, int32_t b) { return kw_floor_mod32(a, b); }\n"
	"int64_t div64(int64_t a, int64_t b) { return kw_floor_div64(a, b); }\n"
	"int64_t mod64(int64_t a, int64_t b) { return kw_floor_mod64(a, b); }\n"
	"float floor_divf(float a, float b) { return kw_floor_divf(a, b); }\n"
	"float floor_modf(float a, float b) { return kw_floor_modf(a, b); }\n"
	"double floor_div(double a, double b) { return kw_floor_div(a, b); }\n"
	"double floor_mod(double a, double b) { return kw_floor_mod(a, b); }\n"
	"#define W(t) void whole_##t(kw_##t##_type *restrict y, const float *restrict x, int64_t n) { \\\n"
	"for (int64_t i = 0; i < n; i++) y[i] = kw_##t##_from_f32(x[i]); } \\\n"
	"void wide_##t(kw_##t##_type *restrict y, const double *restrict x, int64_t n) { \\\n"
	"for (int64_t i = 0; i < n; i++) y[i] = kw_##t##_from_f64(x[i]); }\n"
	"typedef uint8_t kw_u8_type; typedef int8_t kw_i8_type; typedef int16_t kw_i16_type; typedef int32_t kw_i32_type;\n"
	"typedef int64_t kw_i64_type;\n"
	"W(u8) W(i8) W(i16) W(i32) W(i64)\n"
	"float maxnumf(float a, float b) { return kw_maxnumf(a, b); }\n"
	"void stream(void *d, const void *s, int64_t n) { kw_stream(d, s, (size_t)n); kw_stream_fence(); }\n";

typedef void (*unary)(float *, const float *, int64_t);
static void *handle;

static void *symbol(const char *name)
{
	void *p = dlsym(handle, name);

	if (!p)
		diag("%s is not there", name);
	return p;
}
#define GET(f, name)                                                                                     \
	do {                                                                                             \
		void *p_ = symbol(name);                                                                 \
		memcpy(&(f), &p_, sizeof(p_));                                                           \
	} while (0)

static bool load(const char *compiler, bool naive)
{
	static struct kw_bound_kernel kernel = { .name = "v_expf" };
	static struct kw_bound_plan plan = { .applicable = true, .kernels = &kernel, .kernel_count = 1 };
	struct kw_candidate c = { .name = "kw_h.c", .backend = "c", .source = source, .source_len = sizeof(source) - 1 };
	struct kw_build_opts o = { .compiler = compiler, .naive_flags = naive, .no_cache = true };
	struct kw_build_result r;
	struct kw_error err = { 0 };
	char path[64];
	int fd;

	handle = NULL;
	if (kw_build(kw_backend_find("c"), &c, &plan, &o, &r, &err) != KW_OK) {
		diag("%s", err.text);
		return false;
	}
	fd = memfd_create("kw_h", 0);
	if (r.cls == KW_V_OK && fd >= 0 &&
	    write(fd, r.artefact.code, r.artefact.code_bytes) == (ssize_t)r.artefact.code_bytes) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	} else if (r.artefact.log) {
		diag("%s", r.artefact.log);
	}
	close(fd);
	kw_build_result_release(&r);
	return handle != NULL;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x / (1 + exp(-x)); }
static double gelu(double x) { return 0.5 * x * (1 + erf(x * M_SQRT1_2)); }
static double gelu_tanh(double x) { return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

/* Arguments low..high; an error of `ulp` or of `absolute`, whichever is more. */
static const struct {
	const char *name;
	double (*exact)(double);
	double low, high, ulp, absolute;
} functions[] = {
	{ "v_expf", exp, -INFINITY, INFINITY, 1.1, 0 },	    { "v_exp2f", exp2, -INFINITY, INFINITY, 1.1, 0 },
	{ "v_exp_negf", exp, -INFINITY, 70, 1, 0 },
	{ "v_expm1f", expm1, -INFINITY, INFINITY, 2, 0 },   { "v_logf", log, -INFINITY, INFINITY, 1, 0 },
	{ "v_log2f", log2, -INFINITY, INFINITY, 2, 0 },	    { "v_log10f", log10, -INFINITY, INFINITY, 2, 0 },
	{ "v_log1pf", log1p, -INFINITY, INFINITY, 2, 0 },   { "v_tanhf", tanh, -INFINITY, INFINITY, 1.5, 0 },
	{ "v_sigmoidf", sigmoid, -INFINITY, INFINITY, 3, 0 }, { "v_erff", erf, -INFINITY, INFINITY, 1.5, 0 },
	{ "v_rsqrtf", rsqrt, -INFINITY, INFINITY, 1.5, 0 }, { "v_siluf", silu, -87, INFINITY, 3, 0 },
	{ "v_geluf", gelu, -1, INFINITY, 4, 0 },	    { "v_gelu_tanhf", gelu_tanh, -1, INFINITY, 4, 0 },
	{ "v_softplusf", softplus, -INFINITY, INFINITY, 2, 0 }, { "v_sinf", sin, -1e6, 1e6, 2, 1e-7 },
	{ "v_cosf", cos, -1e6, 1e6, 2, 1e-7 },
};

static double ulps(double got, double want)
{
	double e = fabs(got - want);

	return e == 0 ? 0 : e / kw_dtype_ulp(KW_F32, want);
}

enum { BATCH = 4096 };

/* NaN and Inf must be where the exact function, rounded to float, has them. */
static bool same_kind(float got, double want)
{
	float w = (float)want;

	return isnan(got) == isnan(w) && isinf(got) == isinf(w) && (!isinf(w) || !!signbit(got) == !!signbit(w));
}

static void test_function(size_t which, const char *build)
{
	static const float special[] = { 0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 88.7228f, 89.0f, -87.5f, -104.0f,
					 -103.9f, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f, 0.5f, 2.0f, 0.625f, 0.94f, 127.99f, 128.0f };
	static float x[BATCH], y[BATCH];
	double worst = 0;
	float worst_at = 0, odd_at = 0, odd = 0;
	int wrong_kind = 0;
	unary f;

	GET(f, functions[which].name);
	for (uint64_t first = 0; f && first < (uint64_t)1 << 32; first += (uint64_t)BATCH * 40009) {
		for (int i = 0; i < BATCH; i++) {
			uint32_t bits = (uint32_t)(first + (uint64_t)i * 40009);

			memcpy(&x[i], &bits, sizeof(bits));
		}
		if (first == 0)
			memcpy(x, special, sizeof(special));
		f(y, x, BATCH);
		for (int i = 0; i < BATCH; i++) {
			double a = (double)x[i], want = functions[which].exact(a), e;

			if (!isnan(x[i]) && !(a >= functions[which].low && a <= functions[which].high))
				continue;
			if (!same_kind(y[i], want)) {
				wrong_kind++;
				odd_at = x[i];
				odd = y[i];
			}
			e = isfinite((float)want) ? ulps((double)y[i], want) : 0;
			if (fabs((double)y[i] - want) > functions[which].absolute && e > worst) {
				worst = e;
				worst_at = x[i];
			}
		}
	}
	ok(f && worst <= functions[which].ulp, "%s %s: %.2f ulp, at %.9g", build, functions[which].name + 2, worst,
	   (double)worst_at);
	if (!is_int(wrong_kind, 0, "%s %s: Inf and NaN", build, functions[which].name + 2))
		diag("%g gives %g", (double)odd_at, (double)odd);
}

static void test_pow(const char *build)
{
	static const float special[] = { 0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, -3.0f, 0.5f, -0.5f, INFINITY, -INFINITY, NAN,
					 1e-40f, 3e38f, -3e38f, 16777217.0f, 1e9f, 2.5f, -7.0f };
	enum { S = sizeof(special) / sizeof(special[0]) };
	static float x[BATCH], y[BATCH], z[BATCH];
	void (*f)(float *, const float *, const float *, int64_t);
	uint64_t state = 1;
	double worst = 0;
	int wrong = 0;

	GET(f, "v_powf");
	for (int round = 0; f && round < 60; round++) {
		for (int i = 0; i < BATCH; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			x[i] = (float)(state >> 40) * 0x1p-18f;
			z[i] = (float)(int32_t)(uint32_t)state * (round % 2 ? 0x1p-28f : 0x1p-26f);
			if (round == 0 && i < S * S) {
				x[i] = special[i / S];
				z[i] = special[i % S];
			}
		}
		f(y, x, z, BATCH);
		for (int i = 0; i < BATCH; i++) {
			double want = pow((double)x[i], (double)z[i]);

			wrong += !same_kind(y[i], want) || (want == 0 && !!signbit(y[i]) != !!signbit(want));
			if (isfinite((float)want))
				worst = fmax(worst, ulps((double)y[i], want));
		}
	}
	ok(worst <= 0.6, "%s powf: %.2f ulp", build, worst);
	is_int(wrong, 0, "%s powf: special values as in C", build);
}

/* Every exponent over every exponent, and the special values; where x / d rounds to Inf or not, either will do. */
static void test_over(const char *build)
{
	static const float special[] = { 0.0f, -0.0f, 1.0f, -1.0f, 3.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 1.2e-38f, 3.4e38f,
					 -3.4e38f, 0x1p64f, 0x1p-64f, 0x1.000002p64f, 0x1.fffffep-65f };
	enum { S = sizeof(special) / sizeof(special[0]) };
	static float x[BATCH], y[BATCH];
	void (*f)(float *, const float *, float, int64_t);
	uint64_t state = 1;
	double worst = 0;
	int wrong = 0;

	GET(f, "v_overf");
	for (int round = 0; f && round < 600; round++) {
		uint32_t bits = (uint32_t)(state >> 32);
		float d;

		memcpy(&d, &bits, sizeof(d));
		d = round < S ? special[round] : d;
		for (int i = 0; i < BATCH; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			bits = (uint32_t)(state >> 32);
			memcpy(&x[i], &bits, sizeof(bits));
		}
		memcpy(x, special, sizeof(special));
		f(y, x, d, BATCH);
		for (int i = 0; i < BATCH; i++) {
			double want = (double)x[i] / (double)d;
			bool edge = fabs(want) > 0x1.fffffcp127 && isfinite(want) && fabs(want) < 0x1.000002p128;

			wrong += !edge && (!same_kind(y[i], want) || (want == 0 && !!signbit(y[i]) != !!signbit(want)));
			if (!edge && isfinite((float)want))
				worst = fmax(worst, ulps((double)y[i], want));
		}
	}
	ok(f && worst <= 1.5, "%s overf: %.2f ulp", build, worst);
	is_int(wrong, 0, "%s overf: special values as in C", build);
}

static void test_exp_f64(const char *build)
{
	static double x[BATCH], y[BATCH];
	void (*f)(double *, const double *, int64_t);
	uint64_t state = 1;
	double worst = 0;

	GET(f, "v_exp");
	for (int i = 0; i < BATCH; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		x[i] = ((double)(state >> 11) * 0x1p-52 - 1) * (i % 2 ? 740 : 2);
	}
	x[0] = INFINITY;
	x[1] = -INFINITY;
	x[2] = NAN;
	x[3] = 0;
	f(y, x, BATCH);
	ok(isinf(y[0]) && y[1] == 0 && isnan(y[2]) && y[3] == 1, "%s exp (f64): special values", build);
	for (int i = 4; i < BATCH; i++)
		if (isfinite(exp(x[i])))
			worst = fmax(worst, fabs(y[i] - exp(x[i])) / kw_dtype_ulp(KW_F64, exp(x[i])));
	ok(worst <= 2, "%s exp (f64): %.2f ulp", build, worst);
}

/* Every pattern of the narrow type to float; floats of every exponent to it. */
static void test_narrow(const char *build, enum kw_dtype d)
{
	static float wide[65536], again[65536];
	static uint16_t codes[65536], back[65536];
	static uint8_t *codes8, *back8;
	size_t bytes = kw_dtype_bytes(d), n = bytes == 1 ? 256 : 65536;
	void (*to)(float *, const void *, int64_t), (*from)(void *, const float *, int64_t);
	char name[32];
	int wrong = 0;

	codes8 = (uint8_t *)(void *)codes;
	back8 = (uint8_t *)(void *)back;
	snprintf(name, sizeof(name), "to_%s", kw_dtype_name(d));
	GET(to, name);
	snprintf(name, sizeof(name), "from_%s", kw_dtype_name(d));
	GET(from, name);
	for (size_t i = 0; i < n; i++) {
		if (bytes == 1)
			codes8[i] = (uint8_t)i;
		else
			codes[i] = (uint16_t)i;
	}
	to(wide, codes, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		double want = kw_dtype_load(d, (const char *)(const void *)codes + i * bytes);

		wrong += isnan(want) ? !isnan(wide[i]) : (double)wide[i] != want || !!signbit(want) != !!signbit(wide[i]);
	}
	is_int(wrong, 0, "%s %s to f32, all of them", build, kw_dtype_name(d));
	wrong = 0;
	for (uint64_t first = 0; first < (uint64_t)1 << 32; first += (uint64_t)65536 * 997) {
		for (int i = 0; i < 65536; i++) {
			uint32_t u = (uint32_t)(first + (uint64_t)i * 9973);

			/* Half of them ties and their neighbours. */
			u = i % 2 ? (u & 0xffff8000u) + (uint32_t)(i / 2 % 3) - 1 + (i % 4 == 1 ? 0x80000u : 0) : u;
			memcpy(&wide[i], &u, sizeof(u));
		}
		from(back, wide, 65536);
		for (int i = 0; i < 65536; i++) {
			double want, got;
			uint16_t code = 0;

			kw_dtype_store(d, &code, (double)wide[i]);
			want = kw_dtype_load(d, &code);
			got = kw_dtype_load(d, bytes == 1 ? (const void *)&back8[i] : (const void *)&back[i]);
			wrong += isnan(want) ? !isnan(got) : got != want || !!signbit(got) != !!signbit(want);
		}
	}
	is_int(wrong, 0, "%s f32 to %s", build, kw_dtype_name(d));
	if (d != KW_F16)
		return;
	wrong = 0;
	GET(to, "to_n");
	GET(from, "from_n");
	from(back, wide, 65535);
	for (int i = 0; i < 65535; i++) {
		uint16_t code = 0;

		kw_dtype_store(d, &code, (double)wide[i]);
		wrong += isnan(wide[i]) ? !isnan(kw_dtype_load(d, &back[i])) : back[i] != code;
	}
	to(again, back, 65535);
	for (int i = 0; i < 65535; i++)
		wrong += !isnan(again[i]) && (double)again[i] != kw_dtype_load(d, &back[i]);
	is_int(wrong, 0, "%s arrays of f16", build);
}

static void test_rows(const char *build)
{
	static float x[1003], y[1003];
	float (*max)(const float *, int64_t), (*sum)(const float *, int64_t), (*maxf)(float, float), (*maxnumf)(float, float);
	void (*stream)(void *, const void *, int64_t);
	int wrong = 0, beside = 0;

	GET(max, "row_max");
	GET(sum, "row_sum");
	GET(maxf, "maxf");
	GET(maxnumf, "maxnumf");
	GET(stream, "stream");
	for (int i = 0; i < 1003; i++)
		x[i] = (float)(i % 37) - 40;
	for (int n = 0; n < 1003; n += 17) {
		float most = -INFINITY, all = 0;

		for (int i = 0; i < n; i++) {
			most = x[i] > most ? x[i] : most;
			all += x[i];
		}
		wrong += max(x, n) != most || sum(x, n) != all; /* whole numbers: exact in any order */
	}
	is_int(wrong, 0, "%s rows of any length", build);
	x[500] = NAN;
	ok(isnan(max(x, 1003)) && isnan(max(x, 501)) && !isnan(max(x, 500)), "%s row maximum keeps NaN", build);
	ok(isnan(maxf(NAN, 1)) && isnan(maxf(1, NAN)) && maxf(2, 1) == 2 && maxf(1, 2) == 2, "%s maxf: NaN wins", build);
	ok(maxnumf(NAN, 1) == 1 && maxnumf(1, NAN) == 1, "%s maxnumf: the number wins", build);
	for (int at = 0; at < 70; at++) {
		unsigned char *d = (unsigned char *)y;

		memset(y, 7, sizeof(y));
		stream(d + at, x, 1000 - 3 * at);
		beside += memcmp(d + at, x, (size_t)(1000 - 3 * at)) != 0 || (at && d[at - 1] != 7) ||
			  d[at + 1000 - 3 * at] != 7;
	}
	is_int(beside, 0, "%s streaming: any alignment and length, nothing beside it", build);
}

__extension__ typedef __int128 wide; /* nothing is too large for it */

static void floor_of(wide a, wide b, wide *div, wide *mod)
{
	*div = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
	*mod = b == 0 ? 0 : a - *div * b;
}

static void test_whole(const char *build)
{
	static const int64_t values[] = { INT64_MIN, INT64_MIN + 1, INT32_MIN, INT32_MIN + 1, -1000003, -7, -3, -2, -1, 0, 1, 2, 3, 7, 10,
					  1000003, INT32_MAX - 1, INT32_MAX, 1ll << 53, INT64_MAX - 1, INT64_MAX };
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	int32_t (*div32)(int32_t, int32_t), (*mod32)(int32_t, int32_t);
	int64_t (*div64)(int64_t, int64_t), (*mod64)(int64_t, int64_t);
	int wrong = 0;

	GET(div32, "div32");
	GET(mod32, "mod32");
	GET(div64, "div64");
	GET(mod64, "mod64");
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < COUNT; k++) {
			int32_t a = (int32_t)values[i], b = (int32_t)values[k]; /* cut off: others */
			wide div, mod;

			floor_of(values[i], values[k], &div, &mod);
			wrong += div64(values[i], values[k]) != (int64_t)div || mod64(values[i], values[k]) != (int64_t)mod;
			floor_of(a, b, &div, &mod);
			wrong += div32(a, b) != (int32_t)div || mod32(a, b) != (int32_t)mod;
		}
	is_int(wrong, 0, "%s whole numbers are divided as in Python, by 0 as in numpy", build);
}

/* What numpy gives, to the bit: its arithmetic, in this file, which no flag of the header's build touches. */
#define NUMPY(T, suffix, fmod, floor, copysign)                                                        \
	static void numpy_##suffix(T a, T b, T *div, T *mod)                                           \
	{                                                                                              \
		T r = fmod(a, b), q = (a - r) / b;                                                     \
                                                                                                       \
		*mod = r, *div = a / b;                                                                \
		if (b == 0)                                                                            \
			return;                                                                        \
		if (r != 0 && (b < 0) != (r < 0)) {                                                    \
			*mod += b;                                                                     \
			q -= 1;                                                                        \
		} else if (r == 0) {                                                                   \
			*mod = copysign(0, b);                                                         \
		}                                                                                      \
		*div = q == 0 ? copysign(0, a / b) : floor(q);                                         \
		if (q != 0 && q - *div > 0.5f)                                                         \
			*div += 1;                                                                     \
	}
NUMPY(float, f32, fmodf, floorf, copysignf)
NUMPY(double, f64, fmod, floor, copysign)

static bool same_double(double a, double b)
{
	return a != a ? b != b : a == b && !signbit(a) == !signbit(b);
}

static void test_floors(const char *build)
{
	static const float values[] = { 0.0f, -0.0f, 1.0f, -1.0f, 0.1f, -0.1f, 0.3f, 3.0f, -7.0f, 7.0f, 100.0f, 1e6f, 1e30f, 3e-5f,
					INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 1.2e-38f, 3.4e38f, 16777217.0f };
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	float (*div)(float, float), (*mod)(float, float), d, m;
	double (*wide_div)(double, double), (*wide_mod)(double, double), e, f;
	int wrong = 0;

	GET(div, "floor_divf");
	GET(mod, "floor_modf");
	GET(wide_div, "floor_div");
	GET(wide_mod, "floor_mod");
	for (size_t i = 0; i < COUNT * COUNT; i++) {
		float a = values[i / COUNT], b = values[i % COUNT];

		numpy_f32(a, b, &d, &m);
		numpy_f64(a, b, &e, &f);
		wrong += !same_double((double)d, (double)div(a, b)) + !same_double((double)m, (double)mod(a, b));
		wrong += !same_double(e, wide_div(a, b)) + !same_double(f, wide_mod(a, b));
	}
	is_int(wrong, 0, "%s floats are divided with a remainder as numpy does it, to the bit", build);
	ok(div(1.0f, 0.1f) == 9.0f && wide_div(1.0, 0.1) == 9.0, "%s 1 // 0.1 is 9", build);
}

static void test_to_whole(const char *build, enum kw_dtype d)
{
	static const double values[] = { 0, -0.0, 0.9, -0.9, 1.5, 127, 127.9, 128, -128, -128.9, -129, 254.5, 255, 255.5, 256, 300, -1, 32767.5,
					 32768, -32768.9, -32769, 2147483520, 2147483647, 2147483648, -2147483648, -2147483904, 4e9, 1e12,
					 9223371487098961920., 9223372036854774784., 9223372036854775808., -9223372036854775808., -1e19,
					 1e30, -1e30, INFINITY, -INFINITY, NAN, 1e-45 };
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	void (*from_f32)(void *, const float *, int64_t), (*from_f64)(void *, const double *, int64_t);
	size_t bytes = kw_dtype_bytes(d);
	char got[COUNT * 8], want[COUNT * 8], name[32];
	float single[COUNT];
	double back[COUNT];

	snprintf(name, sizeof(name), "whole_%s", kw_dtype_name(d));
	GET(from_f32, name);
	snprintf(name, sizeof(name), "wide_%s", kw_dtype_name(d));
	GET(from_f64, name);
	for (size_t i = 0; i < COUNT; i++) {
		single[i] = (float)values[i];
		back[i] = (double)single[i];
	}
	from_f32(got, single, COUNT);
	kw_dtype_from_f64(d, back, want, COUNT);
	ok(memcmp(got, want, COUNT * bytes) == 0, "%s f32 to %s: towards 0, the ends, 0 for NaN", build, kw_dtype_name(d));
	from_f64(got, values, COUNT);
	kw_dtype_from_f64(d, values, want, COUNT);
	ok(memcmp(got, want, COUNT * bytes) == 0, "%s f64 to %s as well", build, kw_dtype_name(d));
}

static void test_build(const char *label, const char *compiler, bool naive)
{
	static const enum kw_dtype narrow[] = { KW_F16, KW_BF16, KW_F8E4M3, KW_F8E5M2 };
	static const enum kw_dtype whole[] = { KW_U8, KW_I8, KW_I16, KW_I32, KW_I64 };

	if (!ok(load(compiler, naive), "%s builds it", label))
		return;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		test_function(i, label);
	test_pow(label);
	test_over(label);
	test_exp_f64(label);
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++)
		test_narrow(label, narrow[i]);
	test_rows(label);
	test_whole(label);
	test_floors(label);
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		test_to_whole(label, whole[i]);
}

int main(void)
{
	char path[512];

	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	test_build("native", NULL, false);
	test_build("-O3", NULL, true);
	if (kw_proc_which("clang", path, sizeof(path)))
		test_build("clang", "clang", false);
	else
		skip(1, "no clang here");
	return done();
}
