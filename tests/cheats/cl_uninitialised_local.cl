//# task rowsum
//# expect wrong/race wrong/mismatch wrong/nan cheat/state cheat/stale_output
//# why The running sum begins with what local memory happened to hold.
//@ kernel candidate grid=(rows) block=(1) smem=4 args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols, __local float *sum)
{
	for (long c = 0; c < cols; c++)
		sum[0] += x[get_group_id(0) * cols + c];
	y[get_group_id(0)] = sum[0];
}
