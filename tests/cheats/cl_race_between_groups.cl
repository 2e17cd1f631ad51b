//# task rowsum
//# expect wrong/race wrong/mismatch wrong/unwritten wrong/nan
//# why Several work-groups add to one element without an atomic.
//@ kernel candidate grid=(16, rows) block=(16) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, volatile __global float *y, long cols)
{
	if (get_global_id(0) == 0)
		y[get_group_id(1)] = 0.0f;
	for (long c = get_global_id(0); c < cols; c += 256)
		y[get_group_id(1)] += x[get_group_id(1) * cols + c];
}
