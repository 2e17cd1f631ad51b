// planted: one thread adds up what 256 have loaded, and the others wait
// expected: serial_part barrier_stall
//@ kernel row_sums grid=(rows) block=(256) args=(x, y)
//@ require cols == 1024
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y)
{
	__shared__ float part[256];
	const float *row = x + (long long)blockIdx.x * 1024 + threadIdx.x;

	part[threadIdx.x] = row[0] + row[256] + row[512] + row[768];
	__syncthreads();
	if (threadIdx.x == 0) {
		float sum = 0;

		for (int t = 0; t < 256; t++)
			sum += part[t];
		y[blockIdx.x] = sum;
	}
}
