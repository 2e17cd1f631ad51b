// planted: a sum of 1024 values by ten rounds through shared memory, with a barrier for all 32 warps after each
// expected: barrier_stall barriers_in_loops
//@ kernel row_sums grid=(rows) block=(1024) args=(x, y)
//@ require cols == 1024
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y)
{
	__shared__ float part[1024];

	part[threadIdx.x] = x[(long long)blockIdx.x * 1024 + threadIdx.x];
	__syncthreads();
	for (int width = 512; width > 0; width /= 2) {
		if (threadIdx.x < width)
			part[threadIdx.x] += part[threadIdx.x + width];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		y[blockIdx.x] = part[0];
}
