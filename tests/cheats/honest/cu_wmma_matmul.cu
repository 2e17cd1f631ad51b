//# task matmul_bf16
//# expect ok
//# why Tensor cores by the portable interface; products of bf16 are added up in f32.
//@ kernel candidate grid=(n / 16, m / 16) block=(32) args=(a, b, c, n:i32, k:i32)
//@ require m % 16 == 0 && n % 16 == 0 && k % 16 == 0
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void candidate(const kw_bf16 *a, const kw_bf16 *b, kw_bf16 *c, int n, int k)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, kw_bf16, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, kw_bf16, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
	__shared__ float tile[256];
	int64_t i = blockIdx.y * 16, j = blockIdx.x * 16;

	wmma::fill_fragment(sum, 0.0f);
	for (int p = 0; p < k; p += 16) {
		wmma::load_matrix_sync(fa, a + i * k + p, k);
		wmma::load_matrix_sync(fb, b + (int64_t)p * n + j, n);
		wmma::mma_sync(sum, fa, fb, sum);
	}
	wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
	__syncwarp();
	for (int e = threadIdx.x; e < 256; e += 32)
		c[(i + e / 16) * n + j + e % 16] = kw_bf16_from_f32(tile[e]);
}
