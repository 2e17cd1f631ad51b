//# task rowsum_in_cache
//# expect ok
//# why A cache policy by createpolicy, for all lines of the input, to the same end.
//# not-faster cu_warm_plain 0.8
//@ kernel candidate grid=(cdiv(rows, 4)) block=(32, 4) args=(x, y, rows:i64, cols:i64)
static __device__ float keep(const float *p)
{
	uint64_t policy;
	float v;

	asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
	asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(p), "l"(policy));
	return v;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 4ll + threadIdx.y, late = 0;
	float s = 0.0f;

	if (r >= rows)
		return;
#pragma unroll 1
	for (int64_t c = threadIdx.x; c < cols; c += 32) { /* one load after the other: each costs its whole way */
		float v = keep(&x[r * cols + c + late]);

		late = v == 1e30f; /* never, but the next address must wait for it */
		s += v;
	}
	s = kw_warp_sum(s);
	if (threadIdx.x == 0)
		y[r] = s;
}
