//# task affine
//# expect launch_error/resources
//# why More dynamic shared memory than a block can have.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) smem=(300 * 1024) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	extern __shared__ float room[];

	room[threadIdx.x] = 1.0f;
	if (i < n)
		y[i] = 2.0f * x[i] + room[threadIdx.x];
}
