//# task affine
//# expect launch_error/entry
//# why The plan names a kernel that the program does not have.
//@ kernel main_kernel grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
