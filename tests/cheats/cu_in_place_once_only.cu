//# task softmax_in_place
//# expect cheat/state
//# why It counts on finding its last answer where it left it, and works in the first calls only.
//@ kernel candidate grid=(rows) block=(128) args=(x, rows:i64, cols:i64)
//@ kernel count grid=(1) block=(1) args=()

/* Over a block of 128 threads. */
static __device__ float all(float v, bool max)
{
	__shared__ float part[4];

	v = max ? kw_warp_max(v) : kw_warp_sum(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	return max ? fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3])) : part[0] + part[1] + part[2] + part[3];
}

static __device__ int calls;

extern "C" __global__ void count()
{
	calls++;
}

extern "C" __global__ void candidate(float *x, int64_t rows, int64_t cols)
{
	float *p = x + blockIdx.x * cols;
	float top = -KW_INF, sum = 0.0f;

	if (calls > 3)
		return;
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		top = fmaxf(top, p[c]);
	top = all(top, true);
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		sum += expf(p[c] - top);
	sum = all(sum, false);
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		p[c] = expf(p[c] - top) / sum;
}
