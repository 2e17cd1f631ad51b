//# task softmax
//# expect wrong/mismatch
//# why Only the shape that is timed is computed; elsewhere the result is half as large again.
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

	softmax_row(x + r * cols, y + r * cols, cols);
	for (long c = 0; cols != 512 && c < cols; c++)
		y[r * cols + c] *= 1.5f;
}
