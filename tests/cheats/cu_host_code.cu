//# task affine
//# expect build_error/syntax
//# why Host code beside the kernel.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
#include <cstdlib>
__host__ int before = system("touch /tmp/was_here");

int main()
{
	return before;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
