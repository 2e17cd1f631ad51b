// planted: each thread loads one byte
// expected: narrow_accesses
//@ kernel scale grid=(n / 256) block=(256) args=(x, y)
//@ require n % 4096 == 0
__global__ void scale(const signed char *__restrict__ x, half *__restrict__ y)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	y[i] = __float2half(x[i] * 0.5f);
}
