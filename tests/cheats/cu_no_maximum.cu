//# task softmax
//# expect wrong/nan
//# why No maximum is taken off: right for small numbers only.
//@ kernel candidate grid=(cdiv(rows, 64)) block=(64) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 64ll + threadIdx.x;
	float s = 0.0f;

	for (int64_t c = 0; r < rows && c < cols; c++)
		s += expf(x[r * cols + c]);
	for (int64_t c = 0; r < rows && c < cols; c++)
		y[r * cols + c] = expf(x[r * cols + c]) / s;
}
