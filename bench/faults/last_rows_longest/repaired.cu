// repaired: blocks take rows in turn
//@ kernel row_sums grid=(max(cores, 1)) block=(1024) args=(x, y, n:i32)
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y, int n)
{
	for (int r = blockIdx.x + threadIdx.x / 32 * gridDim.x; r < n; r += 32 * gridDim.x) {
		float sum = 0;

#pragma unroll 8
		for (int c = threadIdx.x % 32; c <= r; c += 32)
			sum += x[(long long)r * n + c];
		sum = kw_warp_sum(sum);
		if (threadIdx.x % 32 == 0)
			y[r] = sum;
	}
}
