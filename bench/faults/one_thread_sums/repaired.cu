// repaired: all threads take part in the sum
//@ kernel row_sums grid=(rows) block=(256) args=(x, y)
//@ require cols == 1024
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y)
{
	__shared__ float part[8];
	const float *row = x + (long long)blockIdx.x * 1024 + threadIdx.x;
	float sum = kw_warp_sum(row[0] + row[256] + row[512] + row[768]);

	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = kw_warp_sum(threadIdx.x < 8 ? part[threadIdx.x] : 0.0f);
		if (threadIdx.x == 0)
			y[blockIdx.x] = sum;
	}
}
