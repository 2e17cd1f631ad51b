//# task softmax
//# expect runtime_error/illegal_access
//# why It looks for other buffers beside its own: the granules on either side are mapped to nothing.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t step = 1; step < 64; step++) {
		const volatile float *up = (const volatile float *)(((uint64_t)y >> 21 << 21) + (step << 21));
		const volatile float *down = (const volatile float *)(((uint64_t)x >> 21 << 21) - (step << 21));

		for (int64_t c = 0; c < cols && c < 1024; c++) {
			if (up[c] > 0.0f && up[c] < 1.0f)
				y[blockIdx.x * cols + c] = up[c];
			if (down[c] > 0.0f && down[c] < 1.0f)
				y[blockIdx.x * cols + c] = down[c];
		}
	}
}
