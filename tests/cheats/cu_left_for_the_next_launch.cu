//# task softmax
//# expect wrong/unwritten cheat/state
//# why The second half of the rows is left to the next launch, which finishes what the one before began.
//@ kernel finish grid=(256) block=(128) args=()
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

static __device__ struct {
	const float *x;
	float *y;
	int64_t rows, cols;
} rest;

extern "C" __global__ void finish()
{
	int64_t row = rest.rows / 2 + blockIdx.x;

	if (row < rest.rows)
		softmax_row(rest.x + row * rest.cols, rest.y + row * rest.cols, rest.cols);
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	if (blockIdx.x == 0 && threadIdx.x == 0) {
		rest.x = x;
		rest.y = y;
		rest.rows = rows;
		rest.cols = cols;
	}
	if (blockIdx.x < rows / 2)
		softmax_row(x + blockIdx.x * cols, y + blockIdx.x * cols, cols);
}
