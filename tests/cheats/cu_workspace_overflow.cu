//# task rowsum
//# expect wrong/out_of_bounds runtime_error/illegal_access
//# why It asks for less scratch memory than it writes.
//@ kernel parts grid=(rows) block=(64) args=(x, part, cols:i64)
//@ kernel candidate grid=(cdiv(rows, 128)) block=(128) args=(part, y, rows:i64)
//@ workspace part f32[rows]
extern "C" __global__ void parts(const float *x, float *part, int64_t cols)
{
	float s = 0.0f;

	for (int64_t c = threadIdx.x; c < cols; c += 64)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		part[blockIdx.x * 2 + threadIdx.x / 32] = s;
}

extern "C" __global__ void candidate(const float *part, float *y, int64_t rows)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;

	if (r < rows)
		y[r] = part[2 * r] + part[2 * r + 1];
}
