//@ pattern pointwise family=pointwise backend=opencl
//@ title One fused pass, neighbours side by side, several elements a work-item
//@ why Every input is read once and every output written once: no operation between them touches memory.
//@ why Work-items side by side read addresses side by side, 16 bytes each where the addresses allow it.
//@ why All STRIPS loads of a work-item come before the first is used: what is under way fills the memory.
//@ why A fixed number of work-groups a compute unit walks the work, so that starting them costs little on a CPU and a large tensor has no ragged end on a GPU.
//@ roles x=input y=output
//< plan
//@ kernel pointwise grid=(min(cdiv(rows, ROWS) * cdiv(cols, TILE), cores * GROUPS)) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define VECS = cdiv(cols, VEC)
//@ define LANES = VECS > 32 ? THREADS : VECS > 16 ? 32 : VECS > 8 ? 16 : VECS > 4 ? 8 : VECS > 2 ? 4 : VECS > 1 ? 2 : 1
//@ define ROWS = THREADS / LANES
//@ define TILE = LANES * VEC * STRIPS
//>
//@ tune THREADS in {64, 128, 256} default 128
//@ tune STRIPS in {1, 2, 4} default 2
//@ tune GROUPS in {8, 64, 1000000} default 64
#ifndef THREADS
#define THREADS 128
#define STRIPS 2
#define VEC 4
#define LANES 128
#define ROWS 1
#define TILE (LANES * VEC * STRIPS)
#endif

//< signature
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
	pointwise(__global const float *restrict x, __global float *restrict y, int64_t rows, int64_t cols)
//>
{
	const int64_t tiles = KW_CDIV(cols, TILE), groups = KW_CDIV(rows, ROWS);
	const int lane = get_local_id(0) % LANES;

	for (int64_t task = get_group_id(0); task < groups * tiles; task += get_num_groups(0)) {
		const int64_t row = task / tiles * ROWS + get_local_id(0) / LANES;
		const int64_t first = task % tiles * TILE + lane * VEC;

		if (row >= rows)
			continue;
		//< row
		__global const float *restrict x_row = x + row * cols;
		__global float *restrict y_row = y + row * cols;
		//>
		//< keep
		__attribute__((aligned(16))) float x_keep[STRIPS][VEC];
		//>

#pragma unroll
		for (int k = 0; k < STRIPS; k++) {
			const int64_t col = first + k * (LANES * VEC);

			if (col < cols) {
				//< fetch
				kw_load_vec(x_keep[k], x_row + col, VEC);
				//>
			}
		}
#pragma unroll
		for (int k = 0; k < STRIPS; k++) {
			const int64_t col = first + k * (LANES * VEC);
			//< strip
			__attribute__((aligned(16))) float y_strip[VEC];
			//>

			if (col >= cols)
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
			kw_store_vec(y_row + col, y_strip, VEC);
			//>
		}
	}
}
