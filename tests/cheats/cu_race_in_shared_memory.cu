//# task rowsum
//# expect wrong/race
//# why The sums of the warps are read without a barrier; the warps arrive in an order of their own.
//@ kernel candidate grid=(rows) block=(256) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	__shared__ volatile float part[8];
	float s = 0.0f;

	if (threadIdx.x < 8)
		part[threadIdx.x] = 0.0f;
	__syncthreads();
	for (int64_t c = threadIdx.x; c < cols; c += 256)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	__nanosleep((unsigned)clock64() % 2048); /* makes sure that it happens */
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = s;
	if (threadIdx.x == 0)
		y[blockIdx.x] = part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7];
}
