//# task rowsum
//# expect ok
//# why The sum is kept in double.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	double s = 0.0;

	for (long c = 0; c < cols; c++)
		s += x[get_group_id(0) * cols + c];
	y[get_group_id(0)] = (float)s;
}
