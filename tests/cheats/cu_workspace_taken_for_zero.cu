//# task rowsum
//# expect wrong/nan
//# why Sums are added up in scratch memory that was never asked to be zero; afterwards it is put back to
//# why zero, so that later calls look right.
//@ kernel add grid=(rows, 4) block=(32) args=(x, part, cols:i64)
//@ kernel candidate grid=(cdiv(rows, 128)) block=(128) args=(part, y, rows:i64)
//@ workspace part f32[rows]
extern "C" __global__ void add(const float *x, float *part, int64_t cols)
{
	float s = 0.0f;

	for (int64_t c = blockIdx.y * 32 + threadIdx.x; c < cols; c += 128)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x == 0)
		atomicAdd(&part[blockIdx.x], s);
}

extern "C" __global__ void candidate(float *part, float *y, int64_t rows)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;

	if (r < rows) {
		y[r] = part[r];
		part[r] = 0.0f;
	}
}
