// What the judge does on a GPU with data that no candidate sees it do: make inputs, poison outputs, compare. gpu.c builds it
// for the device and launches it in the judge's own context. Values are those of the CPU's generator (inputs.c, philox.c) but
// for the last bits of logarithm and cosine.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

typedef unsigned long long u64;
typedef long long i64;
enum dtype { F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL }; // as gpu.c numbers them
#define INFINITY_ __longlong_as_double(0x7ff0000000000000ll)
enum dist { NORMAL, UNIFORM, INTEGERS };

// ---- inputs ----

__device__ void philox(unsigned c[4], unsigned k0, unsigned k1)
{
	for (int r = 0; r < 10; r++) {
		u64 p0 = (u64)c[0] * 0xd2511f53u, p1 = (u64)c[2] * 0xcd9e8d57u;
		unsigned c1 = c[1], c3 = c[3];

		c[0] = (unsigned)(p1 >> 32) ^ c1 ^ k0;
		c[1] = (unsigned)p1;
		c[2] = (unsigned)(p0 >> 32) ^ c3 ^ k1;
		c[3] = (unsigned)p0;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
}

__device__ void normal_pair(unsigned w0, unsigned w1, float *z)
{
	float u = ((float)(w0 >> 8) + 0.5f) * 0x1p-24f, r = sqrtf(fmaxf(-2.0f * logf(u), 0x1p-24f)), s, c;
	float a = (float)((int)(w1 & 0x3fffffffu) - 0x20000000) * (1.57079633f * 0x1p-30f);
	int quadrant = (int)(w1 >> 30);

	sincospif(a / 3.14159265f + 0.5f * quadrant, &s, &c);
	z[0] = r * c;
	z[1] = r * s;
}

__device__ void store(void *y, int type, i64 at, double v)
{
	switch (type) {
	case F64: ((double *)y)[at] = v; return;
	case F32: ((float *)y)[at] = (float)v; return;
	case F16: ((__half *)y)[at] = __float2half((float)v); return;
	case BF16: ((__nv_bfloat16 *)y)[at] = __float2bfloat16((float)v); return;
	case I64: ((i64 *)y)[at] = (i64)v; return;
	case I32: ((int *)y)[at] = (int)v; return;
	case I16: ((short *)y)[at] = (short)v; return;
	case I8: ((signed char *)y)[at] = (signed char)v; return;
	default: ((unsigned char *)y)[at] = (unsigned char)v; return;
	}
}

// Element e of block b (256 elements) is word e / 64 of counter b * 64 + e % 64; a thread makes the four of one counter.
// NORMAL: lo + hi z, cut to +-max; UNIFORM: [lo, hi); INTEGERS: int_lo + [0, span), span below 2^32.
extern "C" __global__ void kwj_fill(void *y, i64 n, int type, int dist, u64 seed, unsigned tensor, double lo, double hi,
				    double max, i64 int_lo, u64 span)
{
	i64 counters = (n + 255) / 256 * 64;

	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < counters; i += (i64)gridDim.x * blockDim.x) {
		unsigned c[4] = { (unsigned)i, (unsigned)((u64)i >> 32), tensor, 0 };
		float z[4];
		double v[4];

		philox(c, (unsigned)seed, (unsigned)(seed >> 32));
		if (dist == NORMAL) {
			normal_pair(c[0], c[1], z);
			normal_pair(c[2], c[3], z + 2);
		}
		for (int w = 0; w < 4; w++) {
			i64 at = i / 64 * 256 + w * 64 + i % 64;

			if (dist == NORMAL)
				v[w] = fmin(fmax(lo + hi * z[w], -max), max);
			else if (dist == UNIFORM)
				v[w] = lo + (hi - lo) * ((double)(c[w] >> 8) * 0x1p-24);
			else
				v[w] = (double)(int_lo + (i64)((u64)c[w] * span >> 32));
			if (at < n)
				store(y, type, at, v[w]);
		}
	}
}

// ---- poison ----

extern "C" __global__ void kwj_poison(u64 *y, i64 words, int tail_bytes, u64 word)
{
	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (i64)gridDim.x * blockDim.x)
		y[i] = word;
	if (blockIdx.x == 0 && threadIdx.x < tail_bytes)
		((unsigned char *)(y + words))[threadIdx.x] = (unsigned char)(word >> 8 * threadIdx.x);
}

// ---- comparison (compare.c says what each number means) ----

struct bound {
	double floor, constant, per_power, per_value, low_power, high_power;
};
struct part {
	double got2, want2, diff2, cross, max_abs, max_rel, worst_ratio, worst_got, worst_want, worst_tolerance;
	i64 worst_flat, mismatched, unwritten, nan_mismatched, not_close;
};

__device__ double load(const void *x, int type, i64 at)
{
	switch (type) {
	case F64: return ((const double *)x)[at];
	case F32: return ((const float *)x)[at];
	case F16: return __half2float(((const __half *)x)[at]);
	case BF16: return __bfloat162float(((const __nv_bfloat16 *)x)[at]);
	case I64: return (double)((const i64 *)x)[at];
	case I32: return ((const int *)x)[at];
	case I16: return ((const short *)x)[at];
	case I8: return ((const signed char *)x)[at];
	default: return ((const unsigned char *)x)[at];
	}
}

__device__ bool is_poison(const void *x, int type, i64 at, u64 word)
{
	switch (type) {
	case F64:
	case I64: return ((const u64 *)x)[at] == word;
	case F32:
	case I32: return ((const unsigned *)x)[at] == (unsigned)word;
	case F16:
	case BF16:
	case I16: return ((const unsigned short *)x)[at] == (unsigned short)word;
	default: return ((const unsigned char *)x)[at] == (unsigned char)word;
	}
}

__device__ double bound_at(const bound &b, double want)
{
	double power = __longlong_as_double(__double_as_longlong(want) & 0x7ff0000000000000ll), t;

	power = fmin(fmax(power, b.low_power), b.high_power);
	t = b.constant + b.per_power * power + b.per_value * fabs(want);
	return t > b.floor ? t : b.floor;
}

__device__ void take_worse(part &a, const part &b)
{
	a.got2 += b.got2;
	a.want2 += b.want2;
	a.diff2 += b.diff2;
	a.cross += b.cross;
	a.max_abs = fmax(a.max_abs, b.max_abs);
	a.max_rel = fmax(a.max_rel, b.max_rel);
	a.mismatched += b.mismatched;
	a.unwritten += b.unwritten;
	a.nan_mismatched += b.nan_mismatched;
	a.not_close += b.not_close;
	if (b.worst_ratio > a.worst_ratio) {
		a.worst_ratio = b.worst_ratio;
		a.worst_got = b.worst_got;
		a.worst_want = b.worst_want;
		a.worst_tolerance = b.worst_tolerance;
		a.worst_flat = b.worst_flat;
	}
}

__device__ void look_at(part &p, const bound &b, const void *x, int type, i64 flat, double got, double want, u64 poison)
{
	double tolerance = bound_at(b, want), error = fabs(got - want), ratio;
	bool special = !isfinite(got) || !isfinite(want);

	if ((isnan(got) && isnan(want)) || got == want)
		return;
	if (special) {
		p.nan_mismatched++;
		ratio = INFINITY_;
	} else {
		p.max_abs = fmax(p.max_abs, error);
		if (want != 0)
			p.max_rel = fmax(p.max_rel, error / fabs(want));
		ratio = tolerance > 0 ? error / tolerance : error > 0 ? INFINITY_ : 0;
	}
	if (ratio > p.worst_ratio) {
		p.worst_ratio = ratio;
		p.worst_got = got;
		p.worst_want = want;
		p.worst_tolerance = isfinite(want) ? tolerance : 0;
		p.worst_flat = flat;
	}
	if (ratio > 1) {
		p.mismatched++;
		p.unwritten += is_poison(x, type, flat, poison);
	}
}

// got: the whole output; want: its elements first..first+n, as f64. parts: one a block.
// any_nan: where the reference is NaN everything is right. close: of another rule that is only counted; 0: none. One result a block of 256 threads.
extern "C" __global__ void kwj_compare(const void *got, int type, const double *want, i64 first, i64 n, bound b, u64 poison,
				       int any_nan, double close, part *parts)
{
	__shared__ part shared[256];
	part p = {};

	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) {
		double w = want[i], g = load(got, type, first + i), d = g - w;

		if (any_nan && isnan(w))
			continue;
		look_at(p, b, got, type, first + i, g, w, poison);
		p.not_close += close > 0 && g != w && !(isfinite(g) && isfinite(w) && fabs(d) <= close + close * fabs(w));
		if (!isfinite(g) || !isfinite(w))
			continue;
		p.got2 += g * g;
		p.want2 += w * w;
		p.diff2 += d * d;
		p.cross += d * w;
	}
	shared[threadIdx.x] = p;
	for (int half = 128; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			take_worse(shared[threadIdx.x], shared[threadIdx.x + half]);
	}
	if (threadIdx.x == 0)
		parts[blockIdx.x] = shared[0];
}

// The plain f32 evaluation against the f64 one.
struct plain {
	double worst, squares;
	i64 n, nan, ill;
};
extern "C" __global__ void kwj_plain(const double *want, const double *got, i64 n, plain *parts)
{
	__shared__ plain shared[256];
	plain p = {};

	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) {
		double w = want[i], g = got[i];

		p.nan += isnan(w);
		p.ill += isfinite(w) && !isfinite(g);
		if (!isfinite(w) || !isfinite(g))
			continue;
		p.worst = fmax(p.worst, fabs(g - w));
		p.squares += w * w;
		p.n++;
	}
	shared[threadIdx.x] = p;
	for (int half = 128; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) {
			plain &a = shared[threadIdx.x];
			const plain &q = shared[threadIdx.x + half];

			a.worst = fmax(a.worst, q.worst);
			a.squares += q.squares;
			a.n += q.n;
			a.nan += q.nan;
			a.ill += q.ill;
		}
	}
	if (threadIdx.x == 0)
		parts[blockIdx.x] = shared[0];
}

// How many elements still hold poison. One result a block, of which only `unwritten` is set.
extern "C" __global__ void kwj_count(const void *x, int type, i64 n, u64 poison, part *parts)
{
	__shared__ i64 shared[256];
	i64 found = 0;

	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x)
		found += is_poison(x, type, i, poison);
	shared[threadIdx.x] = found;
	for (int half = 128; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			shared[threadIdx.x] += shared[threadIdx.x + half];
	}
	if (threadIdx.x == 0) {
		parts[blockIdx.x] = {};
		parts[blockIdx.x].unwritten = shared[0];
	}
}

// ---- whether an output changed ----

__device__ u64 word_at(const unsigned char *x, i64 bytes, i64 i)
{
	i64 left = bytes - i * 8;
	u64 word = 0;

	if (left >= 8 && (u64)x % 8 == 0)
		return ((const u64 *)x)[i];
	for (int k = 0; k < 8 && k < left; k++)
		word |= (u64)x[i * 8 + k] << 8 * k;
	return word;
}

// Each word mixed with its place, by two rounds of a multiplication (as SplitMix64 ends), and all added up: of no order, so that any grid gives
// the same. One result a block, of which only `unwritten` is set.
extern "C" __global__ void kwj_hash(const unsigned char *x, i64 bytes, u64 seed, part *parts)
{
	__shared__ u64 shared[256];
	i64 words = (bytes + 7) / 8;
	u64 sum = 0;

	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (i64)gridDim.x * blockDim.x) {
		u64 v = word_at(x, bytes, i) ^ (seed + (u64)i * 0x9e3779b97f4a7c15ull);

		v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
		v = (v ^ v >> 27) * 0x94d049bb133111ebull;
		sum += v ^ v >> 31;
	}
	shared[threadIdx.x] = sum;
	for (int half = 128; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			shared[threadIdx.x] += shared[threadIdx.x + half];
	}
	if (threadIdx.x == 0) {
		parts[blockIdx.x] = {};
		parts[blockIdx.x].unwritten = (i64)shared[0];
	}
}
