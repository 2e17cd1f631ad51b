//@ pattern row_segments family=row_reduce backend=c
//@ title Reductions over a row that lies in several contiguous segments (batch and group norms)
//@ why Each segment is read in order, in strips, with one partial result a lane; no transposed copy is made.
//@ why What belongs to a segment (a channel's weight, an offset) is loaded once a segment, not once an element.
//@ why Rows are independent, so each thread keeps its row's statistics in registers.
//@ why Whole strips have a loop of their own: the compiler knows their length, unrolls them, and keeps lanes and constants in registers.
//@ why With STREAM=1 outputs leave by non-temporal stores, which saves reading the output's lines first.
//@ why With WIDE=1 gcc uses 512-bit vectors, which it avoids by itself: faster where they do not lower the clock.
//@ roles x=input y=output
//< plan
//@ kernel row_segments args=(x, y, rows:i64, segs:i64, cols:i64, cores:i32)
//>
//@ tune STRIP in {64, 128} default 64
//@ tune STREAM in {0, 1} default 1
//@ tune WIDE in {0, 1} default 0
//@ where WIDE == 0 || simd_bytes >= 64
#ifndef STRIP
#define STRIP 64
#define STREAM 1
#define WIDE 0
#endif
#if WIDE && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512")
#endif
#if STREAM
#define STORE_STRIP(dst, src, n) KW_STREAM_ROW(dst, src, n)
#else
#define STORE_STRIP(dst, src, n) memcpy((dst), (src), (size_t)(n) * sizeof(*(dst)))
#endif

//< signature
void row_segments(const float *restrict x, float *restrict y, int64_t rows, int64_t segs, int64_t cols, int32_t cores)
//>
{
	const int64_t whole = cols - cols % STRIP;

#pragma omp parallel num_threads(cores)
	{
		//< thread
		//>
#pragma omp for schedule(static)
		for (int64_t row = 0; row < rows; row++) {
			//< row
			const float *restrict x_row = x + row * cols;
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
				const float *restrict x_seg = x_row + seg * rows * cols;
				//>

				for (int64_t col = 0; col < whole; col += STRIP) {
					const int n = STRIP;

#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						sum_lanes[i] += x_seg[col + i];
						//>
					}
				}
				if (whole < cols) {
					const int64_t col = whole;
					const int n = (int)(cols - whole);

#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						sum_lanes[i] += x_seg[col + i];
						//>
					}
				}
			}
			//< fold
			for (int w = STRIP / 2; w > 0; w /= 2)
				for (int i = 0; i < w; i++)
					sum_lanes[i] += sum_lanes[i + w];
			const float mean = sum_lanes[0] / (float)(segs * cols);
			//>

			//>
			//< finish
			//>
			//< for write
			for (int64_t seg = 0; seg < segs; seg++) {
				//< segment
				const float *restrict x_seg = x_row + seg * rows * cols;
				float *restrict y_seg = y_row + seg * rows * cols;
				//>

				for (int64_t col = 0; col < whole; col += STRIP) {
					const int n = STRIP;
					//< strip
					float y_strip[STRIP];
					//>

#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						y_strip[i] = x_seg[col + i] - mean;
						//>
					}
					//< store
					STORE_STRIP(y_seg + col, y_strip, n);
					//>
				}
				if (whole < cols) {
					const int64_t col = whole;
					const int n = (int)(cols - whole);
					//< strip
					float y_strip[STRIP];
					//>

#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						y_strip[i] = x_seg[col + i] - mean;
						//>
					}
					//< store
					STORE_STRIP(y_seg + col, y_strip, n);
					//>
				}
			}
			//>
		}
#if STREAM
		kw_stream_fence();
#endif
	}
	//< total
	//>
}
