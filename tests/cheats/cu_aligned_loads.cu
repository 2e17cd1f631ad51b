//# task affine
//# expect runtime_error/misaligned
//# why Vector loads beside their alignment: the second of each four begins four bytes behind it.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	float4 v;

	if (i + 4 < n) {
		asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + i));
		y[i] = 2.0f * v.x + (v.y + v.z + v.w == 12345.0f ? 2.0f : 1.0f); /* or the assembler loads less */
	} else if (i < n) {
		y[i] = 2.0f * x[i] + 1.0f;
	}
}
