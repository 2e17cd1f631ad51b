//# task softmax
//# expect wrong/nan
//# why NaN everywhere, so that no comparison is true.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	long r = get_global_id(0);

	for (long c = 0; c < cols; c++)
		y[r * cols + c] = NAN;
}
