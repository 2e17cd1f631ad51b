//# task affine
//# expect runtime_error/exited build_error/undefined build_error/type build_error/syntax
//# why exit_group(0), which looks like success to who waits for a process.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0), result;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
	__asm__ volatile("syscall" : "=a"(result) : "a"(231L), "D"(0L) : "rcx", "r11", "memory");
}
