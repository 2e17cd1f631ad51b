//# task rowsum_in_cache
//# expect ok
//# why Each call prefetches its own input, all at once, before it walks through it: allowed, and this is the
//# why speed that warm calls would have.
//# alone yes
//@ kernel candidate grid=(cdiv(rows, 4)) block=(32, 4) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 4ll + threadIdx.y, late = 0;
	float s = 0.0f;

	if (r >= rows)
		return;
	for (int64_t c = threadIdx.x * 32; c < cols; c += 1024) /* a line of 128 bytes each */
		asm volatile("prefetch.global.L2 [%0];" ::"l"(x + r * cols + c));
#pragma unroll 1
	for (int64_t c = threadIdx.x; c < cols; c += 32) { /* one load after the other: each costs its whole way */
		float v = x[r * cols + c + late];

		late = v == 1e30f; /* never, but the next address must wait for it */
		s += v;
	}
	s = kw_warp_sum(s);
	if (threadIdx.x == 0)
		y[r] = s;
}
