//# task softmax_in_place
//# expect wrong/mismatch
//# why The sum is taken when the row is divided already: what it reads is no longer the input.
//@ kernel candidate grid=(rows) block=(128) args=(x, rows:i64, cols:i64)

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

extern "C" __global__ void candidate(float *x, int64_t rows, int64_t cols)
{
	float *p = x + blockIdx.x * cols;
	float sum = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 128) {
		sum += expf(p[c]);
		p[c] = expf(p[c]);
	}
	sum = all(sum, false);
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		p[c] = expf(p[c]) / sum;
}
