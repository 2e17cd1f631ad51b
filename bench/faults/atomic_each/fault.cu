// planted: one atomic an element, all of a row on one address
// expected: atomics_global atomics_contention
//@ kernel add_sums grid=(cols / 256, rows) block=(256) args=(x, sums, cols:i32)
//@ require cols % 256 == 0
__global__ void add_sums(const float *__restrict__ x, float *sums, int cols)
{
	float v = x[(long long)blockIdx.y * cols + blockIdx.x * 256 + threadIdx.x];

	atomicAdd(&sums[blockIdx.y], v);
}
