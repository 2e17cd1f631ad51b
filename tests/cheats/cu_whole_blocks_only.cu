//# task affine
//# expect wrong/unwritten
//# why The grid is rounded down: what is left of the last block is never written.
//@ kernel candidate grid=(n / 256) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	y[i] = 2.0f * x[i] + 1.0f;
}
