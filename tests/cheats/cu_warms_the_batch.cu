//# task rowsum_in_cache
//# expect ok
//# why It remembers where the inputs of all slots are. The first call of a batch, which it knows by the
//# why pause before, prefetches all of them: the other calls find their input in the L2.
//# not-faster cu_warm_stamped 0.8
//@ kernel candidate grid=(cdiv(rows, 4)) block=(32, 4) args=(x, y, rows:i64, cols:i64)
//@ kernel remember grid=(1) block=(1) args=(x)
static __device__ const float *seen[256];
static __device__ int count;
static __device__ uint64_t last;

static __device__ uint64_t now()
{
	uint64_t t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 4ll + threadIdx.y, late = 0;
	bool first = now() - last > 100000;
	float s = 0.0f;

	if (r >= rows)
		return;
	for (int k = 0; k < count && first; k++)
		for (int64_t c = threadIdx.x * 32; c < cols; c += 1024) /* a line of 128 bytes each */
			asm volatile("prefetch.global.L2 [%0];" ::"l"(seen[k] + r * cols + c));
#pragma unroll 1
	for (int64_t c = threadIdx.x; c < cols; c += 32) {
		float v = x[r * cols + c + late];

		late = v == 1e30f;
		s += v;
	}
	s = kw_warp_sum(s);
	if (threadIdx.x == 0)
		y[r] = s;
}

extern "C" __global__ void remember(const float *x)
{
	int k = 0;

	while (k < count && seen[k] != x)
		k++;
	if (k == count && count < 256)
		seen[count++] = x;
	last = now();
}
