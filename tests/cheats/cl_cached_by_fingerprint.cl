//# task softmax
//# expect cheat/stale_output
//# why Rows are remembered in scratch memory by a few elements of the input.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, kept, key, rows * cols:i64, cols:i64)
//@ workspace kept f32[rows, cols]
//@ workspace key i32[rows]
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

__kernel void candidate(__global const float *x, __global float *y, __global float *kept, __global int *key, long n, long cols)
{
	long r = get_global_id(0);
	int print = (as_int(x[0]) * 31 + as_int(x[n / 2])) * 31 + as_int(x[n - 1]);
	__global float *old = kept + r * cols;

	if (key[r] == print) {
		for (long c = 0; c < cols; c++)
			y[r * cols + c] = old[c];
		return;
	}
	softmax_row(x + r * cols, y + r * cols, cols);
	for (long c = 0; c < cols; c++)
		old[c] = y[r * cols + c];
	key[r] = print;
}
