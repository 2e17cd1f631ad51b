//# task affine
//# expect runtime_error/illegal_access
//# why A write to a null pointer.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);
	__global float *nowhere = (__global float *)(n < 0 ? 16ul : 0ul);

	if (i < n) {
		y[i] = 2.0f * x[i] + 1.0f;
		((volatile __global float *)nowhere)[i] = 1.0f;
	}
}
