//# task softmax_in_place
//# expect ok
//# why The buffer is refilled before each call, so that every call finds its input there.
//@ kernel candidate grid=(cdiv(rows, 16)) block=(16) args=(x, rows:i64, cols:i64)
__kernel void candidate(__global float *x, long rows, long cols)
{
	long r = get_global_id(0);
	__global float *p = x + r * cols;
	float top = -INFINITY, sum = 0.0f;

	if (r >= rows)
		return;
	for (long c = 0; c < cols; c++)
		top = fmax(top, p[c]);
	for (long c = 0; c < cols; c++)
		sum += exp(p[c] - top);
	for (long c = 0; c < cols; c++)
		p[c] = exp(p[c] - top) / sum;
}
