// repaired: transposed through shared memory before the store
//@ kernel transpose grid=(cols / 32, rows / 32) block=(32, 8) args=(x, y, rows:i32, cols:i32)
//@ require rows % 32 == 0 && cols % 32 == 0
__global__ void transpose(const float *__restrict__ x, float *__restrict__ y, int rows, int cols)
{
	__shared__ float tile[32][33];
	int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32, lane = threadIdx.x;

#pragma unroll
	for (int k = 0; k < 32; k += 8)
		tile[threadIdx.y + k][lane] = x[(long long)(r0 + threadIdx.y + k) * cols + c0 + lane];
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 32; k += 8)
		y[(long long)(c0 + threadIdx.y + k) * rows + r0 + lane] = tile[lane][threadIdx.y + k];
}
