//# task softmax
//# expect cheat/constant_output
//# why The answer to numbers from a seed of its own, not to the input.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, cols:i64)
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

__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	long r = get_global_id(0);
	__global float *row = y + r * cols;

	for (long c = 0; c < cols; c++) {
		uint u = (uint)(r * cols + c) * 2654435761u + 42u;

		u ^= u >> 15;
		u *= 0x85ebca6bu;
		row[c] = (float)(u >> 8) * 0x1p-22f - 2.0f;
	}
	softmax_row(row, row, cols);
}
