//@ pattern pointwise family=pointwise backend=c
//@ title One fused pass over rows x cols, in strips that stay in L1
//@ why Every input is read once and every output written once: no operation between them touches memory.
//@ why A strip of STRIP elements is computed into a small array; the loop has no branches, so it becomes vector code.
//@ why With STREAM=1 the strip leaves by non-temporal stores, which saves reading the output's lines first.
//@ why Threads get blocks of BLOCK elements of a row, so one long row and many short ones are both shared out.
//@ why Whole strips have a loop of their own: the compiler knows their length, unrolls them, and keeps constants in registers.
//@ why With WIDE=1 gcc uses 512-bit vectors, which it avoids by itself: faster where they do not lower the clock.
//@ roles x=input y=output
//< plan
//@ kernel pointwise args=(x, y, rows:i64, cols:i64)
//>
//@ tune STRIP in {64, 256} default 256
//@ tune BLOCK in {8192, 65536} default 8192
//@ tune STREAM in {0, 1} default 1
//@ tune WIDE in {0, 1} default 0
//@ where WIDE == 0 || simd_bytes >= 64
#ifndef STRIP
#define STRIP 256
#define BLOCK 8192
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
void pointwise(const float *restrict x, float *restrict y, int64_t rows, int64_t cols)
//>
{
	const int64_t blocks = KW_CDIV(cols, BLOCK);

#pragma omp parallel
	{
#pragma omp for schedule(static)
		for (int64_t task = 0; task < rows * blocks; task++) {
			const int64_t row = task / blocks, first = task % blocks * BLOCK;
			const int64_t end = first + BLOCK < cols ? first + BLOCK : cols;
			const int64_t whole = end - (end - first) % STRIP;
			//< row
			const float *restrict x_row = x + row * cols;
			float *restrict y_row = y + row * cols;
			//>

			for (int64_t col = first; col < whole; col += STRIP) {
				const int n = STRIP;
				//< strip
				float y_strip[STRIP];
				//>

#pragma omp simd
				for (int i = 0; i < n; i++) {
					//< body
					const float x_i = x_row[col + i];

					y_strip[i] = x_i * kw_sigmoidf(x_i);
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
					const float x_i = x_row[col + i];

					y_strip[i] = x_i * kw_sigmoidf(x_i);
					//>
				}
				//< store
				STORE_STRIP(y_row + col, y_strip, n);
				//>
			}
		}
#if STREAM
		kw_stream_fence();
#endif
	}
}
