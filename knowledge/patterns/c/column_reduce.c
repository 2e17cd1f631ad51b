//@ pattern column_reduce family=column_reduce backend=c
//@ title Reductions down the columns: a strip of columns a thread, one result a lane
//@ why Memory runs along the columns, so a strip of STRIP neighbours is read at a time and each lane owns a column: no lanes to fold.
//@ why The strip's results stay in L1 while the whole height streams by; inputs come from memory once for each pass.
//@ why Strips are independent, so threads share nothing.
//@ why With STREAM=1 outputs leave by non-temporal stores, which saves reading the output's lines first.
//@ roles x=input y=output
//< plan
//@ kernel column_reduce args=(x, y, rows:i64, segs:i64, cols:i64)
//>
//@ tune STRIP in {64, 256, 1024} default 256
//@ tune STREAM in {0, 1} default 0
#ifndef STRIP
#define STRIP 256
#define STREAM 0
#endif
#if STREAM
#define STORE_STRIP(dst, src, n) KW_STREAM_ROW(dst, src, n)
#else
#define STORE_STRIP(dst, src, n) memcpy((dst), (src), (size_t)(n) * sizeof(*(dst)))
#endif

//< signature
void column_reduce(const float *restrict x, float *restrict y, int64_t rows, int64_t segs, int64_t cols)
//>
{
	const int64_t strips = KW_CDIV(cols, STRIP);

#pragma omp parallel
	{
#pragma omp for schedule(static)
		for (int64_t task = 0; task < rows * strips; task++) {
			const int64_t row = task / strips, col = task % strips * STRIP;
			const int n = cols - col < STRIP ? (int)(cols - col) : STRIP;
			//< row
			const float *restrict x_row = x + row * segs * cols;
			float *restrict y_row = y + row * cols;
			//>

			//< for stage
			//< lanes
			float sum_lanes[STRIP];

			for (int i = 0; i < STRIP; i++)
				sum_lanes[i] = 0.0f;
			//>
			for (int64_t seg = 0; seg < segs; seg++) {
				//< segment
				const float *restrict x_seg = x_row + seg * cols;
				//>

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					sum_lanes[i] += x_seg[col + i];
					//>
				}
			}
			//< fold
			//>
			//>
			//< finish
			for (int i = 0; i < n; i++)
				y_row[col + i] = sum_lanes[i];
			//>
			//< for write
			for (int64_t seg = 0; seg < segs; seg++) {
				//< segment
				//>
				//< strip
				//>

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					(void)i;
					//>
				}
				//< store
				//>
			}
			//>
		}
#if STREAM
		kw_stream_fence();
#endif
	}
}
