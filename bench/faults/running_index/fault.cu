// planted: the loops over a thread's array have a bound that only the launch knows, so that the array lies in local memory
// expected: local_memory dynamic_local_array
//@ kernel mix grid=(cdiv(n, 256)) block=(256) args=(w, x, y, n:i32, taps:i32)
__global__ void mix(const float *__restrict__ w, const float *__restrict__ x, float *__restrict__ y, int n, int taps)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	float column[16];

	if (i >= n)
		return;
	for (int k = 0; k < taps; k++)
		column[k] = x[(long long)k * n + i];
	for (int j = 0; j < taps; j++) {
		float sum = 0;

		for (int k = 0; k < taps; k++)
			sum = fmaf(w[j * taps + k], column[k], sum);
		y[(long long)j * n + i] = sum;
	}
}
