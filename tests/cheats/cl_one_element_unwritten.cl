//# task affine
//# expect wrong/unwritten
//# why All but one element in the middle are right.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n && i != n / 2)
		y[i] = 2.0f * x[i] + 1.0f;
}
