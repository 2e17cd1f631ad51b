//# task rowsum_in_cache
//# expect ok
//# why The same two kernels as the one that warms the batch, without any prefetch: what that one is measured
//# why against.
//# alone yes
//@ kernel candidate grid=(cdiv(rows, 4)) block=(32, 4) args=(x, y, rows:i64, cols:i64)
//@ kernel stamp grid=(1) block=(1) args=()
static __device__ uint64_t last;

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 4ll + threadIdx.y, late = 0;
	float s = 0.0f;

	if (r >= rows)
		return;
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

extern "C" __global__ void stamp()
{
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last));
}
