//# task affine
//# expect build_error/include build_error/undefined build_error/syntax build_error/type
//# why Host code and its headers have no place in a candidate.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
#include <CL/cl.h>
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}

int main(void)
{
	return clFinish(0);
}
