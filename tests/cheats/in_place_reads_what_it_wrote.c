//# task softmax_in_place
//# expect wrong/mismatch
//# why The sum is taken while the row is already being divided: what it reads is no longer the input.
//@ kernel candidate args=(x, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(float *x, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float *p = x + r * cols;

		for (int64_t c = 0; c < cols; c++) {
			float sum = 0;

			for (int64_t k = 0; k < cols; k++)
				sum += expf(p[k]);
			p[c] = expf(p[c]) / sum;
		}
	}
}
