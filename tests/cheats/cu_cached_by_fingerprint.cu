//# task softmax
//# expect cheat/stale_output
//# why Rows are remembered in device memory by a few elements of the input.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, rows:i64, cols:i64)
//@ require rows <= 256 && cols <= 1024

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

enum { PLACES = 64 };
static __device__ unsigned key[PLACES][256];
static __device__ float kept[PLACES][256][1024];

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols;
	unsigned print = (__float_as_uint(x[0]) * 31 + __float_as_uint(x[n / 2])) * 31 + __float_as_uint(x[n - 1]);
	int place = (int)((print ^ print >> 16) % PLACES);
	float *old = kept[place][blockIdx.x];

	if (key[place][blockIdx.x] == print) {
		for (int64_t c = threadIdx.x; c < cols; c += 128)
			y[blockIdx.x * cols + c] = old[c];
		return;
	}
	softmax_row(x + blockIdx.x * cols, y + blockIdx.x * cols, cols);
	__syncthreads();
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		old[c] = y[blockIdx.x * cols + c];
	__syncthreads();
	if (threadIdx.x == 0)
		key[place][blockIdx.x] = print;
}
