//# task matmul
//# expect build_error/plan
//# why A flag that links somebody's matrix product.
//@ flags -lopenblas
//@ kernel candidate args=(a, b, c, m:i64, n:i64, k:i64)
#include <stdint.h>

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
		 float *, int);

void candidate(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
	cblas_sgemm(101, 111, 111, (int)m, (int)n, (int)k, 1.0f, a, (int)k, b, (int)n, 0.0f, c, (int)n);
}
