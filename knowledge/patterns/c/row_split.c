//@ pattern row_split family=row_reduce backend=c
//@ title Few, very long rows: all threads share each row, one partial result a block
//@ why A whole-tensor sum or a handful of long rows would keep most cores idle with one row a thread.
//@ why Each block of BLOCK columns gives one partial result; blocks, not threads, fix the order of the sum, so it is the same on every machine.
//@ why Inside a block the strips of STRIP lanes are vector code and fold in pairs.
//@ why Nothing is buffered: a row that is longer than the caches is read again, which costs less than writing and reading a copy.
//@ why Whole strips have a loop of their own: the compiler knows their length, unrolls them, and keeps lanes and constants in registers.
//@ why With WIDE=1 gcc uses 512-bit vectors, which it avoids by itself: faster where they do not lower the clock.
//@ when rows <= 64
//@ roles x=input y=output
//< plan
//@ kernel row_split args=(x, y, sum_partial, rows:i64, cols:i64)
//@ workspace sum_partial f32[cdiv(cols, BLOCK)]
//>
//@ tune STRIP in {64, 128} default 64
//@ tune BLOCK in {16384, 131072} default 16384
//@ tune STREAM in {0, 1} default 1
//@ tune WIDE in {0, 1} default 0
//@ where WIDE == 0 || simd_bytes >= 64
#ifndef STRIP
#define STRIP 64
#define BLOCK 16384
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
void row_split(const float *restrict x, float *restrict y, float *restrict sum_partial, int64_t rows, int64_t cols)
//>
{
	const int64_t blocks = KW_CDIV(cols, BLOCK);

	for (int64_t row = 0; row < rows; row++) {
		//< row
		const float *restrict x_row = x + row * cols;
		float *restrict y_row = y + row * cols;
		//>

		//< for stage
#pragma omp parallel for schedule(static)
		for (int64_t block = 0; block < blocks; block++) {
			const int64_t first = block * BLOCK, end = first + BLOCK < cols ? first + BLOCK : cols;
			const int64_t whole = end - (end - first) % STRIP;
			//< lanes
			float sum_lanes[STRIP];

			for (int i = 0; i < STRIP; i++)
				sum_lanes[i] = 0.0f;
			//>
			for (int64_t col = first; col < whole; col += STRIP) {
				const int n = STRIP;

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					sum_lanes[i] += x_row[col + i];
					//>
				}
			}
			if (whole < end) {
				const int64_t col = whole;
				const int n = (int)(end - whole);

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					sum_lanes[i] += x_row[col + i];
					//>
				}
			}
			//< fold
			for (int w = STRIP / 2; w > 0; w /= 2)
				for (int i = 0; i < w; i++)
					sum_lanes[i] += sum_lanes[i + w];
			sum_partial[block] = sum_lanes[0];
			//>
		}
		//< combine
		float sum = 0.0f;

		for (int64_t block = 0; block < blocks; block++)
			sum += sum_partial[block];
		//>

		//>
		//< finish
		//>
		//< for write
#pragma omp parallel for schedule(static)
		for (int64_t block = 0; block < blocks; block++) {
			const int64_t first = block * BLOCK, end = first + BLOCK < cols ? first + BLOCK : cols;
			const int64_t whole = end - (end - first) % STRIP;

			for (int64_t col = first; col < whole; col += STRIP) {
				const int n = STRIP;
				//< strip
				float y_strip[STRIP];
				//>

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					y_strip[i] = x_row[col + i] / sum;
					//>
				}
				//< store
				STORE_STRIP(y_row + col, y_strip, n);
				//>
			}
			if (whole < end) {
				const int64_t col = whole;
				const int n = (int)(end - whole);
				//< strip
				float y_strip[STRIP];
				//>

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					y_strip[i] = x_row[col + i] / sum;
					//>
				}
				//< store
				STORE_STRIP(y_row + col, y_strip, n);
				//>
			}
#if STREAM
			kw_stream_fence();
#endif
		}
		//>
	}
	//< total
	//>
}
