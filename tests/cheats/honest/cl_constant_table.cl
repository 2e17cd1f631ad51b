//# task affine
//# expect ok
//# why Numbers in __constant memory.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__constant float factors[2] = { 2.0f, 1.0f };
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = factors[0] * x[i] + factors[1];
}
