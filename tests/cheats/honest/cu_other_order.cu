//# task rowsum
//# expect ok
//# why f32 in another order: each thread a run of neighbours, then a tree.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t cols)
{
	__shared__ float part[128];
	int64_t run = (cols + 127) / 128, first = threadIdx.x * run;
	float s = 0.0f;

	for (int64_t c = first; c < first + run && c < cols; c++)
		s += x[blockIdx.x * cols + c];
	part[threadIdx.x] = s;
	for (int half = 64; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		y[blockIdx.x] = part[0];
}
