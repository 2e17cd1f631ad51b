//@ pattern row_split family=row_reduce backend=cuda
//@ title Few, very long rows: CHUNKS blocks share each row, one partial result a block and pass
//@ why A handful of long rows with one block each would leave most of the machine idle; CHUNKS blocks a row fill it.
//@ why A pass is a kernel of its own: its end is the barrier between all blocks, and its partial results stay in L2.
//@ why Every block joins the partial results of earlier passes itself, which costs less than a kernel that does it.
//@ why Chunks have fixed borders, so the sum is the same each time; inside, lanes and a tree keep it close to the exact one.
//@ when cols > 8192
//@ roles x=input y=output
//< plan
//@ kernel row_split_pass grid=(CHUNKS, min(rows, 65535)) block=(THREADS) args=(x, y, sum_partial, rows:i64, cols:i64)
//@ kernel row_split_finish grid=(1, min(rows, 65535)) block=(THREADS) args=(x, y, sum_partial, rows:i64, cols:i64)
//@ kernel row_split_write grid=(CHUNKS, min(rows, 65535)) block=(THREADS) args=(x, y, sum_partial, rows:i64, cols:i64)
//@ kernel row_split_total grid=(1) block=(THREADS) args=(x, y, sum_partial, rows:i64, cols:i64)
//@ workspace sum_partial f32[max(rows, 1), CHUNKS]
//@ require rows <= cores * 8
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define CHUNKS = min(max(cores * BLOCKS / max(rows, 1), 1), max(cdiv(cdiv(cols, VEC), THREADS * UNROLL), 1))
//>
//@ tune THREADS in {128, 256, 512} default 256
//@ tune BLOCKS in {4, 8, 16} default 8
//@ tune UNROLL in {1, 2, 4} default 4
//@ tune ONCE in {0, 1} default 1
#ifndef THREADS
#define THREADS 256
#define BLOCKS 8
#define UNROLL 4
#define ONCE 1
#define VEC 4
#define CHUNKS 32
#endif
#define LANES THREADS
#if ONCE /* outputs are not read again: leave the caches to the row */
#define STORE_VEC(to, from) kw_store_vec_once(to, from)
#else
#define STORE_VEC(to, from) kw_store_vec(to, from)
#endif
#define LOAD_VEC(to, from) kw_load_vec(to, from)

/* What the LANES threads of a row have, joined; each of them gets it. */
template <typename Op, int SITE, typename T> __device__ T team(T v)
{
	return kw_join<Op, LANES, THREADS>(v);
}

/* The same for the whole block. */
template <typename Op, typename T> __device__ T team_all(T v)
{
	return kw_join<Op, THREADS, THREADS>(v);
}

//< for stage
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_split_pass(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ sum_partial,
	int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;
	const int64_t chunk = blockIdx.x, vecs = KW_CDIV(cols, VEC);
	const int64_t first = chunk * (vecs) / CHUNKS, end = (chunk + 1) * (vecs) / CHUNKS;

	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
		//< row
		const float *__restrict__ x_row = x + row * cols;
		float *__restrict__ y_row = y + row * cols;
		//>
		//< earlier
		//>
		//< lanes
		float sum_lanes[VEC];

#pragma unroll
		for (int i = 0; i < VEC; i++)
			sum_lanes[i] = 0.0f;
		//>
#pragma unroll UNROLL
		for (int64_t v = first + lane; v < end; v += THREADS) {
			const int64_t col = v * VEC;
			//< load
			alignas(16) float x_vec[VEC];

			LOAD_VEC(x_vec, x_row + col);
			//>
#pragma unroll
			for (int i = 0; i < VEC; i++) {
				//< body
				sum_lanes[i] += x_vec[i];
				//>
			}
		}
		//< fold
#pragma unroll
		for (int i = 1; i < VEC; i++)
			sum_lanes[0] += sum_lanes[i];
		sum_lanes[0] = team<kw_op_sum, 0>(sum_lanes[0]);
		if (lane == 0)
			sum_partial[row * CHUNKS + chunk] = sum_lanes[0];
		//>
	}
}
//>
//< for finish
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_split_finish(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ sum_partial,
	int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;

	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
		//< row
		(void)row;
		//>
		//< earlier
		float sum_all = 0.0f;

		for (int64_t block = lane; block < CHUNKS; block += LANES)
			sum_all += sum_partial[row * CHUNKS + block];
		const float sum = team<kw_op_sum, 0>(sum_all);
		//>
		if (lane == 0) {
			//< body
			y[row] = sum;
			//>
		}
	}
}
//>
//< for write
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_split_write(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ sum_partial,
	int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;
	const int64_t chunk = blockIdx.x, vecs = KW_CDIV(cols, VEC);
	const int64_t first = chunk * (vecs) / CHUNKS, end = (chunk + 1) * (vecs) / CHUNKS;

	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
		//< row
		const float *__restrict__ x_row = x + row * cols;
		float *__restrict__ y_row = y + row * cols;
		//>
		//< earlier
		float sum_all = 0.0f;

		for (int64_t block = lane; block < CHUNKS; block += LANES)
			sum_all += sum_partial[row * CHUNKS + block];
		const float sum = team<kw_op_sum, 0>(sum_all);
		//>
#pragma unroll UNROLL
		for (int64_t v = first + lane; v < end; v += THREADS) {
			const int64_t col = v * VEC;
			//< strip
			alignas(16) float y_strip[VEC];
			//>
			//< load
			alignas(16) float x_vec[VEC];

			LOAD_VEC(x_vec, x_row + col);
			//>
#pragma unroll
			for (int i = 0; i < VEC; i++) {
				//< body
				y_strip[i] = x_vec[i] / sum;
				//>
			}
			//< store
			STORE_VEC(y_row + col, y_strip);
			//>
		}
	}
}
//>
//< for total
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_split_total(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ sum_partial,
	int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;

	//< body
	//>
}
//>
