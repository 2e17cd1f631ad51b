// repaired: blocks of eight warps
//@ kernel relu grid=(n / 256) block=(256) args=(x, y)
//@ require n % 256 == 0
__global__ void relu(const float *__restrict__ x, float *__restrict__ y)
{
	long long i = (long long)blockIdx.x * 256 + threadIdx.x;

	y[i] = fmaxf(x[i], 0);
}
