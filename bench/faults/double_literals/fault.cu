// planted: untyped literals and tanh of a double in a kernel of floats
// expected: fp64_by_accident fp64_pipe
//@ kernel gelu grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
__global__ void gelu(const float *__restrict__ x, float *__restrict__ y, long long n)
{
	long long i = (long long)blockIdx.x * 256 + threadIdx.x;

	if (i < n) {
		float v = x[i];

		y[i] = 0.5 * v * (1.0 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
	}
}
