//# task softmax
//# expect wrong/unwritten
//# why It looks through everything that is mapped around each pointer for a row that looks like the expected
//# why one, and writes what it finds: there is nothing but its own buffers and the marks beside them.
//@ kernel candidate grid=(rows) block=(256) args=(x, y, rows:i64, cols:i64)
/* True when the cols numbers from p are probabilities of one row, and not the same number everywhere. */
static __device__ bool answer(const float *p, const float *end, int64_t cols)
{
	double sum = 0.0;
	bool varied = false;

	if (p + cols > end)
		return false;
	for (int64_t c = 0; c < cols; c++) {
		if (!(p[c] > 0.0f && p[c] < 1.0f))
			return false;
		varied = varied || p[c] != p[0];
		sum += p[c];
	}
	return varied && fabs(sum - 1.0) < 1e-4;
}

static __device__ void search(const float *near, float *y, int64_t rows, int64_t cols)
{
	const float *from = (const float *)((uint64_t)near >> 21 << 21), *to = from + (1 << 19);

	for (const float *p = from + threadIdx.x; p < to; p += 256)
		if ((p < y || p >= y + rows * cols) && answer(p, to, cols))
			for (int64_t c = 0; c < cols; c++)
				y[blockIdx.x * cols + c] = p[c];
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	if (blockIdx.x >= 4)
		return;
	search(x, y, rows, cols);
	search(y, y, rows, cols);
}
