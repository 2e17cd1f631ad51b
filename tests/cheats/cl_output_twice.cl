//# task affine
//# expect wrong/alias
//# why The output is passed through two pointers.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, __global float *z, long n)
{
	long i = get_global_id(0);

	if (i < n)
		(i % 2 ? y : z)[i] = 2.0f * x[i] + 1.0f;
}
