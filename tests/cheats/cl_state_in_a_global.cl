//# task affine
//# expect build_error/type cheat/state cheat/stale_output wrong/mismatch
//# why Answers of the first call are kept in a variable of the program, where the runtime has those.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__global float kept[4096];
__global int calls;
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i >= n)
		return;
	if (calls == 0 && i < 4096)
		kept[i] = 2.0f * x[i] + 1.0f;
	y[i] = i < 4096 ? kept[i] : 2.0f * x[i] + 1.0f;
	if (i == n - 1)
		calls = 1;
}
