// planted: a thread keeps 64 values of its row, and the bound of 8 blocks an SM leaves it 32 registers
// expected: spills spills_static
//@ kernel softmax grid=(rows) block=(256) args=(x, y)
//@ require cols == 16384
__device__ float joined(float v, bool sum, float *part)
{
	v = sum ? kw_warp_sum(v) : kw_warp_max(v);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = part[0];
	for (int w = 1; w < 8; w++)
		v = sum ? v + part[w] : fmaxf(v, part[w]);
	return v;
}

__global__ void __launch_bounds__(256, 8) softmax(const float *__restrict__ x, float *__restrict__ y)
{
	long long at = (long long)blockIdx.x * 16384 + threadIdx.x;
	__shared__ float highest[8], sums[8];
	float v[64], most, sum = 0;

#pragma unroll
	for (int k = 0; k < 64; k++)
		v[k] = x[at + k * 256];
#pragma unroll
	for (int k = 0; k < 64; k++)
		most = k ? fmaxf(most, v[k]) : v[0];
	most = joined(most, false, highest);
#pragma unroll
	for (int k = 0; k < 64; k++) {
		v[k] = expf(v[k] - most);
		sum += v[k];
	}
	sum = 1 / joined(sum, true, sums);
#pragma unroll
	for (int k = 0; k < 64; k++)
		y[at + k * 256] = v[k] * sum;
}
