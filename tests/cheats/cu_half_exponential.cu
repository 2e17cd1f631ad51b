//# task softmax
//# expect wrong/precision
//# why Exponentials are taken by the unit for two f16 values at once.
//@ kernel candidate grid=(rows) block=(32) args=(x, y, rows:i64, cols:i64)
static __device__ float sloppy(float v)
{
	return __half2float(hexp2(__float2half_rn(v * 1.44269504f)));
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	const float *p = x + blockIdx.x * cols;
	float m = -KW_INF, s = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 32)
		m = fmaxf(m, p[c]);
	m = kw_warp_max(m);
	for (int64_t c = threadIdx.x; c < cols; c += 32)
		s += sloppy(p[c] - m);
	s = kw_warp_sum(s);
	for (int64_t c = threadIdx.x; c < cols; c += 32)
		y[blockIdx.x * cols + c] = sloppy(p[c] - m) / s;
}
