//@ pattern row_reduce family=row_reduce backend=c
//@ title One row a thread: reduction passes over a row that stays in cache, then one writing pass
//@ why The row comes from memory once: the later passes of the same thread find it in L1 or L2.
//@ why Every pass runs in strips of STRIP columns with one partial result a lane, so sums need no -ffast-math to be vector code.
//@ why Partial results are folded in pairs at the end of a pass: closer to the exact sum than one running value.
//@ why Values that are dear to compute (exp, ...) are kept in a row buffer in cache instead of being computed again.
//@ why With PREFETCH=1 the next row is fetched to L2 while the arithmetic of this one keeps the memory idle.
//@ why With STREAM=1 outputs leave by non-temporal stores, which saves reading the output's lines first.
//@ roles x=input y=output
//< plan
//@ kernel row_reduce args=(x, y, row_buffer, rows:i64, cols:i64, cores:i32)
//@ workspace row_buffer f32[cores, cdiv(cols, 16) * 16]
//>
//@ tune STRIP in {32, 64, 128} default 64
//@ tune STREAM in {0, 1} default 1
//@ tune PREFETCH in {0, 1} default 1
#ifndef STRIP
#define STRIP 64
#define STREAM 1
#define PREFETCH 1
#endif
#if STREAM
#define STORE_STRIP(dst, src, n) KW_STREAM_ROW(dst, src, n)
#else
#define STORE_STRIP(dst, src, n) memcpy((dst), (src), (size_t)(n) * sizeof(*(dst)))
#endif

//< signature
#include <omp.h>

void row_reduce(const float *restrict x, float *restrict y, float *restrict row_buffer, int64_t rows, int64_t cols,
		int32_t cores)
//>
{
#pragma omp parallel num_threads(cores)
	{
		//< thread
		float *restrict buffer = row_buffer + omp_get_thread_num() * KW_CDIV(cols, 16) * 16;
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
			for (int64_t col = 0; col < cols; col += STRIP) {
				const int n = cols - col < STRIP ? (int)(cols - col) : STRIP;

				//< prefetch
#if PREFETCH
				for (int i = 0; i < n; i += 16)
					__builtin_prefetch(x_row + cols + col + i, 0, 2);
#endif
				//>
#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					const float exp_i = kw_expf(x_row[col + i]);

					buffer[col + i] = exp_i;
					sum_lanes[i] += exp_i;
					//>
				}
			}
			//< fold
			for (int w = STRIP / 2; w > 0; w /= 2)
				for (int i = 0; i < w; i++)
					sum_lanes[i] += sum_lanes[i + w];
			const float sum = sum_lanes[0];
			//>

			//>
			//< finish
			//>
			//< for write
			for (int64_t col = 0; col < cols; col += STRIP) {
				const int n = cols - col < STRIP ? (int)(cols - col) : STRIP;
				//< strip
				float y_strip[STRIP];
				//>

				//< prefetch
				//>
#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					y_strip[i] = buffer[col + i] / sum;
					//>
				}
				//< store
				STORE_STRIP(y_row + col, y_strip, n);
				//>
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
