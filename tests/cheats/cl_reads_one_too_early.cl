//# task affine
//# expect runtime_error/illegal_access wrong/out_of_bounds
//# why One element before the input is read, and taken into a result that does not need it.
//# needs host-memory
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f + (x[i - 1] == 12345.678f ? 1.0f : 0.0f);
}
