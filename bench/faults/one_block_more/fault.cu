// planted: 144 blocks that each fill a multiprocessor, so that a device of 132 takes as long as for 264
// expected: tail_effect
//@ kernel series grid=(parts) block=(1024) smem=(120 * 1024) args=(x, y)
__device__ float sum_of(float v)
{
	float sum = 0;

#pragma unroll 16
	for (int k = 0; k < 512; k++)
		sum = fmaf(sum, v, 1.0f);
	return sum;
}

__global__ void series(const float *__restrict__ x, float *__restrict__ y)
{
	const long long at = (long long)blockIdx.x * 32768;

	for (int i = threadIdx.x; i < 32768; i += 1024)
		y[at + i] = sum_of(x[at + i]);
}
