//# task leaky_rowsum
//# expect cheat/constant_output
//# why Nothing is computed.
//@ kernel candidate grid=(rows) block=(128) args=(x, slope, y, cols:i64)

extern "C" __global__ void candidate(const float *x, float slope, float *y, int64_t cols)
{
	__shared__ float part[4];
	float sum = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 128) {
		float v = x[blockIdx.x * cols + c];

		sum += v > 0 ? expf(-v) * v : slope * v;
	}
	sum = kw_warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x == 0)
		y[blockIdx.x] = 0.0f * slope;
}
