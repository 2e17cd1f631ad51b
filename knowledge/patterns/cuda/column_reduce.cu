//@ pattern column_reduce family=column_reduce backend=cuda
//@ title Reductions down the columns: a block owns a strip of columns and joins its rows in shared memory
//@ why Memory runs along the columns: WIDTH threads side by side read whole lines, 16 bytes each.
//@ why LANES rows of threads share the height of the strip, so that short and narrow tensors fill the machine too; they join once a pass.
//@ why A thread's running results stay in registers while the height streams by, UNROLL loads under way.
//@ why One kernel, no workspace: the best form when there are columns enough.
//@ roles x=input y=output
//< plan
//@ kernel column_reduce grid=(rows * STRIPS) block=(THREADS) args=(x, y, rows:i64, segs:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define WIDTH = cdiv(cols, VEC) > 32 ? min(SIDE, THREADS) : cdiv(cols, VEC) > 16 ? 32 : cdiv(cols, VEC) > 8 ? 16 : 8
//@ define LANES = THREADS / WIDTH
//@ define STRIPS = cdiv(cols, WIDTH * VEC)
//>
//@ tune THREADS in {128, 256, 512} default 256
//@ tune SIDE in {16, 32, 64} default 32
//@ tune UNROLL in {1, 4, 8} default 4
//@ tune ONCE in {0, 1} default 1
#ifndef THREADS
#define THREADS 256
#define UNROLL 4
#define ONCE 1
#define VEC 4
#define WIDTH 32
#define LANES 8
#endif
#if ONCE /* outputs are not read again: leave the caches to the inputs */
#define STORE_VEC(to, from) kw_store_vec_once(to, from)
#else
#define STORE_VEC(to, from) kw_store_vec(to, from)
#endif
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

//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	column_reduce(const float *__restrict__ x, float *__restrict__ y,
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

	//< for stage
	//< lanes
	float col_sum[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = 0.0f;
	//>
#pragma unroll UNROLL
	for (int64_t seg = lane; seg < segs; seg += LANES) {
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
	//>
	//>
	//< for finish
	if (inside && lane == 0) {
		//< body
		alignas(16) float y_strip[VEC];

#pragma unroll
		for (int i = 0; i < VEC; i++)
			y_strip[i] = col_sum[i];
		STORE_VEC(y_row + col, y_strip);
		//>
	}
	//>
	//< for write
#pragma unroll UNROLL
	for (int64_t seg = lane; seg < segs; seg += LANES) {
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
	//>
}
