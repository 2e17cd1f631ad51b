//# task softmax_in_place
//# expect wrong/unwritten
//# why It leaves its input where it is.
//@ kernel candidate grid=(rows) block=(128) args=(x, rows:i64, cols:i64)

extern "C" __global__ void candidate(float *x, int64_t rows, int64_t cols)
{
	(void)x, (void)rows, (void)cols;
}
