//# task affine
//# expect wrong/unwritten wrong/nan
//# why It writes back the bits that it found in the output, which look like a NaN and were put there to find
//# why just this.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);
	volatile __global uint *bits = (volatile __global uint *)y;

	if (i < n)
		bits[i] = bits[i];
}
