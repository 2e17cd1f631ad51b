//# task softmax
//# expect ok
//# why More dynamic shared memory than a block gets without being asked for: 96 KiB.
//@ kernel candidate grid=(rows) block=(128) smem=(96 * 1024) args=(x, y, cols:i64)
//@ require cols <= 24576 && smem_bytes >= 98304
extern "C" __global__ void candidate(const float *x, float *y, int64_t cols)
{
	extern __shared__ float row[];
	__shared__ float part[4];
	float m = -KW_INF, s = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 128)
		m = fmaxf(m, row[24575 - c] = x[blockIdx.x * cols + c]); /* from its far end */
	m = kw_warp_max(m);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = m;
	__syncthreads();
	m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		s += row[24575 - c] = expf(row[24575 - c] - m);
	s = kw_warp_sum(s);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = s;
	__syncthreads();
	s = part[0] + part[1] + part[2] + part[3];
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		y[blockIdx.x * cols + c] = row[24575 - c] / s;
}
