#include <stdint.h>
#include <omp.h>
#include <math.h>
float total(const float *x, int64_t n) { float s = 0; for (int64_t i = 0; i < n; i++) s += x[i]; return s; }
void good(const float *restrict x, float *restrict y, int64_t n)
{
	#pragma omp parallel for
	for (int64_t i = 0; i < n; i++) y[i] = x[i] * 2.0f;
}
void columns(const float *a, float *out, int64_t n)
{
	for (int64_t j = 0; j < n; j++) { out[j] = 0; for (int64_t i = 0; i < n; i++) out[j] += a[i * n + j]; }
}
void shared_sums(const float *x, float *part, int64_t n)
{
	#pragma omp parallel
	{
		int t = omp_get_thread_num();
		#pragma omp for
		for (int64_t i = 0; i < n; i++) part[t] += x[i];
	}
}
void half(const float *x, float *y, int64_t n) { for (int64_t i = 0; i < n; i++) y[i] = x[i] * 0.5; }
void wrap(const float *x, float *y, int64_t n, int64_t w) { for (int64_t i = 0; i < n; i++) y[i] = x[i % w]; }
void blocks(const float *x, float *y, int64_t n, int64_t parts)
{
	for (int64_t task = 0; task < parts; task++) {
		const int64_t first = task % parts * 16; /* once a block: no fault */
		float tile[4][4];

		for (int64_t i = 0; i < 4; i++)
			tile[i][0] = x[first + i] * 2.0f;
		for (int64_t i = 0; i < 4; i++)
			y[first + i] = tile[i][0];
	}
}
