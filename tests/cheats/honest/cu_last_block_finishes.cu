//# task rowsum
//# expect ok
//# why Blocks count themselves in scratch memory; the last one of a row adds up what the others left.
//@ kernel candidate grid=(rows, 4) block=(32) args=(x, y, part, count, cols:i64)
//@ workspace part f32[rows, 4]
//@ workspace count i32[rows] zero
extern "C" __global__ void candidate(const float *x, float *y, volatile float *part, int *count, int64_t cols)
{
	float s = 0.0f;

	for (int64_t c = blockIdx.y * 32 + threadIdx.x; c < cols; c += 128)
		s += x[blockIdx.x * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x != 0)
		return;
	part[blockIdx.x * 4 + blockIdx.y] = s;
	__threadfence();
	if (atomicAdd(&count[blockIdx.x], 1) == 3) {
		__threadfence();
		y[blockIdx.x] = part[blockIdx.x * 4] + part[blockIdx.x * 4 + 1] + part[blockIdx.x * 4 + 2] + part[blockIdx.x * 4 + 3];
	}
}
