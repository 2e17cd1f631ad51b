//# task affine
//# expect ok
//# why Copies to shared memory that run beside the threads (cp.async).
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	__shared__ float tile[256];
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	unsigned at = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);

	if (i < n)
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(x + i) : "memory");
	asm volatile("cp.async.wait_all;" ::: "memory");
	if (i < n)
		y[i] = 2.0f * tile[threadIdx.x] + 1.0f;
}
