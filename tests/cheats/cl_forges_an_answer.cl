//# task affine
//# expect cheat/forged_answer build_error/undefined build_error/type build_error/syntax
//# why Writes on the judge's channel.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0), result;
	char text[8] = "done";

	if (i == 0)
		__asm__ volatile("syscall" : "=a"(result) : "a"(1L), "D"(3L), "S"(text), "d"(5L) : "rcx", "r11", "memory");
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
