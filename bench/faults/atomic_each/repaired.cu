// repaired: the lanes of a warp are summed up first, and one of them issues the atomic
//@ kernel add_sums grid=(cols / 256, rows) block=(256) args=(x, sums, cols:i32)
//@ require cols % 256 == 0
__global__ void add_sums(const float *__restrict__ x, float *sums, int cols)
{
	float v = x[(long long)blockIdx.y * cols + blockIdx.x * 256 + threadIdx.x];

	v = kw_warp_sum(v);
	if (threadIdx.x % 32 == 0)
		atomicAdd(&sums[blockIdx.y], v);
}
