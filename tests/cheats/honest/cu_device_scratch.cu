//# task rowsum
//# expect ok
//# why Scratch in a global variable that is written before it is read, at every call.
//@ kernel parts grid=(rows) block=(64) args=(x, cols:i64)
//@ kernel candidate grid=(cdiv(rows, 128)) block=(128) args=(y, rows:i64)
//@ require rows <= 2048
static __device__ float part[2048][2];

extern "C" __global__ void parts(const float *x, int64_t cols)
{
	float s = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 64)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		part[blockIdx.x][threadIdx.x / 32] = s;
}

extern "C" __global__ void candidate(float *y, int64_t rows)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;

	if (r < rows)
		y[r] = part[r][0] + part[r][1];
}
