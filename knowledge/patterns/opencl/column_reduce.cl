//@ pattern column_reduce family=column_reduce backend=opencl
//@ title Reductions down the columns: a work-group owns a strip of columns and joins its rows in local memory
//@ why Memory runs along the columns: WIDTH work-items side by side read addresses side by side.
//@ why LANES rows of work-items share the height of the strip, so that short and narrow tensors fill the machine too; they join once a pass.
//@ why A work-item's running results stay in registers while the height streams by.
//@ why One kernel, no workspace: the best form when there are columns enough.
//@ roles x=input y=output
//< plan
//@ kernel column_reduce grid=(rows * STRIPS) block=(THREADS) args=(x, y, rows:i64, segs:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define STRIPS = cdiv(cols, WIDTH * VEC)
//@ define THREADS = WIDTH * LANES
//>
//@ tune WIDTH in {8, 32, 128} default 32
//@ tune LANES in {1, 4, 16} default 4
#ifndef WIDTH
#define WIDTH 32
#define LANES 4
#define THREADS 128
#define VEC 4
#endif

//< signature
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
	column_reduce(__global const float *restrict x, __global float *restrict y, int64_t rows, int64_t segs, int64_t cols)
//>
{
	__local ulong room[THREADS];
	const int64_t strips = KW_CDIV(cols, WIDTH * VEC), task = get_group_id(0);
	const int lane = get_local_id(0) / WIDTH;
	/* Work-items past the last column work on the first and write nothing: all meet in the barriers. */
	const int64_t column = (task % strips * WIDTH + get_local_id(0) % WIDTH) * VEC;
	const bool inside = column < cols;
	const int64_t col = inside ? column : 0;
	const int64_t row = task / strips;
	//< row
	__global const float *restrict x_row = x + row * segs * cols;
	__global float *restrict y_row = y + row * cols;
	//>

	//< for stage
	//< lanes
	float col_sum[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		col_sum[i] = 0.0f;
	//>
	for (int64_t seg = lane; seg < segs; seg += LANES) {
		//< segment
		__global const float *restrict x_seg = x_row + seg * cols;
		//>
		//< load
		__attribute__((aligned(16))) float x_vec[VEC];

		kw_load_vec(x_vec, x_seg + col, VEC);
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
		col_sum[i] = kw_team_sum(col_sum[i], LANES, WIDTH, room);
	//>
	//>
	//< for finish
	if (inside && lane == 0) {
		//< body
		__attribute__((aligned(16))) float y_strip[VEC];

#pragma unroll
		for (int i = 0; i < VEC; i++)
			y_strip[i] = col_sum[i];
		kw_store_vec(y_row + col, y_strip, VEC);
		//>
	}
	//>
	//< for write
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
