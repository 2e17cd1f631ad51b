//# task affine
//# expect build_error/type
//# why The plan passes one argument less than the kernel takes.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
