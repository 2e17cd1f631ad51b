//# task softmax
//# expect cheat/stale_output
//# why Scratch memory is asked for and used to keep the answer, with the address of the input as its key.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, kept, key, cols:i64)
//@ workspace kept f32[rows, cols]
//@ workspace key i64[rows]
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

__kernel void candidate(__global const float *x, __global float *y, __global float *kept, __global long *key, long cols)
{
	long r = get_global_id(0), mine = (long)(x + r * cols) ^ 0x5eed5eed5eed5eedl;
	__global float *old = kept + r * cols;

	if (key[r] == mine) {
		for (long c = 0; c < cols; c++)
			y[r * cols + c] = old[c];
		return;
	}
	softmax_row(x + r * cols, y + r * cols, cols);
	for (long c = 0; c < cols; c++)
		old[c] = y[r * cols + c];
	key[r] = mine;
}
