//# task affine
//# expect launch_error/configuration
//# why More work-items than a launch can be told of: their product with the group would be another number.
//@ kernel candidate grid=(cdiv(n, 64) + 9000000000000000000) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
