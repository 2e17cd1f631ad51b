// Right at every even MODE; at the odd ones it traps, writes where nothing is, or loads beside the alignment, and at 5 it hangs.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
//@ tune MODE in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159} default 0
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
