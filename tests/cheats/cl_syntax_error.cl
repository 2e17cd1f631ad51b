//# task affine
//# expect build_error/syntax
//# why A bracket is missing.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n
		y[i] = 2.0f * x[i] + 1.0f;
}
