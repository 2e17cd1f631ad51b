//# task softmax_in_place
//# expect ok
//# why What is updated in place may be passed twice: once to be read and once to be written.
//@ kernel candidate grid=(cdiv(rows, 16)) block=(16) args=(x, x, rows:i64, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long rows, long cols)
{
	long r = get_global_id(0);
	const __global float *p = x + r * cols;
	float top = -INFINITY, sum = 0.0f;

	if (r >= rows)
		return;
	for (long c = 0; c < cols; c++)
		top = fmax(top, p[c]);
	for (long c = 0; c < cols; c++)
		sum += exp(p[c] - top);
	for (long c = 0; c < cols; c++)
		y[r * cols + c] = exp(p[c] - top) / sum;
}
