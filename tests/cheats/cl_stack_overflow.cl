//# task affine
//# expect runtime_error/crash runtime_error/illegal_access build_error/resources build_error/type launch_error/resources
//# why Private arrays that no stack holds.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	volatile float big[1 << 22];
	long i = get_global_id(0);

	for (int k = 0; k < 1 << 22; k += 512)
		big[k] = (float)k;
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f + 0.0f * big[(i & 7) * 512];
}
