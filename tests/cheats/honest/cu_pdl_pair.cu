//# task rowsum
//# expect ok
//# why The second kernel begins before the first one ends, and waits for it before it reads.
//# needs sm_90
//# flag needs a person
//@ kernel parts grid=(rows) block=(64) args=(x, part, cols:i64)
//@ kernel candidate grid=(cdiv(rows, 128)) block=(128) pdl args=(part, y, rows:i64)
//@ workspace part f32[rows, 2]
//@ require sm >= 90
extern "C" __global__ void parts(const float *x, float *part, int64_t cols)
{
	float s = 0.0f;

	asm volatile("griddepcontrol.launch_dependents;");
	for (int64_t c = threadIdx.x; c < cols; c += 64)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		part[blockIdx.x * 2 + threadIdx.x / 32] = s;
}

extern "C" __global__ void candidate(const float *part, float *y, int64_t rows)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;

	asm volatile("griddepcontrol.wait;" ::: "memory");
	if (r < rows)
		y[r] = part[2 * r] + part[2 * r + 1];
}
