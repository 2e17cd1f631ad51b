// repaired: as much shared memory as the row needs
//@ kernel rmsnorm grid=(rows) block=(256) smem=(cols * 4) args=(x, y, cols:i32)
//@ require cols <= 40960
__global__ void rmsnorm(const float *__restrict__ x, float *__restrict__ y, int cols)
{
	extern __shared__ float row[];
	__shared__ float part[8];
	long long at = (long long)blockIdx.x * cols;
	float sum = 0;

#pragma unroll 4
	for (int c = threadIdx.x; c < cols; c += 256) {
		float v = x[at + c];

		row[c] = v;
		sum = fmaf(v, v, sum);
	}
	sum = kw_warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = part[0];
	for (int w = 1; w < 8; w++)
		sum += part[w];
	sum = rsqrtf(sum / cols + 1e-6f);
	for (int c = threadIdx.x; c < cols; c += 256)
		y[at + c] = row[c] * sum;
}
