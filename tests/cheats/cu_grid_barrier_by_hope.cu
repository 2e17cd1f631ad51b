//# task rowsum
//# expect wrong/race wrong/mismatch wrong/nan cheat/stale_output cheat/state
//# why One kernel for two steps: blocks read sums of other blocks that may not be there yet.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, part, rows:i64, cols:i64)
//@ workspace part f32[rows]
extern "C" __global__ void candidate(const float *x, float *y, volatile float *part, int64_t rows, int64_t cols)
{
	int64_t other = rows - 1 - blockIdx.x; /* block 0 writes the last row's answer */
	float s = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 128)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		atomicAdd((float *)&part[blockIdx.x], s);
	__syncthreads();
	if (threadIdx.x == 0) {
		y[other] = part[other];
		part[other] = 0.0f;
	}
}
