// repaired: shuffles within the warps, and one barrier
//@ kernel row_sums grid=(rows) block=(1024) args=(x, y)
//@ require cols == 1024
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y)
{
	__shared__ float part[32];
	float sum = kw_warp_sum(x[(long long)blockIdx.x * 1024 + threadIdx.x]);

	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = kw_warp_sum(part[threadIdx.x]);
		if (threadIdx.x == 0)
			y[blockIdx.x] = sum;
	}
}
