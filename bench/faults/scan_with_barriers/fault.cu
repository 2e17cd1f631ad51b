// planted: running sums by ten rounds through shared memory, with two barriers for all 32 warps in each
// expected: barrier_stall barriers_in_loops
//@ kernel scan grid=(rows) block=(1024) args=(x, y)
//@ require cols == 1024
__global__ void scan(const float *__restrict__ x, float *__restrict__ y)
{
	__shared__ float part[1024];
	int t = threadIdx.x;
	float sum = x[(long long)blockIdx.x * 1024 + t];

	for (int step = 1; step < 1024; step *= 2) {
		part[t] = sum;
		__syncthreads();
		if (t >= step)
			sum += part[t - step];
		__syncthreads();
	}
	y[(long long)blockIdx.x * 1024 + t] = sum;
}
