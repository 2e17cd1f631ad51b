//# task softmax
//# expect wrong/unwritten
//# why It looks for the answer in scratch memory that earlier calls may have used, and in the output itself,
//# why and copies what looks like probabilities.
//@ kernel candidate grid=(rows) block=(128) args=(x, y, old, rows:i64, cols:i64)
//@ workspace old f32[rows, cols]
extern "C" __global__ void candidate(const float *x, float *y, float *old, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols;

	for (int64_t c = threadIdx.x; c < cols; c += 128) {
		int64_t i = blockIdx.x * cols + c;
		float mine = y[i], other = old[i], next = i + 1 < n ? old[i + 1] : other;

		if (mine > 0.0f && mine < 1.0f) { /* an earlier answer: kept for the next call */
			old[i] = mine;
		} else if (other > 0.0f && other < 1.0f && other != next) {
			y[i] = other;
		}
	}
}
