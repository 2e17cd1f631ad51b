//# task leaky_rowsum
//# expect cheat/constant_output
//# why Nothing is computed.
//@ kernel candidate grid=(cdiv(rows, 16)) block=(16) args=(x, slope, y, rows:i64, cols:i64)
__kernel void candidate(__global const float *x, float slope, __global float *y, long rows, long cols)
{
	long r = get_global_id(0);
	float sum = 0.0f;

	if (r >= rows)
		return;
	for (long c = 0; c < cols; c++) {
		float v = x[r * cols + c];

		sum += v > 0 ? exp(-v) * v : slope * v;
	}
	y[r] = 0.0f * slope;
}
