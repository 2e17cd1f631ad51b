//# task rowsum
//# expect ok
//# why Parts of rows by one kernel, their sums by another, with scratch memory between them.
//# effort final
//@ kernel parts grid=(rows, PARTS) block=(128) args=(x, part, cols:i64)
//@ kernel candidate grid=(cdiv(rows, 128)) block=(128) args=(part, y, rows:i64)
//@ workspace part f32[rows, PARTS]
//@ tune PARTS in {2, 4, 8} default 4
extern "C" __global__ void parts(const float *x, float *part, int64_t cols)
{
	__shared__ float warp[4];
	float s = 0.0f;

	for (int64_t c = blockIdx.y * 128 + threadIdx.x; c < cols; c += PARTS * 128)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		warp[threadIdx.x / 32] = s;
	__syncthreads();
	if (threadIdx.x == 0)
		part[blockIdx.x * PARTS + blockIdx.y] = warp[0] + warp[1] + warp[2] + warp[3];
}

extern "C" __global__ void candidate(const float *part, float *y, int64_t rows)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;
	float s = 0.0f;

	for (int k = 0; r < rows && k < PARTS; k++)
		s += part[r * PARTS + k];
	if (r < rows)
		y[r] = s;
}
