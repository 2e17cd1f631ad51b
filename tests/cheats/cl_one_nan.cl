//# task affine
//# expect wrong/nan
//# why One NaN among many right values: lost by a maximum that ignores NaN.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = i == n - 7 ? NAN : 2.0f * x[i] + 1.0f;
}
