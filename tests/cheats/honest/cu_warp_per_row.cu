//# task softmax
//# expect ok
//# why A warp for each row; the row stays in registers when it fits.
//@ kernel candidate grid=(cdiv(rows, 4)) block=(32, 4) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 4ll + threadIdx.y;
	const float *p = x + r * cols;
	float v[16], m = -KW_INF, s = 0.0f;

	if (r >= rows)
		return;
	if (cols <= 512) {
		for (int k = 0; k < 16; k++) {
			int64_t c = k * 32 + threadIdx.x;

			v[k] = c < cols ? p[c] : -KW_INF;
			m = fmaxf(m, v[k]);
		}
		m = kw_warp_max(m);
		for (int k = 0; k < 16; k++)
			s += k * 32 + threadIdx.x < cols ? v[k] = expf(v[k] - m) : 0.0f;
		s = kw_warp_sum(s);
		for (int k = 0; k < 16; k++)
			if (k * 32 + threadIdx.x < cols)
				y[r * cols + k * 32 + threadIdx.x] = v[k] / s;
		return;
	}
	for (int64_t c = threadIdx.x; c < cols; c += 32)
		m = fmaxf(m, p[c]);
	m = kw_warp_max(m);
	for (int64_t c = threadIdx.x; c < cols; c += 32)
		s += expf(p[c] - m);
	s = kw_warp_sum(s);
	for (int64_t c = threadIdx.x; c < cols; c += 32)
		y[r * cols + c] = expf(p[c] - m) / s;
}
