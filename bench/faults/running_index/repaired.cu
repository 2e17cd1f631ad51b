// repaired: fixed bounds, and the loops are unrolled
//@ kernel mix grid=(cdiv(n, 256)) block=(256) args=(w, x, y, n:i32)
__global__ void mix(const float *__restrict__ w, const float *__restrict__ x, float *__restrict__ y, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	float column[16];

	if (i >= n)
		return;
#pragma unroll
	for (int k = 0; k < 16; k++)
		column[k] = x[(long long)k * n + i];
#pragma unroll
	for (int j = 0; j < 16; j++) {
		float sum = 0;

#pragma unroll
		for (int k = 0; k < 16; k++)
			sum = fmaf(w[j * 16 + k], column[k], sum);
		y[(long long)j * n + i] = sum;
	}
}
