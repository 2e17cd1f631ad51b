//# task affine
//# expect cheat/copied_input wrong/mismatch
//# why The input is returned.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = x[i];
}
