//@ pattern matmul_tensor family=matmul backend=cuda
//@ title Matrix product of f16 or bf16 on tensor cores, sums in f32, tiles in STAGES buffers
//@ why A warp's 16 x 16 x 16 products run on tensor cores: sixteen times the rate of f32 multiply-adds, and their sums are f32.
//@ why A warp owns several fragments side by side, so each fragment that it reads from shared memory feeds several products.
//@ why Tiles are copied to shared memory past the registers, STAGES - 1 steps ahead: the copies hide behind the products.
//@ why Rows of a tile are 8 elements longer than they are used, so that the rows of a fragment fall into different banks.
//@ why Operands keep the order that they have in memory; the fragments are told which way they lie.
//@ why A fragment leaves through shared memory, so that work on the result sees plain rows and columns.
//@ roles a=input b=input y=output
//< plan
//@ kernel matmul_tensor grid=(cdiv(m, TILE_M) * cdiv(n, TILE_N) * batches) block=(THREADS) smem=(max(STAGES * (A_ROWS * A_PITCH + B_ROWS * B_PITCH) * 2, WARPS * 1280)) args=(a, b, y, batches:i64, m:i64, n:i64, k:i64)
//@ define A_ALONG_K = 1
//@ define B_ALONG_K = 0
//@ define A_VEC = k % 8 == 0 && a.align >= 16 ? 8 : 1
//@ define B_VEC = n % 8 == 0 && b.align >= 16 ? 8 : 1
//@ define THREADS = WARPS * 32
//@ define A_ROWS = A_ALONG_K ? TILE_M : DEPTH
//@ define A_PITCH = (A_ALONG_K ? DEPTH : TILE_M) + 8
//@ define B_ROWS = B_ALONG_K ? TILE_N : DEPTH
//@ define B_PITCH = (B_ALONG_K ? DEPTH : TILE_N) + 8
//@ require sm >= 80
//@ where TILE_M * TILE_N >= 1024 * WARPS
//>
//@ tune TILE_M in {64, 128} default 64
//@ tune TILE_N in {64, 128} default 64
//@ tune DEPTH in {32, 64} default 32
//@ tune STAGES in {2, 3, 4} default 3
//@ tune WARPS in {4, 8} default 4
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 64
#define DEPTH 32
#define STAGES 3
#define WARPS 4
#define THREADS (WARPS * 32)
#define A_ALONG_K 1
#define B_ALONG_K 0
#define A_VEC 8
#define B_VEC 8
#define A_ROWS TILE_M
#define A_PITCH (DEPTH + 8)
#define B_ROWS DEPTH
#define B_PITCH (TILE_N + 8)
#endif
#include <mma.h>

//< types
typedef kw_bf16 element;
//>
/* Warps stand in 2 rows; each owns WARP_M x WARP_N of the tile. */
#define WARP_M (TILE_M / 2)
#define WARP_N (TILE_N * 2 / WARPS)
#define FRAGS_M (WARP_M / 16)
#define FRAGS_N (WARP_N / 16)

/* N neighbours to shared memory: past the registers where they are 16 bytes. Zeros where there is nothing. */
template <int N> __device__ void copy(element *to, const element *from, bool there)
{
	if (N == 8) {
		const unsigned at = (unsigned)__cvta_generic_to_shared(to);
		const int bytes = there ? 16 : 0;

		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
	} else {
		alignas(16) element part[N];

		for (int i = 0; i < N; i++)
			part[i] = element(0.0f);
		if (there)
			kw_load_vec(part, from);
		kw_store_vec(to, part);
	}
}

//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	matmul_tensor(const kw_bf16 *__restrict__ a, const kw_bf16 *__restrict__ b, float *__restrict__ y, int64_t batches,
		      int64_t m, int64_t n, int64_t k)
//>
{
	using namespace nvcuda;
	typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum_frag;
#if A_ALONG_K
	typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, element, wmma::row_major> a_frag;
#else
	typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, element, wmma::col_major> a_frag;
#endif
#if B_ALONG_K
	typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, element, wmma::col_major> b_frag;
#else
	typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, element, wmma::row_major> b_frag;
#endif
	extern __shared__ __align__(128) char shared[];
	element(*a_tile)[A_ROWS][A_PITCH] = (element(*)[A_ROWS][A_PITCH])shared;
	element(*b_tile)[B_ROWS][B_PITCH] = (element(*)[B_ROWS][B_PITCH])(shared + STAGES * A_ROWS * A_PITCH * 2);
	const int64_t tiles_m = KW_CDIV(m, TILE_M), tiles_n = KW_CDIV(n, TILE_N), task = blockIdx.x;
	const int64_t i0 = task / tiles_n % tiles_m * TILE_M, j0 = task % tiles_n * TILE_N;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const int row0 = warp % 2 * WARP_M, col0 = warp / 2 * WARP_N;
	const int64_t steps = KW_CDIV(k, DEPTH);
	sum_frag sums[FRAGS_M][FRAGS_N];
	//< batch
	const int64_t batch = task / (tiles_m * tiles_n);
	//>

#pragma unroll
	for (int r = 0; r < FRAGS_M; r++)
#pragma unroll
		for (int c = 0; c < FRAGS_N; c++)
			wmma::fill_fragment(sums[r][c], 0.0f);

	/* Step s is multiplied while step s + STAGES - 1 is on its way. */
	for (int64_t s = 1 - STAGES; s < steps; s++) {
		const int64_t ahead = s + STAGES - 1, k0 = ahead * DEPTH;

		if (ahead < steps) {
			const int stage = ahead % STAGES;

#pragma unroll
			for (int at = threadIdx.x * A_VEC; at < TILE_M * DEPTH; at += THREADS * A_VEC) {
				const int row = at / (A_PITCH - 8), col = at % (A_PITCH - 8);
				const int64_t i = i0 + (A_ALONG_K ? row : col), p = k0 + (A_ALONG_K ? col : row);
				const bool there = i < m && p < k;
				const element *from = a;

				if (there) {
					//< copy_a
					from = &a[(batch * m + i) * k + p];
					//>
				}
				copy<A_VEC>(&a_tile[stage][row][col], from, there);
			}
#pragma unroll
			for (int at = threadIdx.x * B_VEC; at < TILE_N * DEPTH; at += THREADS * B_VEC) {
				const int row = at / (B_PITCH - 8), col = at % (B_PITCH - 8);
				const int64_t j = j0 + (B_ALONG_K ? row : col), p = k0 + (B_ALONG_K ? col : row);
				const bool there = j < n && p < k;
				const element *from = b;

				if (there) {
					//< copy_b
					from = &b[(batch * k + p) * n + j];
					//>
				}
				copy<B_VEC>(&b_tile[stage][row][col], from, there);
			}
		}
		/* One group a step, an empty one too, so that counting groups counts steps. */
		asm volatile("cp.async.commit_group;" ::: "memory");
		if (s < 0)
			continue;
		asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
		__syncthreads();
#pragma unroll
		for (int q = 0; q < DEPTH; q += 16) {
			a_frag a_part[FRAGS_M];
			b_frag b_part[FRAGS_N];
			const int stage = s % STAGES;

#pragma unroll
			for (int r = 0; r < FRAGS_M; r++) {
				const int i = row0 + r * 16;

				wmma::load_matrix_sync(a_part[r], &a_tile[stage][A_ALONG_K ? i : q][A_ALONG_K ? q : i], A_PITCH);
			}
#pragma unroll
			for (int c = 0; c < FRAGS_N; c++) {
				const int j = col0 + c * 16;

				wmma::load_matrix_sync(b_part[c], &b_tile[stage][B_ALONG_K ? j : q][B_ALONG_K ? q : j], B_PITCH);
			}
#pragma unroll
			for (int r = 0; r < FRAGS_M; r++)
#pragma unroll
				for (int c = 0; c < FRAGS_N; c++)
					wmma::mma_sync(sums[r][c], a_part[r], b_part[c], sums[r][c]);
		}
		__syncthreads(); /* the next step's copies overwrite what was read here */
	}
	__syncthreads();
	/* 16 rows of 20: 4 more, so that rows fall into different banks. */
	float *out = (float *)shared + warp * (16 * 20);

#pragma unroll
	for (int r = 0; r < FRAGS_M; r++) {
#pragma unroll
		for (int c = 0; c < FRAGS_N; c++) {
			__syncwarp();
			wmma::store_matrix_sync(out, sums[r][c], 20, wmma::mem_row_major);
			__syncwarp();
#pragma unroll
			for (int e = 0; e < 8; e++) {
				const int row = e * 2 + lane / 16, col = lane % 16;
				const int64_t i = i0 + row0 + r * 16 + row, j = j0 + col0 + c * 16 + col;
				const float sum = out[row * 20 + col];

				if (i < m && j < n) {
					//< body
					y[(batch * m + i) * n + j] = sum;
					//>
				}
			}
		}
	}
}
