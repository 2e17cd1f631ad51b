//# task affine
//# expect wrong/unwritten wrong/nan
//# why It writes back the bits that it found in the output, which look like a NaN and were put there to find
//# why just this.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	volatile unsigned *bits = (volatile unsigned *)y;

	if (i < n)
		bits[i] = bits[i];
}
