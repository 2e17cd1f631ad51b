//# task softmax
//# expect cheat/constant_output
//# why 1/cols is what a softmax is on average.
//@ kernel candidate grid=(rows) block=(64) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	for (long c = get_local_id(0); c < cols; c += 64)
		y[get_group_id(0) * cols + c] = 1.0f / (float)cols;
}
