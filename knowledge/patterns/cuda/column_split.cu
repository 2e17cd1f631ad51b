//@ pattern column_split family=column_reduce backend=cuda
//@ title Reductions down few, high columns: CHUNKS blocks share a strip, one partial result a block and pass
//@ why Few columns would leave most of the machine idle; the height is cut into chunks so that all of it reads.
//@ why A pass is a kernel of its own: its end is the barrier between all blocks, without atomics, so the sum is the same each time.
//@ why WIDTH threads side by side read whole lines, 16 bytes each; partial results are small and stay in L2.
//@ why Every block joins the partial results of earlier passes itself, which costs less than a kernel that does it.
//@ roles x=input y=output
//< plan
//@ kernel column_split_pass grid=(rows * STRIPS * CHUNKS) block=(THREADS) args=(x, y, col_sum_partial, rows:i64, segs:i64, cols:i64)
//@ kernel column_split_finish grid=(rows * STRIPS) block=(THREADS) args=(x, y, col_sum_partial, rows:i64, segs:i64, cols:i64)
//@ kernel column_split_write grid=(rows * STRIPS * CHUNKS) block=(THREADS) args=(x, y, col_sum_partial, rows:i64, segs:i64, cols:i64)
//@ workspace col_sum_partial f32[max(rows, 1), CHUNKS, max(cols, 1)]
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define WIDTH = cdiv(cols, VEC) > 32 ? min(SIDE, THREADS) : cdiv(cols, VEC) > 16 ? 32 : cdiv(cols, VEC) > 8 ? 16 : 8
//@ define LANES = THREADS / WIDTH
//@ define STRIPS = cdiv(cols, WIDTH * VEC)
//@ define CHUNKS = min(max(cores * BLOCKS / max(rows * STRIPS, 1), 1), max(cdiv(segs, LANES * UNROLL), 1))
//@ require segs > 64
//>
//@ tune THREADS in {128, 256, 512} default 256
//@ tune SIDE in {16, 32, 64} default 32
//@ tune UNROLL in {2, 4, 8} default 8
//@ tune BLOCKS in {4, 8, 16} default 8
#ifndef THREADS
#define THREADS 256
#define UNROLL 8
#define VEC 4
#define WIDTH 32
#define LANES 8
#define CHUNKS 8
#endif
#define STORE_VEC(to, from) kw_store_vec_once(to, from)
#define LOAD_VEC(to, from) kw_load_vec(to, from)

/* What the LANES threads above one another have, joined; each of them gets it. */
template <typename Op, int SITE, typename T> __device__ T team(T v)
{
#if LANES > 1
	__shared__ T part[THREADS];

	__syncthreads(); /* the last join's values are read */
	part[threadIdx.x] = v;
	__syncthreads();
	v = part[threadIdx.x % WIDTH];
#pragma unroll
	for (int w = 1; w < LANES; w++)
		v = Op::join(v, part[w * WIDTH + threadIdx.x % WIDTH]);
#endif
	return v;
}

//< for stage
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	column_split_pass(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ col_sum_partial,
	int64_t rows, int64_t segs, int64_t cols)
//>
{
	const int64_t strips = KW_CDIV(cols, WIDTH * VEC), task = blockIdx.x;
	const int lane = threadIdx.x / WIDTH;
	/* Threads past the last column work on the first and write nothing: all meet in the barriers. */
	const int64_t column = (task % strips * WIDTH + threadIdx.x % WIDTH) * VEC;
	const bool inside = column < cols;
	const int64_t col = inside ? column : 0;
	const int64_t row = task / strips / CHUNKS, chunk = task / strips % CHUNKS;
	const int64_t first = chunk * segs / CHUNKS, end = (chunk + 1) * segs / CHUNKS;
	//< row
	const float *__restrict__ x_row = x + row * segs * cols;
	float *__restrict__ y_row = y + row * cols;
	//>
	//< earlier
	//>
	//< lanes
	float col_sum[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = 0.0f;
	//>
#pragma unroll UNROLL
	for (int64_t seg = first + lane; seg < end; seg += LANES) {
		//< segment
		const float *__restrict__ x_seg = x_row + seg * cols;
		//>
		//< load
		alignas(16) float x_vec[VEC];

		LOAD_VEC(x_vec, x_seg + col);
		//>

#pragma unroll
		for (int i = 0; i < VEC; i++) {
			//< body
			col_sum[i] += x_vec[i];
			//>
		}
	}
	//< fold
#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = team<kw_op_sum, 0>(col_sum[i]);
	if (inside && lane == 0) {
#pragma unroll
		for (int i = 0; i < VEC; i++)
			col_sum_partial[(row * CHUNKS + chunk) * cols + col + i] = col_sum[i];
	}
	//>
}
//>
//< for finish
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	column_split_finish(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ col_sum_partial,
	int64_t rows, int64_t segs, int64_t cols)
//>
{
	const int64_t strips = KW_CDIV(cols, WIDTH * VEC), task = blockIdx.x;
	const int lane = threadIdx.x / WIDTH;
	/* Threads past the last column work on the first and write nothing: all meet in the barriers. */
	const int64_t column = (task % strips * WIDTH + threadIdx.x % WIDTH) * VEC;
	const bool inside = column < cols;
	const int64_t col = inside ? column : 0;
	const int64_t row = task / strips;
	//< row
	const float *__restrict__ x_row = x + row * segs * cols;
	float *__restrict__ y_row = y + row * cols;
	//>
	//< earlier
	float col_sum[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = 0.0f;
	for (int64_t block = lane; block < CHUNKS; block += LANES) {
#pragma unroll
		for (int i = 0; i < VEC; i++)
			col_sum[i] += col_sum_partial[(row * CHUNKS + block) * cols + col + i];
	}
#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = team<kw_op_sum, 0>(col_sum[i]);
	//>
	if (inside && lane == 0) {
		//< body
		alignas(16) float y_strip[VEC];

#pragma unroll
		for (int i = 0; i < VEC; i++)
			y_strip[i] = col_sum[i];
		STORE_VEC(y_row + col, y_strip);
		//>
	}
}
//>
//< for write
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	column_split_write(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ col_sum_partial,
	int64_t rows, int64_t segs, int64_t cols)
//>
{
	const int64_t strips = KW_CDIV(cols, WIDTH * VEC), task = blockIdx.x;
	const int lane = threadIdx.x / WIDTH;
	/* Threads past the last column work on the first and write nothing: all meet in the barriers. */
	const int64_t column = (task % strips * WIDTH + threadIdx.x % WIDTH) * VEC;
	const bool inside = column < cols;
	const int64_t col = inside ? column : 0;
	const int64_t row = task / strips / CHUNKS, chunk = task / strips % CHUNKS;
	const int64_t first = chunk * segs / CHUNKS, end = (chunk + 1) * segs / CHUNKS;
	//< row
	const float *__restrict__ x_row = x + row * segs * cols;
	float *__restrict__ y_row = y + row * cols;
	//>
	//< earlier
	float col_sum[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = 0.0f;
	for (int64_t block = lane; block < CHUNKS; block += LANES) {
#pragma unroll
		for (int i = 0; i < VEC; i++)
			col_sum[i] += col_sum_partial[(row * CHUNKS + block) * cols + col + i];
	}
#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = team<kw_op_sum, 0>(col_sum[i]);
	//>
#pragma unroll UNROLL
	for (int64_t seg = first + lane; seg < end; seg += LANES) {
		//< segment
		//>
		//< strip
		//>
		//< load
		//>

#pragma unroll
		for (int i = 0; i < VEC; i++) {
			//< body
			(void)i;
			//>
		}
		if (inside) {
			//< store
			//>
		}
	}
}
//>
