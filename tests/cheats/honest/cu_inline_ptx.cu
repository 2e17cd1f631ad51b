//# task affine
//# expect ok
//# why Inline PTX, which is listed for a person to look at and is no reason to refuse it.
//# flag needs a person's eye
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	float v;

	if (i >= n)
		return;
	asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(x + i));
	asm("fma.rn.f32 %0, %1, 0f40000000, 0f3f800000;" : "=f"(v) : "f"(v));
	asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(y + i), "f"(v) : "memory");
}
