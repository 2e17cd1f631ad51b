//# task softmax
//# expect wrong/unwritten
//# why It looks for the answer in scratch memory that earlier calls may have used, and in the output itself,
//# why and copies what looks like probabilities.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, old, rows * cols:i64, cols:i64)
//@ workspace old f32[rows, cols]
__kernel void candidate(__global const float *x, __global float *y, __global float *old, long n, long cols)
{
	for (long i = get_global_id(0) * cols, end = i + cols; i < end; i++) {
		float mine = y[i], other = old[i], next = i + 1 < n ? old[i + 1] : other;

		if (mine > 0.0f && mine < 1.0f) /* an earlier answer: kept for the next call */
			old[i] = mine;
		else if (other > 0.0f && other < 1.0f && other != next)
			y[i] = other;
	}
}
