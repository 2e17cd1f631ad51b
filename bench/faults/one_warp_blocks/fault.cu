// planted: blocks of one warp, of which a multiprocessor takes half as many as it has room for warps
// expected: occupancy_small_blocks
//@ kernel relu grid=(n / 32) block=(32) args=(x, y)
//@ require n % 32 == 0
__global__ void relu(const float *__restrict__ x, float *__restrict__ y)
{
	long long i = (long long)blockIdx.x * 32 + threadIdx.x;

	y[i] = fmaxf(x[i], 0);
}
