//# task affine
//# expect build_error/undefined build_error/resources cheat/sandbox cheat/library runtime_error/crash
//# why Declares a function of the C library that opens files.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
int open(const char *path, int flags);
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	char path[12] = "/etc/passwd";
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2.0f * x[i] + (float)open(path, 0);
}
