// planted: each element is added to one word of shared memory by an atomic
// expected: atomics_shared
//@ kernel row_sums grid=(rows) block=(256) args=(x, y, cols:i32)
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y, int cols)
{
	__shared__ float sum;

	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	for (int c = threadIdx.x; c < cols; c += 256)
		atomicAdd(&sum, x[(long long)blockIdx.x * cols + c]);
	__syncthreads();
	if (threadIdx.x == 0)
		y[blockIdx.x] = sum;
}
