//# task centred
//# expect wrong/alias
//# why One output through two pointers; the other gets none.
//@ kernel candidate grid=(cdiv(rows, 16)) block=(16) args=(x, y, y, rows:i64, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, __global float *m, long rows, long cols)
{
	long r = get_global_id(0);
	float sum = 0.0f;

	if (r >= rows)
		return;
	for (long c = 0; c < cols; c++)
		sum += x[r * cols + c];
	sum /= (float)cols;
	for (long c = 0; c < cols; c++)
		y[r * cols + c] = x[r * cols + c] - sum;
	m[r] = sum;
}
