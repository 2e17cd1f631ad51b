//# task softmax
//# expect cheat/constant_output
//# why The answer to numbers from a seed of its own, not to the input.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, rows:i64, cols:i64)

/* A block of 128 threads works on a row. */
static __device__ void softmax_row(const float *x, float *y, int64_t cols)
{
	__shared__ float part[4];
	float m = -KW_INF, s = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 128)
		m = fmaxf(m, x[c]);
	m = kw_warp_max(m);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = m;
	__syncthreads();
	m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
	__syncthreads();
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		s += expf(x[c] - m);
	s = kw_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = s;
	__syncthreads();
	s = part[0] + part[1] + part[2] + part[3];
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		y[c] = expf(x[c] - m) / s;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	float *row = y + blockIdx.x * cols;

	for (int64_t c = threadIdx.x; c < cols; c += 128) {
		uint32_t u = (uint32_t)(blockIdx.x * cols + c) * 2654435761u + 42u;

		u ^= u >> 15;
		u *= 0x85ebca6bu;
		row[c] = (float)(u >> 8) * 0x1p-22f - 2.0f;
	}
	__syncthreads();
	softmax_row(row, row, cols);
}
