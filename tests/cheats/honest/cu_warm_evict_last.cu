//# task rowsum_in_cache
//# expect ok
//# why Lines are put into the L2 as the last ones to leave it, for the next call. Honest, and it may gain
//# why nothing: every call is cold.
//# not-faster cu_warm_evict_normal 0.9
//@ kernel candidate grid=(cdiv(rows, 4)) block=(32, 4) args=(x, y, rows:i64, cols:i64)
static __device__ float keep(const float *p)
{
	asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(p) : "memory");
	return *p;
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
