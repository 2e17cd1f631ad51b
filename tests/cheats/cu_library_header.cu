//# task affine
//# expect build_error/include build_error/undefined build_error/syntax build_error/type
//# why A header of a library, where a kernel is asked for.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
#include <cublas_v2.h>
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	cublasHandle_t h;

	cublasCreate(&h);
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
