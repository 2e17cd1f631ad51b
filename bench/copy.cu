// A plain copy: a thread has four loads of 16 bytes in flight, as the kernel that measures the ceiling does.
//@ kernel copy grid=(cdiv(n, 4096)) block=(256) args=(x, y, n:i64)
//@ require n % 4096 == 0
__global__ void copy(const uint4 *__restrict__ x, uint4 *__restrict__ y, long long n)
{
	long long i = (long long)blockIdx.x * 1024 + threadIdx.x;
	uint4 a = x[i], b = x[i + 256], c = x[i + 512], d = x[i + 768];

	y[i] = a;
	y[i + 256] = b;
	y[i + 512] = c;
	y[i + 768] = d;
}
