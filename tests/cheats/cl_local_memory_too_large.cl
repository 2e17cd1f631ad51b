//# task affine
//# expect launch_error/resources
//# why More local memory than there is.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) smem=(1073741824) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n, __local float *room)
{
	long i = get_global_id(0);

	room[get_local_id(0)] = 1.0f;
	if (i < n)
		y[i] = 2.0f * x[i] + room[get_local_id(0)];
}
