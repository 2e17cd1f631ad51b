//@ pattern row_stream family=row_reduce backend=cuda
//@ title A block a row of any length: passes over memory, the later ones out of the L2 cache
//@ why A row too long for registers is read from memory once; later passes of the same block find it in L2, which is twice as fast.
//@ why Every pass moves 16 bytes at once, UNROLL loads a thread before the first is used.
//@ why Sums run in one lane for each element of a vector and join in a tree: closer to the exact sum than one running value.
//@ why Nothing is kept, so any length works; many threads hide the latency of L2.
//@ when cols > 8192
//@ roles x=input y=output
//< plan
//@ kernel row_stream grid=(rows) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ kernel row_stream_total grid=(1) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ require rows * 8 >= cores
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//>
//@ tune THREADS in {256, 512, 1024} default 1024
//@ tune UNROLL in {1, 2, 4} default 2
//@ tune ONCE in {0, 1} default 1
#ifndef THREADS
#define THREADS 1024
#define UNROLL 2
#define ONCE 1
#define VEC 4
#endif
#define LANES THREADS
#if ONCE /* outputs are not read again: leave the caches to the row */
#define STORE_VEC(to, from) kw_store_vec_once(to, from)
#else
#define STORE_VEC(to, from) kw_store_vec(to, from)
#endif
#define LOAD_VEC(to, from) kw_load_vec(to, from)

/* What the LANES threads of a row have, joined; each of them gets it. A call has a SITE of its own: it runs once. */
template <typename Op, int SITE, typename T> __device__ T team(T v)
{
	return kw_join<Op, LANES, THREADS, SITE>(v);
}

/* The same for the whole block. */
template <typename Op, typename T> __device__ T team_all(T v)
{
	return kw_join<Op, THREADS, THREADS>(v);
}

//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_stream(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;
	const int64_t row = blockIdx.x;
	//< row
	const float *__restrict__ x_row = x + row * cols;
	float *__restrict__ y_row = y + row * cols;
	//>

	//< for stage
	//< lanes
	float sum_lanes[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		sum_lanes[i] = 0.0f;
	//>
#pragma unroll UNROLL
	for (int64_t col = lane * VEC; col < cols; col += THREADS * VEC) {
		//< load
		alignas(16) float x_vec[VEC];

		LOAD_VEC(x_vec, x_row + col);
		//>
#pragma unroll
		for (int i = 0; i < VEC; i++) {
			//< body
			sum_lanes[i] += expf(x_vec[i]);
			//>
		}
	}
	//< fold
#pragma unroll
	for (int i = 1; i < VEC; i++)
		sum_lanes[0] += sum_lanes[i];
	const float sum = team<kw_op_sum, 0>(sum_lanes[0]);
	//>
	//>
	//< for finish
	if (lane == 0) {
		//< body
		//>
	}
	//>
	//< for write
#pragma unroll UNROLL
	for (int64_t col = lane * VEC; col < cols; col += THREADS * VEC) {
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
			y_strip[i] = expf(x_vec[i]) / sum;
			//>
		}
		//< store
		STORE_VEC(y_row + col, y_strip);
		//>
	}
	//>
}
//< for total
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_stream_total(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;

	//< body
	//>
}
//>
