// repaired: each thread adds up its own in a register first
//@ kernel row_sums grid=(rows) block=(256) args=(x, y, cols:i32)
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y, int cols)
{
	__shared__ float sum;
	float mine = 0;

	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	for (int c = threadIdx.x; c < cols; c += 256)
		mine += x[(long long)blockIdx.x * cols + c];
	atomicAdd(&sum, mine);
	__syncthreads();
	if (threadIdx.x == 0)
		y[blockIdx.x] = sum;
}
