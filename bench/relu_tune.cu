// ReLU with a space of 20 points, to see how many candidates a second are judged.
//@ tune THREADS in {64, 128, 256, 512, 1024} default 256
//@ tune FLIGHT in {1, 2, 4, 8} default 4
//@ kernel relu grid=(cdiv(rows * cols, THREADS * 4 * FLIGHT)) block=(THREADS) args=(x, y, rows * cols:i64)
__device__ float4 relu4(float4 v)
{
	return make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
}

__global__ void relu(const float *__restrict__ x, float *__restrict__ y, long long n)
{
	long long i = (long long)blockIdx.x * (THREADS * 4LL * FLIGHT) + threadIdx.x * 4;
	float4 v[FLIGHT];

	if ((long long)blockIdx.x * (THREADS * 4LL * FLIGHT) + (THREADS * 4LL * FLIGHT) <= n) {
#pragma unroll
		for (int k = 0; k < FLIGHT; k++)
			v[k] = *(const float4 *)(x + i + k * THREADS * 4);
#pragma unroll
		for (int k = 0; k < FLIGHT; k++)
			*(float4 *)(y + i + k * THREADS * 4) = relu4(v[k]);
		return;
	}
	for (long long j = (long long)blockIdx.x * (THREADS * 4LL * FLIGHT) + threadIdx.x; j < n; j += THREADS)
		y[j] = fmaxf(x[j], 0);
}
