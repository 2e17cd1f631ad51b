//# task rowsum
//# expect ok
//# why Partial sums in a workspace, joined by a second kernel.
//@ kernel sums grid=(8, rows) block=(8) args=(x, partial, cols:i64)
//@ kernel join grid=(cdiv(rows, 16)) block=(16) args=(partial, y, rows:i64)
//@ workspace partial f32[rows, 64] zero
__kernel void sums(__global const float *x, __global float *partial, long cols)
{
	long row = get_group_id(1), at = get_global_id(0);
	float s = 0.0f;

	for (long c = at; c < cols; c += 64)
		s += x[row * cols + c];
	partial[row * 64 + at] += s;
}

__kernel void join(__global const float *partial, __global float *y, long rows)
{
	long row = get_global_id(0);
	float s = 0.0f;

	for (int i = 0; row < rows && i < 64; i++)
		s += partial[row * 64 + i];
	if (row < rows)
		y[row] = s;
}
