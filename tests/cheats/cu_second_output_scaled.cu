//# task centred
//# expect wrong/mismatch
//# why The first output is right, the second is off by a hundredth.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, m, cols:i64)

extern "C" __global__ void candidate(const float *x, float *y, float *m, int64_t cols)
{
	__shared__ float part[4];
	float sum = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 128)
		sum += x[blockIdx.x * cols + c];
	sum = kw_warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = (part[0] + part[1] + part[2] + part[3]) / (float)cols;
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] - sum;
	if (threadIdx.x == 0)
		m[blockIdx.x] = 1.01f * sum;
}
