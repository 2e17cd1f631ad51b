// planted: products and sums that are kept apart, where one instruction does both
// expected: fma_not_fused
//@ kernel series grid=(n / 256) block=(256) args=(x, y)
//@ require n % 256 == 0
__global__ void series(const float *__restrict__ x, float *__restrict__ y)
{
	long long i = (long long)blockIdx.x * 256 + threadIdx.x;
	float v = x[i], sum = 0;

#pragma unroll 16
	for (int k = 0; k < 256; k++)
		sum = __fadd_rn(__fmul_rn(sum, v), 1.0f);
	y[i] = sum;
}
