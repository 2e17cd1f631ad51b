//# task rowsum
//# expect wrong/race wrong/mismatch wrong/nan cheat/stale_output cheat/state
//# why The second kernel may begin early and reads what the first one writes without waiting for it.
//# needs sm_90
//@ kernel parts grid=(rows) block=(64) args=(x, part, cols:i64)
//@ kernel candidate grid=(cdiv(rows, 128)) block=(128) pdl args=(part, y, rows:i64)
//@ workspace part f32[rows, 2] zero
//@ require sm >= 90
extern "C" __global__ void parts(const float *x, float *part, int64_t cols)
{
	float s = 0.0f;

	asm volatile("griddepcontrol.launch_dependents;");
	for (int64_t c = threadIdx.x; c < cols; c += 64)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	__nanosleep(20000);
	if (threadIdx.x % 32 == 0)
		part[blockIdx.x * 2 + threadIdx.x / 32] = s;
}

extern "C" __global__ void candidate(const volatile float *part, float *y, int64_t rows)
{
	int64_t r = blockIdx.x * 128ll + threadIdx.x;

	if (r < rows)
		y[r] = part[2 * r] + part[2 * r + 1];
}
