//@ pattern row_segments family=row_reduce backend=opencl
//@ title Reductions over rows that lie in several contiguous segments (batch and group norms), a work-group a row
//@ why Segments are walked as one list of vectors, so short segments keep all work-items busy and nothing is copied or transposed.
//@ why Running results stay in registers, one for each element of a vector, and join in a tree: closer to the exact sum than one running value.
//@ why Nothing is kept between passes, so any length works: later passes find the row in a cache.
//@ roles x=input y=output
//< plan
//@ kernel row_segments grid=(rows) block=(THREADS) args=(x, y, rows:i64, segs:i64, cols:i64)
//@ kernel row_segments_total grid=(1) block=(THREADS) args=(x, y, rows:i64, segs:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//>
//@ tune THREADS in {16, 64, 256} default 64
#ifndef THREADS
#define THREADS 64
#define VEC 4
#endif
#define LANES THREADS
#define WIDTH 1

//< signature
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
	row_segments(__global const float *restrict x, __global float *restrict y, int64_t rows, int64_t segs, int64_t cols)
//>
{
	__local ulong room[THREADS];
	const int lane = get_local_id(0);
	const int64_t row = get_group_id(0), vecs = KW_CDIV(cols, VEC);
	//< row
	__global const float *restrict x_row = x + row * cols;
	__global float *restrict y_row = y + row * cols;
	//>

	//< for stage
	//< lanes
	float sum_lanes[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		sum_lanes[i] = 0.0f;
	//>
	for (int64_t v = lane; v < segs * vecs; v += LANES) {
		const int64_t seg = v / vecs, col = v % vecs * VEC;
		//< segment
		__global const float *restrict x_seg = x_row + seg * rows * cols;
		//>
		//< load
		__attribute__((aligned(16))) float x_vec[VEC];

		kw_load_vec(x_vec, x_seg + col, VEC);
		//>
#pragma unroll
		for (int i = 0; i < VEC; i++) {
			//< body
			sum_lanes[i] += exp(x_vec[i]);
			//>
		}
	}
	//< fold
#pragma unroll
	for (int i = 1; i < VEC; i++)
		sum_lanes[0] += sum_lanes[i];
	const float sum = kw_team_sum(sum_lanes[0], LANES, WIDTH, room);
	//>
	//>
	//< for finish
	if (lane == 0) {
		//< body
		//>
	}
	//>
	//< for write
	for (int64_t v = lane; v < segs * vecs; v += LANES) {
		const int64_t seg = v / vecs, col = v % vecs * VEC;
		//< segment
		__global const float *restrict x_seg = x_row + seg * rows * cols;
		__global float *restrict y_seg = y_row + seg * rows * cols;
		//>
		//< strip
		__attribute__((aligned(16))) float y_strip[VEC];
		//>
		//< load
		__attribute__((aligned(16))) float x_vec[VEC];

		kw_load_vec(x_vec, x_seg + col, VEC);
		//>
#pragma unroll
		for (int i = 0; i < VEC; i++) {
			//< body
			y_strip[i] = exp(x_vec[i]) / sum;
			//>
		}
		//< store
		kw_store_vec(y_seg + col, y_strip, VEC);
		//>
	}
	//>
}
//< for total
//< signature
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
	row_segments_total(__global const float *restrict x, __global float *restrict y, int64_t rows, int64_t segs, int64_t cols)
//>
{
	__local ulong room[THREADS];
	const int lane = get_local_id(0);

	//< body
	//>
}
//>
