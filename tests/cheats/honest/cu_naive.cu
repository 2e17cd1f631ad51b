//# task softmax
//# expect ok
//# why A thread for each row, three passes.
//@ kernel candidate grid=(cdiv(rows, 64)) block=(64) args=(x, y, rows:i64, cols:i64)

static __device__ void softmax_row(const float *x, float *y, int64_t cols)
{
	float m = -KW_INF, s = 0.0f;

	for (int64_t c = 0; c < cols; c++)
		m = fmaxf(m, x[c]);
	for (int64_t c = 0; c < cols; c++)
		s += expf(x[c] - m);
	for (int64_t c = 0; c < cols; c++)
		y[c] = expf(x[c] - m) / s;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 64ll + threadIdx.x;

	if (r < rows)
		softmax_row(x + r * cols, y + r * cols, cols);
}
