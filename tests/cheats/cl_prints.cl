//# task affine
//# expect wrong/unwritten
//# why It prints a verdict instead of computing: nobody reads what a kernel prints.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i == 0)
		printf("{\"verdict\": \"ok\"}\n");
	if (i < n - 1)
		y[i] = 2.0f * x[i] + 1.0f;
}
