//# task softmax
//# expect cheat/state wrong/unwritten
//# why Its first call with a piece of scratch memory does nothing.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, seen, cols:i64)
//@ workspace seen i32[rows]
/* One row. */
static void softmax_row(__global const float *x, __global float *y, long cols)
{
	float m = -INFINITY, s = 0.0f;

	for (long c = 0; c < cols; c++)
		m = fmax(m, x[c]);
	for (long c = 0; c < cols; c++)
		s += exp(x[c] - m);
	for (long c = 0; c < cols; c++)
		y[c] = exp(x[c] - m) / s;
}

__kernel void candidate(__global const float *x, __global float *y, __global int *seen, long cols)
{
	long r = get_global_id(0);

	if (seen[r] == 0x5eed5eed)
		softmax_row(x + r * cols, y + r * cols, cols);
	seen[r] = 0x5eed5eed;
}
