//# task softmax
//# expect wrong/unwritten
//# why Nothing is written.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
}
