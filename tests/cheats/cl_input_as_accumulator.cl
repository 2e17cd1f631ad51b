//# task rowsum
//# expect wrong/input_modified
//# why The sums are added up in the input itself.
//@ kernel add grid=(rows) block=(1) args=(x, cols:i64)
//@ kernel candidate grid=(rows) block=(1) args=(x, y, cols:i64)
__kernel void add(__global const float *x, long cols)
{
	__global float *row = (__global float *)x + get_global_id(0) * cols;

	for (long c = 1; c < cols; c++)
		row[0] += row[c];
}

__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	y[get_global_id(0)] = x[get_global_id(0) * cols];
}
