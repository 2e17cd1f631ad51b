//# task affine
//# expect wrong/unwritten
//# why The grid is rounded down: the ragged end is never written.
//@ kernel candidate grid=(n / 64) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	y[i] = 2.0f * x[i] + 1.0f;
}
