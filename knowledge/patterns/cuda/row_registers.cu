//@ pattern row_registers family=row_reduce backend=cuda
//@ title A row in the registers of a team of threads: read once, reduced by shuffles, written once
//@ why The row comes from memory once and leaves once; every pass over it runs on registers.
//@ why All loads of a row are issued before the first is used, so that the memory always has work; other blocks compute meanwhile.
//@ why A thread holds ELEMENTS of the row: few enough for many resident threads, enough for several 16-byte loads each.
//@ why Sums run in one lane for each element of a vector and join in a tree: closer to the exact sum than one running value.
//@ why A team is as large as the row needs: part of a warp for a tiny row (no barrier at all), a whole block for a long one.
//@ when cols <= 16384
//@ roles x=input y=output
//< plan
//@ kernel row_registers grid=(cdiv(rows, ROWS)) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ kernel row_registers_total grid=(1) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define HOLD = max(ELEMENTS, cdiv(cols, 8192) * 8)
//@ define SHARES = max(cdiv(cols, HOLD), 1)
//@ define LANES = SHARES > 16 ? cdiv(SHARES, 32) * 32 : SHARES > 8 ? 16 : SHARES > 4 ? 8 : SHARES > 2 ? 4 : SHARES
//@ define ROWS = max(BLOCK / LANES, 1)
//@ define THREADS = LANES * ROWS
//@ define STRIPS = max(cdiv(cols, LANES * VEC), 1)
//>
//@ tune ELEMENTS in {8, 16, 32} default 32
//@ tune BLOCK in {128, 256} default 128
//@ tune ONCE in {0, 1} default 1
#ifndef ELEMENTS
#define ELEMENTS 32
#define BLOCK 128
#define ONCE 1
#define VEC 4
#define LANES 256
#define ROWS 1
#define THREADS 256
#define STRIPS 4
#endif
#if ONCE /* nothing is read again: leave the caches to others */
#define LOAD_ROW(to, from) kw_load_vec_once(to, from)
#define STORE_VEC(to, from) kw_store_vec_once(to, from)
#else
#define LOAD_ROW(to, from) kw_load_vec(to, from)
#define STORE_VEC(to, from) kw_store_vec(to, from)
#endif
#define LOAD_VEC(to, from) kw_load_vec(to, from) /* weights: every row reads them */

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
	row_registers(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x % LANES;
	const int64_t wanted = (int64_t)blockIdx.x * ROWS + threadIdx.x / LANES;
	/* Teams past the end work on the last row and write nothing: all threads meet in the barriers. */
	const bool inside = wanted < rows;
	const int64_t row = inside ? wanted : rows - 1;
	//< row
	const float *__restrict__ x_row = x + row * cols;
	float *__restrict__ y_row = y + row * cols;
	//>
	//< keep
	alignas(16) float x_keep[STRIPS][VEC];
	float exp_row[STRIPS][VEC];
	//>

#pragma unroll
	for (int k = 0; k < STRIPS; k++) {
		const int col = (k * LANES + lane) * VEC;

		if (col < cols) {
			//< fetch
			LOAD_ROW(x_keep[k], x_row + col);
			//>
		}
	}
	//< for stage
	//< lanes
	float sum_lanes[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		sum_lanes[i] = 0.0f;
	//>
#pragma unroll
	for (int k = 0; k < STRIPS; k++) {
		const int col = (k * LANES + lane) * VEC;

		if (col < cols) {
			//< load
			//>
#pragma unroll
			for (int i = 0; i < VEC; i++) {
				//< body
				exp_row[k][i] = expf(x_keep[k][i]);
				sum_lanes[i] += exp_row[k][i];
				//>
			}
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
	if (inside && lane == 0) {
		//< body
		//>
	}
	//>
	//< for write
#pragma unroll
	for (int k = 0; k < STRIPS; k++) {
		const int col = (k * LANES + lane) * VEC;
		//< strip
		alignas(16) float y_strip[VEC];
		//>

		if (inside && col < cols) {
			//< load
			//>
#pragma unroll
			for (int i = 0; i < VEC; i++) {
				//< body
				y_strip[i] = exp_row[k][i] / sum;
				//>
			}
			//< store
			STORE_VEC(y_row + col, y_strip);
			//>
		}
	}
	//>
}
//< for total
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_registers_total(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;

	//< body
	//>
}
//>
