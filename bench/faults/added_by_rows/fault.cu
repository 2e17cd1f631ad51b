// planted: one atomic an element; neighbouring lanes have addresses of their own, and all rows meet on them
// expected: atomics_global atomics_contention
//@ kernel add_sums grid=(cols / 256, rows / 64) block=(256) args=(x, sums, cols:i32)
//@ require cols % 256 == 0 && rows % 64 == 0
__global__ void add_sums(const float *__restrict__ x, float *sums, int cols)
{
	int c = blockIdx.x * 256 + threadIdx.x;
	const float *at = x + (long long)blockIdx.y * 64 * cols + c;

#pragma unroll 8
	for (int r = 0; r < 64; r++)
		atomicAdd(&sums[c], at[(long long)r * cols]);
}
