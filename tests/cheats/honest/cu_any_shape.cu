//# task affine
//# expect ok
//# why A grid of a fixed size that strides over any length.
//# effort final
//@ kernel candidate grid=(2 * cores) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll)
		y[i] = 2.0f * x[i] + 1.0f;
}
