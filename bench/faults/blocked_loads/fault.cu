// planted: each thread sums 16 neighbouring elements, so that the lanes of a warp read 64 bytes apart
// expected: uncoalesced_loads
//@ kernel row_sums grid=(rows) block=(256) args=(x, y, cols:i32)
//@ require cols % 4096 == 0
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y, int cols)
{
	const float *row = x + (long long)blockIdx.x * cols;
	__shared__ float part[8];
	float sum = 0;

	for (int group = threadIdx.x * 16; group < cols; group += 256 * 16)
#pragma unroll
		for (int k = 0; k < 16; k++)
			sum += row[group + k];
	sum = kw_warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < 8; w++)
			sum += part[w];
		y[blockIdx.x] = sum;
	}
}
