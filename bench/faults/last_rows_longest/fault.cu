// planted: each block takes neighbouring rows, and later rows of a triangle are longer
// expected: uneven_work
//@ kernel row_sums grid=(max(cores, 1)) block=(1024) args=(x, y, n:i32)
__global__ void row_sums(const float *__restrict__ x, float *__restrict__ y, int n)
{
	int each = (n + gridDim.x - 1) / gridDim.x, first = blockIdx.x * each, end = min(first + each, n);

	for (int r = first + threadIdx.x / 32; r < end; r += 32) {
		float sum = 0;

#pragma unroll 8
		for (int c = threadIdx.x % 32; c <= r; c += 32)
			sum += x[(long long)r * n + c];
		sum = kw_warp_sum(sum);
		if (threadIdx.x % 32 == 0)
			y[r] = sum;
	}
}
