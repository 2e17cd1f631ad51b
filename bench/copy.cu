// A plain copy: 16 bytes a thread, as the kernel that measures the ceiling does.
//@ kernel copy grid=(cdiv(n, 1024)) block=(256) args=(x, y, n:i64)
//@ require n % 1024 == 0
__global__ void copy(const uint4 *__restrict__ x, uint4 *__restrict__ y, long long n)
{
	long long i = (long long)blockIdx.x * 256 + threadIdx.x;

	y[i] = x[i];
}
