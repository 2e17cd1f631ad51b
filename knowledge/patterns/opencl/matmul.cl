//@ pattern matmul family=matmul backend=opencl
//@ title Tiled, register-blocked matrix product in f32 (or f64), the epilogue in the tile
//@ why A work-group's tiles of A and B lie in local memory, where each value is read by a whole row or column of work-items.
//@ why A work-item keeps SIDE x SIDE sums in registers: each value that it reads feeds SIDE multiply-adds.
//@ why Tiles are stored so that a step reads both along neighbouring work-items, whatever way the operands lie in memory.
//@ why Work on the operands happens once, on the way into the tile; work on the result happens before it leaves the registers.
//@ roles a=input b=input y=output
//< plan
//@ kernel matmul grid=(cdiv(m, TILE_M) * cdiv(n, TILE_N) * batches) block=(THREADS) args=(a, b, y, batches:i64, m:i64, n:i64, k:i64)
//@ define A_ALONG_K = 1
//@ define B_ALONG_K = 0
//@ define THREADS = TILE_M * TILE_N / (SIDE * SIDE)
//@ where TILE_M * TILE_N >= 16 * SIDE * SIDE && TILE_M * TILE_N <= 256 * SIDE * SIDE
//@ where TILE_M * DEPTH * SIDE * SIDE % (TILE_M * TILE_N) == 0 && TILE_N * DEPTH * SIDE * SIDE % (TILE_M * TILE_N) == 0
//>
//@ tune TILE_M in {32, 64} default 64
//@ tune TILE_N in {32, 64} default 64
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
/* A work-item's columns of the tile stand side by side, its rows too: a step of a CPU reads both as vectors. */
#define ROW(r) (me / (TILE_N / SIDE) * SIDE + (r))
#define COL(c) (me % (TILE_N / SIDE) * SIDE + (c))

//< signature
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
	matmul(__global const float *restrict a, __global const float *restrict b, __global float *restrict y, int64_t batches,
	       int64_t m, int64_t n, int64_t k)
//>
{
	__local real a_tile[DEPTH][TILE_M], b_tile[DEPTH][TILE_N];
	const int64_t tiles_m = KW_CDIV(m, TILE_M), tiles_n = KW_CDIV(n, TILE_N), task = get_group_id(0);
	const int64_t i0 = task / tiles_n % tiles_m * TILE_M, j0 = task % tiles_n * TILE_N;
	const int me = get_local_id(0);
	real sums[SIDE][SIDE];
	//< batch
	const int64_t batch = task / (tiles_m * tiles_n);
	//>

#pragma unroll
	for (int r = 0; r < SIDE; r++)
#pragma unroll
		for (int c = 0; c < SIDE; c++)
			sums[r][c] = 0;
	for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
		real a_next[A_SHARE], b_next[B_SHARE];

		/* a_tile (DEPTH, TILE_M) and b_tile (DEPTH, TILE_N) of the step at k0; zero beyond the matrix. */
#pragma unroll
		for (int e = 0; e < A_SHARE; e++) {
			const int at = e * THREADS + me;
			const int64_t i = i0 + (A_ALONG_K ? at / DEPTH : at % TILE_M);
			const int64_t p = k0 + (A_ALONG_K ? at % DEPTH : at / TILE_M);

			a_next[e] = 0;
			if (i < m && p < k) {
				//< load_a
				a_next[e] = a[(batch * m + i) * k + p];
				//>
			}
			a_tile[A_ALONG_K ? at % DEPTH : at / TILE_M][A_ALONG_K ? at / DEPTH : at % TILE_M] = a_next[e];
		}
#pragma unroll
		for (int e = 0; e < B_SHARE; e++) {
			const int at = e * THREADS + me;
			const int64_t j = j0 + (B_ALONG_K ? at / DEPTH : at % TILE_N);
			const int64_t p = k0 + (B_ALONG_K ? at % DEPTH : at / TILE_N);

			b_next[e] = 0;
			if (j < n && p < k) {
				//< load_b
				b_next[e] = b[(batch * k + p) * n + j];
				//>
			}
			b_tile[B_ALONG_K ? at % DEPTH : at / TILE_N][B_ALONG_K ? at / DEPTH : at % TILE_N] = b_next[e];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int q = 0; q < DEPTH; q++) {
			real a_part[SIDE], b_part[SIDE];

#pragma unroll
			for (int r = 0; r < SIDE; r++)
				a_part[r] = a_tile[q][ROW(r)];
#pragma unroll
			for (int c = 0; c < SIDE; c++)
				b_part[c] = b_tile[q][COL(c)];
#pragma unroll
			for (int r = 0; r < SIDE; r++)
#pragma unroll
				for (int c = 0; c < SIDE; c++)
					sums[r][c] += a_part[r] * b_part[c];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
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
