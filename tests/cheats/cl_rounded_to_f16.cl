//# task softmax
//# expect wrong/precision
//# why Rounded to f16 and widened at the end.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	__global const float *p = x + get_global_id(0) * cols;
	__global float *q = y + get_global_id(0) * cols;
	float m = -INFINITY, s = 0.0f;

	for (long c = 0; c < cols; c++)
		m = kw_maxf(p[c], m);
	for (long c = 0; c < cols; c++)
		s += exp(p[c] - m);
	for (long c = 0; c < cols; c++)
		q[c] = kw_f16_to_f32(kw_f16_from_f32(exp(p[c] - m) / s));
}
