// repaired: a thread sums up its own in a register, and adds once
//@ kernel sums grid=(rows) block=(256) args=(x, y, groups * 8:i32)
__global__ void sums(const float *__restrict__ x, float *__restrict__ y, int cols)
{
	__shared__ float bin[8];
	const float *row = x + (long long)blockIdx.x * cols;
	float mine = 0;

	if (threadIdx.x < 8)
		bin[threadIdx.x] = 0;
	__syncthreads();
	for (int c = threadIdx.x; c < cols; c += 256)
		mine += row[c];
	atomicAdd(&bin[threadIdx.x % 8], mine);
	__syncthreads();
	if (threadIdx.x < 8)
		y[blockIdx.x * 8 + threadIdx.x] = bin[threadIdx.x];
}
