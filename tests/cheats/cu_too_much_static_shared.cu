//# task affine
//# expect build_error/resources
//# why A kernel declares more shared memory than it can have.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	__shared__ float room[60000];

	for (int k = threadIdx.x; k < 60000; k += 256)
		room[k] = (float)k;
	__syncthreads();
	if (i < n)
		y[i] = 2.0f * x[i] + room[(i + 1) % 60000] / room[(i + 1) % 60000];
}
