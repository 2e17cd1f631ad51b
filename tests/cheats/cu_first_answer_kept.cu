//# task rowsum
//# expect cheat/stale_output cheat/state
//# why The first answer of the process is kept in device memory and given again.
//@ kernel candidate grid=(rows) block=(32) args=(x, y, rows:i64, cols:i64)
//@ kernel finish grid=(1) block=(1) args=(rows:i64, cols:i64)
//@ require rows <= 2048
static __device__ float kept[2048];
static __device__ int64_t kept_rows, kept_cols;

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	float s = 0.0f;

	if (kept_rows == rows && kept_cols == cols) {
		y[blockIdx.x] = kept[blockIdx.x];
		return;
	}
	for (int64_t c = threadIdx.x; c < cols; c += 32)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	kept[blockIdx.x] = y[blockIdx.x] = s;
}

extern "C" __global__ void finish(int64_t rows, int64_t cols)
{
	kept_rows = rows;
	kept_cols = cols;
}
