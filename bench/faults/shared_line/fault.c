// planted: the sums of the threads lie side by side in one cache line, and each addition writes there
// expected: false_sharing
//@ kernel positive_sum args=(x, y, parts, n:i64)
//@ workspace parts i64[256] zero
#include <omp.h>

void positive_sum(const int64_t *x, int64_t *y, int64_t *parts, int64_t n)
{
#pragma omp parallel
	{
		int me = omp_get_thread_num();

#pragma omp for
		for (int64_t i = 0; i < n; i++)
			if (x[i] > 0)
				parts[me] += x[i];
	}
	y[0] = 0;
	for (int64_t t = 0; t < 256; t++)
		y[0] += parts[t];
}
