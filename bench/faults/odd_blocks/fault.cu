// planted: blocks of 33 threads: the second of two warps has one lane
// expected: block_not_whole_warps
//@ kernel series grid=(n / 33) block=(33) args=(x, y)
//@ require n % 33 == 0
__global__ void series(const float *__restrict__ x, float *__restrict__ y)
{
	long long i = (long long)blockIdx.x * 33 + threadIdx.x;
	float v = x[i], sum = 0;

#pragma unroll 16
	for (int k = 0; k < 256; k++)
		sum = fmaf(sum, v, 1.0f);
	y[i] = sum;
}
