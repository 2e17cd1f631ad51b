// planted: each store is followed by a fence that waits until the whole device sees it
// expected: membar_stall
//@ kernel relu grid=(n / 4096) block=(256) args=(x, y)
//@ require n % 4096 == 0
__global__ void relu(const float *__restrict__ x, float *__restrict__ y)
{
	long long at = (long long)blockIdx.x * 4096 + threadIdx.x;

#pragma unroll
	for (int k = 0; k < 16; k++) {
		y[at + k * 256] = fmaxf(x[at + k * 256], 0);
		__threadfence();
	}
}
