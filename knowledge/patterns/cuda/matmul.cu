//@ pattern matmul family=matmul backend=cuda
//@ title Tiled, register-blocked matrix product in f32 (or f64), the epilogue in the tile
//@ why A block's tiles of A and B lie in shared memory, where each value is read by a whole row or column of threads.
//@ why A thread keeps SIDE x SIDE sums in registers: each value that it reads feeds SIDE multiply-adds.
//@ why The next tiles are on their way to registers while this step computes; two buffers make one barrier a step enough.
//@ why Tiles are stored so that a step reads both along neighbouring threads, whatever way the operands lie in memory.
//@ why Work on the operands happens once, on the way into the tile; work on the result happens before it leaves the registers.
//@ roles a=input b=input y=output
//< plan
//@ kernel matmul grid=(cdiv(m, TILE_M) * cdiv(n, TILE_N) * batches) block=(THREADS) args=(a, b, y, batches:i64, m:i64, n:i64, k:i64)
//@ define A_ALONG_K = 1
//@ define B_ALONG_K = 0
//@ define THREADS = TILE_M * TILE_N / (SIDE * SIDE)
//@ where TILE_M * TILE_N >= 64 * SIDE * SIDE && TILE_M * TILE_N <= 512 * SIDE * SIDE
//@ where TILE_M * DEPTH * SIDE * SIDE % (TILE_M * TILE_N) == 0 && TILE_N * DEPTH * SIDE * SIDE % (TILE_M * TILE_N) == 0
//>
//@ tune TILE_M in {32, 64, 128} default 64
//@ tune TILE_N in {32, 64, 128} default 64
//@ tune SIDE in {4, 8} default 4
//@ tune DEPTH in {8, 16} default 16
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 64
#define SIDE 4
#define DEPTH 16
#define THREADS 256
#define A_ALONG_K 1
#define B_ALONG_K 0
#endif
//< types
typedef float real;
//>
#define A_SHARE (TILE_M * DEPTH / THREADS)
#define B_SHARE (TILE_N * DEPTH / THREADS)
/* A thread's rows and columns of the tile: groups of 4 neighbours, the groups of all threads side by side, so that
 * a warp's reads of a step touch every bank once. */
#define ROW(r) ((r) / 4 * (TILE_M * 4 / SIDE) + threadIdx.x / (TILE_N / SIDE) * 4 + (r) % 4)
#define COL(c) ((c) / 4 * (TILE_N * 4 / SIDE) + threadIdx.x % (TILE_N / SIDE) * 4 + (c) % 4)

//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y, int64_t batches, int64_t m,
	       int64_t n, int64_t k)
//>
{
	/* 4 more a row: what is stored down a column falls into different banks. */
	__shared__ __align__(16) real a_tile[2][DEPTH][TILE_M + 4], b_tile[2][DEPTH][TILE_N + 4];
	const int64_t tiles_m = KW_CDIV(m, TILE_M), tiles_n = KW_CDIV(n, TILE_N), task = blockIdx.x;
	const int64_t i0 = task / tiles_n % tiles_m * TILE_M, j0 = task % tiles_n * TILE_N;
	real sums[SIDE][SIDE] = {}, a_next[A_SHARE], b_next[B_SHARE];
	int buffer = 0;
	//< batch
	const int64_t batch = task / (tiles_m * tiles_n);
	//>

	for (int64_t k0 = 0; k0 < k + DEPTH; k0 += DEPTH) {
		/* a_tile (DEPTH, TILE_M) and b_tile (DEPTH, TILE_N) of the step at k0; zero beyond the matrix. */
		if (k0 < k) {
#pragma unroll
			for (int e = 0; e < A_SHARE; e++) {
				const int at = e * THREADS + threadIdx.x;
				const int64_t i = i0 + (A_ALONG_K ? at / DEPTH : at % TILE_M);
				const int64_t p = k0 + (A_ALONG_K ? at % DEPTH : at / TILE_M);

				a_next[e] = 0;
				if (i < m && p < k) {
					//< load_a
					a_next[e] = a[(batch * m + i) * k + p];
					//>
				}
			}
#pragma unroll
			for (int e = 0; e < B_SHARE; e++) {
				const int at = e * THREADS + threadIdx.x;
				const int64_t j = j0 + (B_ALONG_K ? at / DEPTH : at % TILE_N);
				const int64_t p = k0 + (B_ALONG_K ? at % DEPTH : at / TILE_N);

				b_next[e] = 0;
				if (j < n && p < k) {
					//< load_b
					b_next[e] = b[(batch * k + p) * n + j];
					//>
				}
			}
		}
		/* The step before it computes while those loads are under way. */
		if (k0 > 0) {
#pragma unroll
			for (int q = 0; q < DEPTH; q++) {
				real a_part[SIDE], b_part[SIDE];

#pragma unroll
				for (int r = 0; r < SIDE; r++)
					a_part[r] = a_tile[buffer ^ 1][q][ROW(r)];
#pragma unroll
				for (int c = 0; c < SIDE; c++)
					b_part[c] = b_tile[buffer ^ 1][q][COL(c)];
#pragma unroll
				for (int r = 0; r < SIDE; r++)
#pragma unroll
					for (int c = 0; c < SIDE; c++)
						sums[r][c] += a_part[r] * b_part[c];
			}
		}
		if (k0 >= k)
			break;
#pragma unroll
		for (int e = 0; e < A_SHARE; e++) {
			const int at = e * THREADS + threadIdx.x;

			a_tile[buffer][A_ALONG_K ? at % DEPTH : at / TILE_M][A_ALONG_K ? at / DEPTH : at % TILE_M] = a_next[e];
		}
#pragma unroll
		for (int e = 0; e < B_SHARE; e++) {
			const int at = e * THREADS + threadIdx.x;

			b_tile[buffer][B_ALONG_K ? at % DEPTH : at / TILE_N][B_ALONG_K ? at / DEPTH : at % TILE_N] = b_next[e];
		}
		/* What the next step overwrites was read before this barrier. */
		__syncthreads();
		buffer ^= 1;
	}
#pragma unroll
	for (int r = 0; r < SIDE; r++) {
#pragma unroll
		for (int c = 0; c < SIDE; c++) {
			const int64_t i = i0 + ROW(r), j = j0 + COL(c);
			const real sum = sums[r][c];

			if (i < m && j < n) {
				//< body
				y[(batch * m + i) * n + j] = sum;
				//>
			}
		}
	}
}
