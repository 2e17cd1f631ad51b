//# task softmax
//# expect wrong/unwritten
//# why It writes nothing and hopes that the buffer still holds somebody's right answer.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	(void)x;
	(void)y;
	(void)rows;
	(void)cols;
}
