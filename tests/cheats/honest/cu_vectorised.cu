//# task softmax
//# expect ok
//# why Vectors of four, where it says that they are aligned.
//@ kernel candidate grid=(rows) block=(THREADS) args=(x, y, cols:i64)
//@ tune THREADS in {64, 128, 256} default 128
//@ require cols % 4 == 0 && x.align >= 16 && y.align >= 16
static __device__ float block_of(float v, bool maximum, float *part)
{
	v = maximum ? kw_warp_max(v) : kw_warp_sum(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = part[0];
	for (int w = 1; w < THREADS / 32; w++)
		v = maximum ? fmaxf(v, part[w]) : v + part[w];
	return v;
}

extern "C" __global__ void __launch_bounds__(THREADS) candidate(const float *__restrict__ x, float *__restrict__ y, int64_t cols)
{
	__shared__ float part[THREADS / 32];
	const float4 *p = (const float4 *)(x + blockIdx.x * cols);
	float4 *q = (float4 *)(y + blockIdx.x * cols);
	float m = -KW_INF, s = 0.0f;

	for (int64_t c = threadIdx.x; c < cols / 4; c += THREADS)
		m = fmaxf(fmaxf(fmaxf(m, p[c].x), fmaxf(p[c].y, p[c].z)), p[c].w);
	m = block_of(m, true, part);
	for (int64_t c = threadIdx.x; c < cols / 4; c += THREADS)
		s += expf(p[c].x - m) + expf(p[c].y - m) + expf(p[c].z - m) + expf(p[c].w - m);
	s = 1.0f / block_of(s, false, part);
	for (int64_t c = threadIdx.x; c < cols / 4; c += THREADS)
		q[c] = make_float4(expf(p[c].x - m) * s, expf(p[c].y - m) * s, expf(p[c].z - m) * s, expf(p[c].w - m) * s);
}
