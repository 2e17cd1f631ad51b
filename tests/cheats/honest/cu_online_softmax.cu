//# task softmax
//# expect ok
//# why Maximum and sum in one pass, scaled as the maximum grows.
//@ kernel candidate grid=(rows) block=(32) args=(x, y, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t cols)
{
	const float *p = x + blockIdx.x * cols;
	float m = -KW_INF, s = 0.0f, all;

	for (int64_t c = threadIdx.x; c < cols; c += 32) {
		float bigger = fmaxf(m, p[c]);

		if (bigger > -KW_INF)
			s = s * expf(m - bigger) + expf(p[c] - bigger);
		m = bigger;
	}
	all = kw_warp_max(m);
	s = kw_warp_sum(m > -KW_INF ? s * expf(m - all) : 0.0f);
	for (int64_t c = threadIdx.x; c < cols; c += 32)
		y[blockIdx.x * cols + c] = expf(p[c] - all) / s;
}
