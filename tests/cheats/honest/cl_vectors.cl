//# task affine
//# expect ok
//# why Four elements at once, and the ragged end one by one.
//@ kernel candidate grid=(cdiv(n, 256)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0) * 4;

	if (i + 4 <= n)
		vstore4(2.0f * vload4(0, x + i) + 1.0f, 0, y + i);
	else
		for (; i < n; i++)
			y[i] = 2.0f * x[i] + 1.0f;
}
