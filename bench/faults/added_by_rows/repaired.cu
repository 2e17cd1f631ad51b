// repaired: a thread sums up 64 rows before its one atomic
//@ kernel add_sums grid=(cols / 256, rows / 64) block=(256) args=(x, sums, cols:i32)
//@ require cols % 256 == 0 && rows % 64 == 0
__global__ void add_sums(const float *__restrict__ x, float *sums, int cols)
{
	int c = blockIdx.x * 256 + threadIdx.x;
	const float *at = x + (long long)blockIdx.y * 64 * cols + c;
	float sum = 0;

#pragma unroll 8
	for (int r = 0; r < 64; r++)
		sum += at[(long long)r * cols];
	atomicAdd(&sums[c], sum);
}
