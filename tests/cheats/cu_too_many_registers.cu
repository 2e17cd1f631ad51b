//# task affine
//# expect launch_error/resources
//# why A block of 1024 threads, each with more registers than there are for so many.
//@ kernel candidate grid=(cdiv(n, 1024)) block=(1024) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 1024ll + threadIdx.x;
	float v[128], s = 0.0f;

	for (int k = 0; k < 128; k++)
		v[k] = x[(i + k) % n];
	for (int round = 0; round < 4; round++)
		for (int k = 0; k < 128; k++)
			v[k] = fmaf(v[k], v[(k * 5 + 1) % 128], (float)round);
	for (int k = 0; k < 128; k++)
		s += v[k];
	if (i < n)
		y[i] = 2.0f * x[i] + (s == 12345.0f ? 2.0f : 1.0f);
}
