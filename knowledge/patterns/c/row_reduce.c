//@ pattern row_reduce family=row_reduce backend=c
//@ title One row a thread: reduction passes over a row that stays in cache; the last one writes the row before
//@ why The row comes from memory once: the later passes of the same thread find it in L1 or L2.
//@ why A row is written while the next one is reduced (and the one after is fetched): memory reads, writes and computes at the same time, not in turns.
//@ why Every pass runs in strips of STRIP columns with one partial result a lane, so sums need no -ffast-math to be vector code.
//@ why Whole strips have a loop of their own: the compiler knows their length, unrolls them, and keeps lanes and constants in registers.
//@ why Partial results are folded in pairs at the end of a pass: closer to the exact sum than one running value.
//@ why Values that are dear to compute (exp, ...) are kept in a row buffer in cache instead of being computed again.
//@ why With PREFETCH=1 the next row is fetched to L2 while the arithmetic of this one keeps the memory idle.
//@ why With STREAM=1 outputs leave by non-temporal stores, which saves reading the output's lines first.
//@ why With WIDE=1 gcc uses 512-bit vectors, which it avoids by itself: faster where they do not lower the clock.
//@ roles x=input y=output
//< plan
//@ kernel row_reduce args=(x, y, row_buffer, rows:i64, cols:i64, cores:i32)
//@ workspace row_buffer f32[cores, cdiv(cols, 16) * 16]
//>
//@ tune STRIP in {64, 128} default 64
//@ tune STREAM in {0, 1} default 1
//@ tune PREFETCH in {0, 1} default 1
//@ tune WIDE in {0, 1} default 0
//@ where WIDE == 0 || simd_bytes >= 64
#ifndef STRIP
#define STRIP 64
#define STREAM 1
#define PREFETCH 1
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
#include <omp.h>

void row_reduce(const float *restrict x, float *restrict y, float *restrict row_buffer, int64_t rows, int64_t cols,
		int32_t cores)
//>
{
#pragma omp parallel num_threads(cores)
	{
		const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
		const int64_t first = rows * me / team, end = rows * (me + 1) / team;
		//< thread
		float *restrict buffer = row_buffer + omp_get_thread_num() * KW_CDIV(cols, 16) * 16;
		//>
		//< carried
		kw_divisor by_sum_before = { 0 };
		//>

		/* A step reduces its row and writes the row of the step before; the last step only writes. */
		for (int64_t step = first; first < end && step <= end; step++) {
			const int64_t row = step < end ? step : end - 1, width = step < end ? cols : 0;
			//< row
			const float *restrict x_row = x + row * cols;
			//>

			//< for stage
			//< lanes
			float max_lanes[STRIP];

			for (int i = 0; i < STRIP; i++)
				max_lanes[i] = -KW_INF;
			//>
			for (int64_t col = 0; col < width - width % STRIP; col += STRIP) {
				const int n = STRIP;

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					max_lanes[i] = kw_maxf(max_lanes[i], x_row[col + i]);
					//>
				}
			}
			if (width % STRIP) {
				const int64_t col = width - width % STRIP;
				const int n = (int)(width % STRIP);

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					max_lanes[i] = kw_maxf(max_lanes[i], x_row[col + i]);
					//>
				}
			}
			//< fold
			for (int w = STRIP / 2; w > 0; w /= 2)
				for (int i = 0; i < w; i++)
					max_lanes[i] = kw_maxf(max_lanes[i], max_lanes[i + w]);
			const float max = max_lanes[0];
			//>

			//>
			//< for last
			//< lanes
			float sum_lanes[STRIP];

			for (int i = 0; i < STRIP; i++)
				sum_lanes[i] = 0.0f;
			//>
			for (int64_t col = 0; col < cols - cols % STRIP; col += STRIP) {
				const int n = STRIP;

				//< for write
				if (step > first) {
					const int64_t row = step - 1;
					//< row
					float *restrict y_row = y + row * cols;
					//>
					//< before
					const kw_divisor by_sum = by_sum_before;
					//>
					//< strip
					float y_strip[STRIP];
					//>

#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						y_strip[i] = kw_overf(buffer[col + i], by_sum);
						//>
					}
					//< store
					STORE_STRIP(y_row + col, y_strip, n);
					//>
				}
				//>
				if (step < end) {
					//< prefetch
#if PREFETCH
					for (int i = 0; i < n; i += 16)
						__builtin_prefetch(x_row + cols + col + i, 0, 2);
#endif
					//>
#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						const float exp_i = kw_exp_negf(x_row[col + i] - max);

						buffer[col + i] = exp_i;
						sum_lanes[i] += exp_i;
						//>
					}
				}
			}
			if (cols % STRIP) {
				const int64_t col = cols - cols % STRIP;
				const int n = (int)(cols % STRIP);

				//< for write
				if (step > first) {
					const int64_t row = step - 1;
					//< row
					float *restrict y_row = y + row * cols;
					//>
					//< before
					const kw_divisor by_sum = by_sum_before;
					//>
					//< strip
					float y_strip[STRIP];
					//>

#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						y_strip[i] = kw_overf(buffer[col + i], by_sum);
						//>
					}
					//< store
					STORE_STRIP(y_row + col, y_strip, n);
					//>
				}
				//>
				if (step < end) {
#pragma omp simd
					for (int i = 0; i < n; i++) {
						//< body
						const float exp_i = kw_exp_negf(x_row[col + i] - max);

						buffer[col + i] = exp_i;
						sum_lanes[i] += exp_i;
						//>
					}
				}
			}
			//< fold
			for (int w = STRIP / 2; w > 0; w /= 2)
				for (int i = 0; i < w; i++)
					sum_lanes[i] += sum_lanes[i + w];
			const float sum = sum_lanes[0];
			const kw_divisor by_sum = kw_divisor_of(sum);
			//>
			//< carry
			by_sum_before = by_sum;
			//>
			//>
			//< for finish
			if (step < end) {
				//< body
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
