// Rows of a softmax in f16: one block a row, the row kept in registers, 16-byte accesses.
//@ kernel softmax grid=(rows) block=(THREADS) args=(x, y, cols:i32)
//@ tune THREADS in {128, 256, 512} default 256
//@ define VECS = cdiv(cols, THREADS * 8)
//@ require cols % 8 == 0 && x.align >= 16 && VECS <= 16
#include <cuda_fp16.h>

__device__ float block_reduce(float v, bool max)
{
	__shared__ float part[THREADS / 32];

	v = max ? kw_warp_max(v) : kw_warp_sum(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = part[threadIdx.x % (THREADS / 32)];
	return max ? kw_warp_max(v) : kw_warp_sum(v) / (32 / (THREADS / 32));
}

__global__ void __launch_bounds__(THREADS) softmax(const __half *__restrict__ x, __half *__restrict__ y, int cols)
{
	const int4 *in = (const int4 *)(x + (int64_t)blockIdx.x * cols);
	int4 *out = (int4 *)(y + (int64_t)blockIdx.x * cols);
	float v[VECS * 8], m = -KW_INF, s = 0;

#pragma unroll
	for (int k = 0; k < VECS; k++) {
		int i = k * THREADS + threadIdx.x;
		int4 raw = i < cols / 8 ? in[i] : make_int4(0, 0, 0, 0);

#pragma unroll
		for (int j = 0; j < 8; j++) {
			v[k * 8 + j] = i < cols / 8 ? __half2float(((const __half *)&raw)[j]) : -KW_INF;
			m = kw_maxf(m, v[k * 8 + j]);
		}
	}
	m = block_reduce(m, true);
#pragma unroll
	for (int k = 0; k < VECS * 8; k++) {
		v[k] = expf(v[k] - m);
		s += v[k];
	}
	s = 1.0f / block_reduce(s, false);
#pragma unroll
	for (int k = 0; k < VECS; k++) {
		int i = k * THREADS + threadIdx.x;
		int4 raw;

#pragma unroll
		for (int j = 0; j < 8; j++)
			((__half *)&raw)[j] = __float2half(v[k * 8 + j] * s);
		if (i < cols / 8)
			out[i] = raw;
	}
}
