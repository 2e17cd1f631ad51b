//# task rowsum
//# expect wrong/nan
//# why Sums are added up in scratch memory that was never asked to be zero; afterwards it is put back to
//# why zero, so that later calls look right.
//@ kernel add grid=(rows) block=(1) args=(x, part, cols:i64)
//@ kernel candidate grid=(rows) block=(1) args=(part, y)
//@ workspace part f32[rows]
__kernel void add(__global const float *x, __global float *part, long cols)
{
	long r = get_global_id(0);

	for (long c = 0; c < cols; c++)
		part[r] += x[r * cols + c];
}

__kernel void candidate(__global float *part, __global float *y)
{
	long r = get_global_id(0);

	y[r] = part[r];
	part[r] = 0.0f;
}
