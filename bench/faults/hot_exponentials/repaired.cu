// repaired: one exponential, and its powers by multiplication
//@ kernel sums grid=(n / 256) block=(256) args=(x, y)
//@ require n % 256 == 0
__global__ void sums(const float *__restrict__ x, float *__restrict__ y)
{
	long long i = (long long)blockIdx.x * 256 + threadIdx.x;
	float e = __expf(-x[i]), sum = 0;

#pragma unroll 16
	for (int k = 0; k < 64; k++)
		sum = fmaf(sum, e, 1.0f);
	y[i] = sum;
}
