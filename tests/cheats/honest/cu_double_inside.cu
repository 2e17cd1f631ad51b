//# task rowsum
//# expect ok
//# why Added up in f64: more exact than was asked for.
//@ kernel candidate grid=(rows) block=(32) args=(x, y, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t cols)
{
	double s = 0.0;

	for (int64_t c = threadIdx.x; c < cols; c += 32)
		s += x[blockIdx.x * cols + c];
	for (int lanes = 16; lanes > 0; lanes /= 2)
		s += __shfl_xor_sync(0xffffffffu, s, lanes);
	if (threadIdx.x == 0)
		y[blockIdx.x] = (float)s;
}
