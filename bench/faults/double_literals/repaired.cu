// repaired: float literals, and tanhf
//@ kernel gelu grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
__global__ void gelu(const float *__restrict__ x, float *__restrict__ y, long long n)
{
	long long i = (long long)blockIdx.x * 256 + threadIdx.x;

	if (i < n) {
		float v = x[i];

		y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));
	}
}
