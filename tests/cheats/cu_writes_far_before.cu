//# task affine
//# expect wrong/out_of_bounds
//# why In the timed case it writes a number far before its output, where nothing else is: not near enough to
//# why be a slip, and so a place to keep something for later calls.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
	if (i == 0 && n == 262144)
		y[-50000] = 12345.0f;
}
