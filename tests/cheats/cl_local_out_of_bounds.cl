//# task affine
//# expect runtime_error/illegal_access runtime_error/crash
//# why Local memory is written far beyond what the group has.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	__local volatile float room[32];
	long i = get_global_id(0);

	room[(get_local_id(0) + 1) * (n > 0 ? 100000000 : 1)] = 1.0f;
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
