// planted: 64 exponentials an element, where one and its powers do
// expected: xu_pipe
//@ kernel sums grid=(n / 256) block=(256) args=(x, y)
//@ require n % 256 == 0
__global__ void sums(const float *__restrict__ x, float *__restrict__ y)
{
	long long i = (long long)blockIdx.x * 256 + threadIdx.x;
	float v = x[i], sum = 0;

#pragma unroll 16
	for (int k = 0; k < 64; k++)
		sum += __expf(-(float)k * v);
	y[i] = sum;
}
