//# task softmax
//# expect cheat/copied_input
//# why The input is returned.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c];
}
