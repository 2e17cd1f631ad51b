//# task rowsum
//# expect wrong/input_modified
//# why The sums are added up in the input itself, by atomics.
//@ kernel add grid=(rows) block=(128) args=(x, cols:i64)
//@ kernel candidate grid=(cdiv(rows, 128)) block=(128) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void add(const float *x, int64_t cols)
{
	float *first = (float *)x + blockIdx.x * cols;

	for (int64_t c = threadIdx.x; c < cols; c += 128)
		if (c > 0)
			atomicAdd(first, first[c]);
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;

	if (r < rows)
		y[r] = x[r * cols];
}
