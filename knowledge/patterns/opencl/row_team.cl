//@ pattern row_team family=row_reduce backend=opencl
//@ title A team of work-items a row, joined in local memory; a team of one where a row is one work-item's
//@ why Work-items of a team read a row side by side, 16 bytes each where the addresses allow it.
//@ why Running results stay in registers, one for each element of a vector, and join in a tree: closer to the exact sum than one running value.
//@ why Nothing is kept between passes, so any length works: later passes find the row in a cache.
//@ why LANES is a tune value: large teams for GPUs and long rows, one work-item a row (no barrier) for CPUs and many short rows.
//@ roles x=input y=output
//< plan
//@ kernel row_team grid=(cdiv(rows, ROWS)) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ kernel row_team_total grid=(1) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define ROWS = TEAM == 1 ? 1 : max(64 / TEAM, 1)
//@ define LANES = TEAM
//@ define THREADS = LANES * ROWS
//>
//@ tune TEAM in {1, 16, 64, 256} default 64
#ifndef TEAM
#define LANES 64
#define ROWS 1
#define THREADS 64
#define VEC 4
#endif
#define WIDTH 1

//< signature
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
	row_team(__global const float *restrict x, __global float *restrict y, int64_t rows, int64_t cols)
//>
{
	__local ulong room[THREADS];
	const int lane = get_local_id(0) % LANES;
	const int64_t wanted = (int64_t)get_group_id(0) * ROWS + get_local_id(0) / LANES;
	/* Teams past the end work on the last row and write nothing: all work-items meet in the barriers. */
	const bool inside = wanted < rows;
	const int64_t row = inside ? wanted : rows - 1;
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
	for (int64_t col = lane * VEC; col < cols; col += LANES * VEC) {
		//< load
		__attribute__((aligned(16))) float x_vec[VEC];

		kw_load_vec(x_vec, x_row + col, VEC);
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
	if (inside && lane == 0) {
		//< body
		//>
	}
	//>
	//< for write
	for (int64_t col = lane * VEC; inside && col < cols; col += LANES * VEC) {
		//< strip
		__attribute__((aligned(16))) float y_strip[VEC];
		//>
		//< load
		__attribute__((aligned(16))) float x_vec[VEC];

		kw_load_vec(x_vec, x_row + col, VEC);
		//>
#pragma unroll
		for (int i = 0; i < VEC; i++) {
			//< body
			y_strip[i] = exp(x_vec[i]) / sum;
			//>
		}
		//< store
		kw_store_vec(y_row + col, y_strip, VEC);
		//>
	}
	//>
}
//< for total
//< signature
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
	row_team_total(__global const float *restrict x, __global float *restrict y, int64_t rows, int64_t cols)
//>
{
	__local ulong room[THREADS];
	const int lane = get_local_id(0);

	//< body
	//>
}
//>
