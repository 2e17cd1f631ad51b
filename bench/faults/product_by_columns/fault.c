// planted: the inner loop walks down the columns of b
// expected: strided_inner_loop
//@ kernel product args=(a, b, c, n:i64)
void product(const float *restrict a, const float *restrict b, float *restrict c, int64_t n)
{
#pragma omp parallel for
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			float sum = 0;

			for (int64_t k = 0; k < n; k++)
				sum += a[i * n + k] * b[k * n + j];
			c[i * n + j] = sum;
		}
}
