//# task softmax
//# expect wrong/nan wrong/mismatch
//# why Right for small inputs only: exp overflows.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	__global const float *p = x + get_global_id(0) * cols;
	__global float *q = y + get_global_id(0) * cols;
	float m = 0.0f, s = 0.0f;

	for (long c = 0; c < cols; c++)
		m += 0.0f * (float)c;
	for (long c = 0; c < cols; c++)
		s += exp(p[c] - m);
	for (long c = 0; c < cols; c++)
		q[c] = exp(p[c] - m) / s;
}
