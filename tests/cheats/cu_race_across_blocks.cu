//# task rowsum
//# expect wrong/race
//# why Several blocks add to the same element without atomics; which additions are lost changes from run to
//# why run.
//@ kernel clear grid=(cdiv(rows, 128)) block=(128) args=(y, rows:i64)
//@ kernel candidate grid=(rows, 8) block=(32) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void clear(float *y, int64_t rows)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;

	if (r < rows)
		y[r] = 0.0f;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	volatile float *sum = y + blockIdx.x;
	float s = 0.0f;

	for (int64_t c = blockIdx.y * 32 + threadIdx.x; c < cols; c += 256)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x == 0) {
		float before = *sum;

		__nanosleep((unsigned)clock64() % 512);
		*sum = before + s;
	}
}
