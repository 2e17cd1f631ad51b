//@ pattern pointwise family=pointwise backend=cuda
//@ title One fused pass, 16 bytes an access, several of them under way in each thread
//@ why Every input is read once and every output written once: no operation between them touches memory.
//@ why A thread moves 16 bytes at once where the addresses allow it, so a warp fills whole lines with few instructions.
//@ why All STRIPS loads of a thread are issued before the first is used: what is under way, not the arithmetic, fills the memory.
//@ why A fixed number of blocks a multiprocessor walks the work, so a large tensor has no ragged last wave of blocks.
//@ why Rows and their tiles are the two axes of the grid: a block finds its place without a division.
//@ why Where all tiles are whole nothing is compared, and a block that has one tile has no loop: fewer registers, more threads.
//@ why Narrow rows share a block, so that a [rows, 3] tensor keeps all threads busy.
//@ roles x=input y=output
//< plan
//@ kernel pointwise grid=(min(cdiv(cols, TILE), cores * BLOCKS), max(1, min(cdiv(rows, ROWS), 65535, cdiv(cores * BLOCKS, max(1, cdiv(cols, TILE)))))) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define VECS = cdiv(cols, VEC)
//@ define LANES = VECS > 64 ? THREADS : VECS > 32 ? 64 : VECS > 16 ? 32 : VECS > 8 ? 16 : VECS > 4 ? 8 : VECS > 2 ? 4 : VECS > 1 ? 2 : 1
//@ define ROWS = THREADS / LANES
//@ define TILE = LANES * VEC * STRIPS
//@ define WHOLE = cols % TILE == 0 && rows % ROWS == 0
//@ define ONE_TILE = rows > 0 && cdiv(rows, ROWS) <= 65535 && cdiv(rows, ROWS) * cdiv(cols, TILE) <= cores * BLOCKS
//>
//@ tune THREADS in {128, 256, 512} default 256
//@ tune STRIPS in {1, 2, 4} default 2
//@ tune BLOCKS in {8, 16, 32, 1000000} default 16
//@ tune ONCE in {0, 1} default 1
#ifndef THREADS
#define THREADS 256
#define STRIPS 2
#define ONCE 1
#define VEC 4
#define LANES 256
#define ROWS 1
#define TILE (LANES * VEC * STRIPS)
#define WHOLE 0
#define ONE_TILE 0
#endif
#if ONCE /* nothing is read again: leave the caches to others */
#define LOAD_ROW(to, from) kw_load_vec_once(to, from)
#define STORE_VEC(to, from) kw_store_vec_once(to, from)
#else
#define LOAD_ROW(to, from) kw_load_vec(to, from)
#define STORE_VEC(to, from) kw_store_vec(to, from)
#endif

//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	pointwise(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
//>
{
	const int64_t tiles = KW_CDIV(cols, TILE), groups = KW_CDIV(rows, ROWS);
	const int lane = threadIdx.x % LANES;

	for (int64_t group = blockIdx.y; ONE_TILE || group < groups; group += gridDim.y) {
		for (int64_t tile = blockIdx.x; ONE_TILE || tile < tiles; tile += gridDim.x) {
			const int64_t row = group * ROWS + threadIdx.x / LANES;
			const int64_t first = tile * TILE + lane * VEC;

			if (!WHOLE && row >= rows)
				return;
			//< row
			const float *__restrict__ x_row = x + row * cols;
			float *__restrict__ y_row = y + row * cols;
			//>
			//< keep
			alignas(16) float x_keep[STRIPS][VEC];
			//>

#pragma unroll
			for (int k = 0; k < STRIPS; k++) {
				const int64_t col = first + k * (LANES * VEC);

				if (WHOLE || col < cols) {
					//< fetch
					LOAD_ROW(x_keep[k], x_row + col);
					//>
				}
			}
#pragma unroll
			for (int k = 0; k < STRIPS; k++) {
				const int64_t col = first + k * (LANES * VEC);
				//< strip
				alignas(16) float y_strip[VEC];
				//>

				if (!WHOLE && col >= cols)
					break;
				//< load
				//>
#pragma unroll
				for (int i = 0; i < VEC; i++) {
					//< body
					const float x_i = x_keep[k][i];

					y_strip[i] = x_i * kw_sigmoidf(x_i);
					//>
				}
				//< store
				STORE_VEC(y_row + col, y_strip);
				//>
			}
			if (ONE_TILE)
				return;
		}
	}
}
