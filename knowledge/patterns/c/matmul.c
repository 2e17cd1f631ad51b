//@ pattern matmul family=matmul backend=c
//@ title Blocked, packed, register-tiled matrix product with the epilogue in the tile
//@ why Blocks of A and B are packed once into the order in which the inner kernel reads them: every load is contiguous and aligned.
//@ why A tile of MR x NR results stays in vector registers for KC steps: each value loaded feeds MR or NR multiply-adds.
//@ why KC, MC and NC are sized so that a panel of A lives in L1 and the blocks of A and B in L2.
//@ why Sums of KC products are added to the tile: shorter chains, so closer to the exact result than one long sum.
//@ why Bias, activation and conversion happen while the finished tile is still in cache; nothing is written twice.
//@ why Transposed operands differ in the packing loop only, which reads along their contiguous axis.
//@ roles a=left b=right y=output
//< plan
//@ kernel matmul args=(a, b, y, packed_a, packed_b, tiles, batches:i64, m:i64, n:i64, k:i64, cores:i32)
//@ workspace packed_a f32[cores, MC * KC]
//@ workspace packed_b f32[cores, KC * NC]
//@ workspace tiles f32[cores, MC * NC]
//>
//@ tune MR in {4, 6} default 6
//@ tune KC in {128, 256, 512} default 256
//@ tune MC in {96, 192, 384} default 192
//@ tune NC in {128, 256} default 128
//@ define VEC_BYTES = simd_bytes >= 64 ? 64 : 32
#ifndef MR
#define MR 6
#define KC 256
#define MC 192
#define NC 128
#define VEC_BYTES 32
#endif
#include <omp.h>

//< types
typedef float real;
//>
typedef real vec __attribute__((vector_size(VEC_BYTES), aligned(sizeof(real))));
#define VL (VEC_BYTES / (int)sizeof(real))
#define NR (2 * VL)

/* tile (MR, NR) += a (steps, MR) x b (steps, NR): MR x 2 vectors of running sums in registers. */
static void inner_kernel(const real *restrict a, const real *restrict b, real *restrict tile, int64_t steps)
{
	vec sum[MR][2];

	for (int i = 0; i < MR; i++) {
		sum[i][0] = *(const vec *)(tile + i * NC);
		sum[i][1] = *(const vec *)(tile + i * NC + VL);
	}
	for (int64_t p = 0; p < steps; p++) {
		const vec b0 = *(const vec *)b, b1 = *(const vec *)(b + VL);

#pragma GCC unroll 6
		for (int i = 0; i < MR; i++) {
			sum[i][0] += a[i] * b0;
			sum[i][1] += a[i] * b1;
		}
		a += MR;
		b += NR;
	}
	for (int i = 0; i < MR; i++) {
		*(vec *)(tile + i * NC) = sum[i][0];
		*(vec *)(tile + i * NC + VL) = sum[i][1];
	}
}

//< signature
void matmul(const float *restrict a, const float *restrict b, float *restrict y, float *restrict packed_a,
	    float *restrict packed_b, float *restrict tiles, int64_t batches, int64_t m, int64_t n, int64_t k, int32_t cores)
//>
{
	const int64_t tiles_m = KW_CDIV(m, MC), tiles_n = KW_CDIV(n, NC);

#pragma omp parallel num_threads(cores)
	{
		real *restrict a_block = packed_a + omp_get_thread_num() * (MC * KC);
		real *restrict b_block = packed_b + omp_get_thread_num() * (KC * NC);
		real *restrict tile = tiles + omp_get_thread_num() * (MC * NC);

#pragma omp for schedule(dynamic)
		for (int64_t task = 0; task < batches * tiles_m * tiles_n; task++) {
			//< batch
			const int64_t batch = task / (tiles_m * tiles_n);
			//>
			const int64_t i0 = task / tiles_n % tiles_m * MC, j0 = task % tiles_n * NC;
			const int64_t height = m - i0 < MC ? m - i0 : MC, width = n - j0 < NC ? n - j0 : NC;

			memset(tile, 0, sizeof(real) * MC * NC);
			for (int64_t k0 = 0; k0 < k; k0 += KC) {
				const int64_t depth = k - k0 < KC ? k - k0 : KC;

				/* a_block: panels of MR rows, (depth, MR) each; rows past the end are zero. */
				for (int64_t panel = 0; panel < height; panel += MR) {
					real *restrict to = a_block + panel * depth;
					const int rows = height - panel < MR ? (int)(height - panel) : MR;

					if (rows < MR)
						memset(to, 0, sizeof(real) * MR * (size_t)depth);
					//< pack_a
					for (int r = 0; r < rows; r++)
						for (int64_t p = 0; p < depth; p++)
							to[p * MR + r] = a[(batch * m + i0 + panel + r) * k + k0 + p];
					//>
				}
				/* b_block: panels of NR columns, (depth, NR) each; columns past the end are zero. */
				for (int64_t panel = 0; panel < width; panel += NR) {
					real *restrict to = b_block + panel * depth;
					const int cols = width - panel < NR ? (int)(width - panel) : NR;

					if (cols < NR)
						memset(to, 0, sizeof(real) * NR * (size_t)depth);
					//< pack_b
					if (cols == NR) {
						for (int64_t p = 0; p < depth; p++)
							for (int c = 0; c < NR; c++)
								to[p * NR + c] = b[(batch * k + k0 + p) * n + j0 + panel + c];
					} else {
						for (int64_t p = 0; p < depth; p++)
							for (int c = 0; c < cols; c++)
								to[p * NR + c] = b[(batch * k + k0 + p) * n + j0 + panel + c];
					}
					//>
				}
				for (int64_t c = 0; c < width; c += NR)
					for (int64_t r = 0; r < height; r += MR)
						inner_kernel(a_block + r * depth, b_block + c * depth, tile + r * NC + c,
							     depth);
			}
			for (int64_t r = 0; r < height; r++) {
				const real *restrict sum_row = tile + r * NC;
				const int64_t i = i0 + r;

#pragma omp simd
				for (int64_t c = 0; c < width; c++) {
					const int64_t j = j0 + c;
					//< body
					y[(batch * m + i) * n + j] = sum_row[c];
					//>
				}
			}
		}
	}
}
