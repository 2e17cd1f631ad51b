//# task leaky_rowsum
//# expect wrong/mismatch
//# why Another operation than the C file computes: the leaky part is left out.
//@ kernel candidate grid=(rows) block=(128) args=(x, slope, y, cols:i64)

extern "C" __global__ void candidate(const float *x, float slope, float *y, int64_t cols)
{
	__shared__ float part[4];
	float sum = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 128) {
		float v = x[blockIdx.x * cols + c];

		sum += v > 0 ? expf(-v) * v : 0.0f;
	}
	sum = kw_warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x == 0)
		y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
