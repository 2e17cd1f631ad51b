// repaired: shuffles within the warps, and one barrier for the sums of the warps
//@ kernel scan grid=(rows) block=(1024) args=(x, y)
//@ require cols == 1024
__global__ void scan(const float *__restrict__ x, float *__restrict__ y)
{
	__shared__ float part[32];
	int t = threadIdx.x, lane = t % 32, warp = t / 32;
	float sum = x[(long long)blockIdx.x * 1024 + t], before;

#pragma unroll
	for (int step = 1; step < 32; step *= 2) {
		float other = __shfl_up_sync(0xffffffffu, sum, step);

		if (lane >= step)
			sum += other;
	}
	if (lane == 31)
		part[warp] = sum;
	__syncthreads();
	before = kw_warp_sum(lane < warp ? part[lane] : 0);
	y[(long long)blockIdx.x * 1024 + t] = sum + before;
}
