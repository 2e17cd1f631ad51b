//# task affine
//# expect runtime_error/timeout
//# why A condition that never becomes false.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	volatile __global float *p = y;
	long i = get_global_id(0);

	if (i < n)
		p[i] = 0.0f;
	while (n > 0)
		p[0] = p[0] * 0.5f + 1.0f;
}
