//# task affine
//# expect ok
//# why C++: templates, lambdas and a kernel that is not extern "C".
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
template <typename T, typename F> static __device__ void each(const T *x, T *y, int64_t n, F f)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = f(x[i]);
}

__global__ void candidate(const float *x, float *y, int64_t n)
{
	each(x, y, n, [](float v) { return 2.0f * v + 1.0f; });
}
