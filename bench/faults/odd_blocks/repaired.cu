// repaired: blocks of whole warps
//@ kernel series grid=(n / 128) block=(128) args=(x, y)
//@ require n % 128 == 0
__global__ void series(const float *__restrict__ x, float *__restrict__ y)
{
	long long i = (long long)blockIdx.x * 128 + threadIdx.x;
	float v = x[i], sum = 0;

#pragma unroll 16
	for (int k = 0; k < 256; k++)
		sum = fmaf(sum, v, 1.0f);
	y[i] = sum;
}
