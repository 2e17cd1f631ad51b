//# task affine
//# expect build_error/include
//# why The compiler is asked to read a file of the machine.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
#include "/etc/passwd"
__kernel void candidate(__global const float *x, __global float *y, long n)
{
}
