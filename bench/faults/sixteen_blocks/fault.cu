// planted: 16 blocks, whatever the size of the problem and of the device
// expected: grid_too_small
//@ kernel relu grid=(16) block=(1024) args=(x, y, n:i32)
//@ require n % 4096 == 0
__global__ void relu(const float *__restrict__ x, float *__restrict__ y, int n)
{
	for (int i = blockIdx.x * 4096 + threadIdx.x; i < n; i += gridDim.x * 4096) {
		float v[4];

#pragma unroll
		for (int k = 0; k < 4; k++)
			v[k] = x[i + k * 1024];
#pragma unroll
		for (int k = 0; k < 4; k++)
			y[i + k * 1024] = fmaxf(v[k], 0);
	}
}
