// ReLU: a thread has four vectors of 16 bytes in flight; what is left of a block goes element by element.
//@ kernel relu grid=(cdiv(rows * cols, 4096)) block=(256) args=(x, y, rows * cols:i64)
__device__ float4 relu4(float4 v)
{
	return make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
}

__global__ void relu(const float *__restrict__ x, float *__restrict__ y, long long n)
{
	long long i = (long long)blockIdx.x * 4096 + threadIdx.x * 4;
	float4 v[4];

	if ((long long)blockIdx.x * 4096 + 4096 <= n) {
#pragma unroll
		for (int k = 0; k < 4; k++)
			v[k] = *(const float4 *)(x + i + k * 1024);
#pragma unroll
		for (int k = 0; k < 4; k++)
			*(float4 *)(y + i + k * 1024) = relu4(v[k]);
		return;
	}
	for (long long j = (long long)blockIdx.x * 4096 + threadIdx.x; j < n; j += 256)
		y[j] = fmaxf(x[j], 0);
}
