//# task affine
//# expect wrong/input_modified
//# why The constness of an input is cast away, and it is put to zero when it has been read.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i >= n)
		return;
	y[i] = 2.0f * x[i] + 1.0f;
	((float *)x)[i] = 0.0f;
}
