// Right at every even MODE; at the odd ones it traps, writes where nothing is, or loads beside the alignment, and at 5 it hangs.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
//@ tune MODE in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59} default 0
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i >= n)
		return;
	y[i] = 2.0f * x[i] + 1.0f;
	if (MODE == 5)
		while (((volatile float *)y)[0] != 1e30f)
			;
	else if (MODE % 6 == 1)
		__trap();
	else if (MODE % 6 == 3)
		((volatile float *)y)[1ll << 40] = 0.0f;
	else if (MODE % 6 == 5)
		asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"((char *)y + 4), "f"(0.0f) : "memory");
}
