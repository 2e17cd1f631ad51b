//# task affine
//# expect wrong/unwritten
//# why Nothing is computed.
//@ kernel candidate grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i64)
__kernel void candidate(__global const float *x, __global float *y, long n)
{
}
