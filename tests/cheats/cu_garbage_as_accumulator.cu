//# task rowsum
//# expect wrong/mismatch wrong/nan wrong/race cheat/state
//# why The sum starts from shared memory that nobody has written: often zeros, or what another kernel left.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	__shared__ float sum; /* never set to zero */

	__syncthreads();
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		atomicAdd(&sum, x[blockIdx.x * cols + c]);
	__syncthreads();
	if (threadIdx.x == 0) {
		y[blockIdx.x] = sum;
		sum = 0.0f; /* and so the next call finds a zero */
	}
}
