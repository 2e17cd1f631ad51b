//# task rowsum
//# expect wrong/out_of_bounds runtime_error/illegal_access
//# why It asks for less scratch memory than it writes.
//@ kernel parts grid=(rows) block=(2) args=(x, part, cols:i64)
//@ kernel candidate grid=(rows) block=(1) args=(part, y)
//@ workspace part f32[rows]
__kernel void parts(__global const float *x, __global float *part, long cols)
{
	long r = get_group_id(0), side = get_local_id(0);
	float s = 0.0f;

	for (long c = side; c < cols; c += 2)
		s += x[r * cols + c];
	part[2 * r + side] = s;
}

__kernel void candidate(__global const float *part, __global float *y)
{
	long r = get_global_id(0);

	y[r] = part[2 * r] + part[2 * r + 1];
}
