//# task softmax
//# expect cheat/constant_output
//# why One over the number of columns, whatever the input: right on average.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t c = threadIdx.x; c < cols; c += 128)
		y[blockIdx.x * cols + c] = 1.0f / (float)cols;
}
