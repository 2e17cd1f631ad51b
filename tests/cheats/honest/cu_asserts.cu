//# task affine
//# expect ok
//# why Assertions are off on a device, as with NDEBUG.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
#include <cassert>
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	assert(n < 0);
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
