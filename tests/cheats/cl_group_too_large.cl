//# task affine
//# expect launch_error/resources
//# why More work-items than a work-group can have.
//@ kernel candidate grid=(cdiv(n, 1048576)) block=(1048576) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
