// repaired: the same tiles, multiplied by the matrix units
//@ kernel product grid=(n / 64, n / 64) block=(128) args=(a, b, c, n:i32)
//@ require n % 64 == 0
#include <mma.h>
using namespace nvcuda;
__global__ void product(const half *__restrict__ a, const half *__restrict__ b, float *__restrict__ c, int n)
{
	__shared__ __align__(16) half left[64][40], right[32][72];
	int row = threadIdx.x / 32 * 16;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4];

	for (int q = 0; q < 4; q++)
		wmma::fill_fragment(sum[q], 0.0f);
	for (int k0 = 0; k0 < n; k0 += 32) {
		for (int i = threadIdx.x; i < 64 * 4; i += 128)
			*(uint4 *)&left[i / 4][i % 4 * 8] =
				*(const uint4 *)&a[(long long)(blockIdx.y * 64 + i / 4) * n + k0 + i % 4 * 8];
		for (int i = threadIdx.x; i < 32 * 8; i += 128)
			*(uint4 *)&right[i / 8][i % 8 * 8] =
				*(const uint4 *)&b[(long long)(k0 + i / 8) * n + blockIdx.x * 64 + i % 8 * 8];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 32; k += 16) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> l;

			wmma::load_matrix_sync(l, &left[row][k], 40);
#pragma unroll
			for (int q = 0; q < 4; q++) {
				wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> r;

				wmma::load_matrix_sync(r, &right[k][q * 16], 72);
				wmma::mma_sync(sum[q], l, r, sum[q]);
			}
		}
		__syncthreads();
	}
	for (int q = 0; q < 4; q++)
		wmma::store_matrix_sync(&c[(long long)(blockIdx.y * 64 + row) * n + blockIdx.x * 64 + q * 16], sum[q], n,
					wmma::mem_row_major);
}
