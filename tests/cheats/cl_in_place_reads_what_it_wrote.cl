//# task softmax_in_place
//# expect wrong/mismatch
//# why The sum is taken while the row is being divided: what it reads is no longer the input.
//@ kernel candidate grid=(cdiv(rows, 16)) block=(16) args=(x, rows:i64, cols:i64)
__kernel void candidate(__global float *x, long rows, long cols)
{
	long r = get_global_id(0);
	__global float *p = x + r * cols;
	float top = -INFINITY, sum = 0.0f;

	if (r >= rows)
		return;
	(void)top;
	for (long c = 0; c < cols; c++) {
		p[c] = exp(p[c]);
		sum += exp(p[c]);
	}
	for (long c = 0; c < cols; c++)
		p[c] /= sum;
}
