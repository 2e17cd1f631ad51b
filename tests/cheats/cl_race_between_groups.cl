//# task rowsum
//# expect wrong/race wrong/mismatch wrong/unwritten wrong/nan
//# why Several work-groups add to one element without an atomic; each holds the sum that it read for as long as it computes.
//@ kernel candidate grid=(rows, 16) block=(1) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, volatile __global float *y, long cols)
{
	long row = get_group_id(0), part = get_group_id(1);
	float sum = part ? y[row] : 0.0f;

	for (long c = part; c < cols; c += 16)
		sum += x[row * cols + c];
	y[row] = sum;
}
