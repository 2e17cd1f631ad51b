//# task rowmax
//# expect ok
//# why Work-groups share a row; a maximum by atomics on ordered bits.
//@ kernel begin grid=(cdiv(rows, 64)) block=(64) args=(best, rows:i64)
//@ kernel most grid=(4, rows) block=(32) args=(x, best, cols:i64)
//@ kernel end grid=(cdiv(rows, 64)) block=(64) args=(best, y, rows:i64)
//@ workspace best i32[rows]
static int ordered(float v)
{
	int i = as_int(v);

	return i < 0 ? i ^ 0x7fffffff : i;
}

__kernel void begin(__global int *best, long rows)
{
	if (get_global_id(0) < rows)
		best[get_global_id(0)] = ordered(-INFINITY);
}

__kernel void most(__global const float *x, volatile __global int *best, long cols)
{
	for (long c = get_global_id(0); c < cols; c += 128)
		atomic_max(&best[get_group_id(1)], ordered(x[get_group_id(1) * cols + c]));
}

__kernel void end(__global const int *best, __global float *y, long rows)
{
	long row = get_global_id(0);

	if (row < rows) {
		int i = best[row];

		y[row] = as_float(i < 0 ? i ^ 0x7fffffff : i);
	}
}
