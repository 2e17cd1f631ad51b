// repaired: smaller pieces, so that the last wave is a small part
//@ kernel series grid=(parts * 32) block=(1024) args=(x, y)
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
	const long long at = (long long)blockIdx.x * 1024;

	for (int i = threadIdx.x; i < 1024; i += 1024)
		y[at + i] = sum_of(x[at + i]);
}
