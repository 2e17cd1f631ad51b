//# task rowsum_in_cache
//# expect ok
//# why Row sums by a warp each, one load after the other: what the kernels with hints for the cache are
//# why measured against.
//# alone yes
//@ kernel candidate grid=(cdiv(rows, 4)) block=(32, 4) args=(x, y, rows:i64, cols:i64)
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
