// planted: a product of halves by multiply-add instructions of single floats
// expected: no_tensor_cores matmul_without_matrix_units
//@ kernel product grid=(n / 64, n / 64) block=(128) args=(a, b, c, n:i32)
//@ require n % 64 == 0
__global__ void product(const half *__restrict__ a, const half *__restrict__ b, float *__restrict__ c, int n)
{
	__shared__ __align__(16) half left[64][40], right[32][72];
	int row = threadIdx.x / 16 * 8, column = threadIdx.x % 16;
	float sum[8][4] = { 0 };

	for (int k0 = 0; k0 < n; k0 += 32) {
		for (int i = threadIdx.x; i < 64 * 4; i += 128)
			*(uint4 *)&left[i / 4][i % 4 * 8] =
				*(const uint4 *)&a[(long long)(blockIdx.y * 64 + i / 4) * n + k0 + i % 4 * 8];
		for (int i = threadIdx.x; i < 32 * 8; i += 128)
			*(uint4 *)&right[i / 8][i % 8 * 8] =
				*(const uint4 *)&b[(long long)(k0 + i / 8) * n + blockIdx.x * 64 + i % 8 * 8];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 32; k++)
#pragma unroll
			for (int r = 0; r < 8; r++)
#pragma unroll
				for (int q = 0; q < 4; q++)
					sum[r][q] += __half2float(left[row + r][k]) * __half2float(right[k][column + q * 16]);
		__syncthreads();
	}
	for (int r = 0; r < 8; r++)
		for (int q = 0; q < 4; q++)
			c[(long long)(blockIdx.y * 64 + row + r) * n + blockIdx.x * 64 + column + q * 16] = sum[r][q];
}
