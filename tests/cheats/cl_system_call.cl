//# task affine
//# expect cheat/sandbox build_error/undefined build_error/type build_error/syntax
//# why Inline assembly asks the kernel of the system for a file.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0), result;
	char path[12] = "/etc/passwd";

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
	__asm__ volatile("syscall" : "=a"(result) : "a"(2L), "D"(path), "S"(0L), "d"(0L) : "rcx", "r11", "memory");
}
