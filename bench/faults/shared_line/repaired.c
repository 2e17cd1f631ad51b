// repaired: a variable of its own for each thread, stored once
//@ kernel squares args=(x, y, parts, n:i64)
//@ workspace parts f64[256] zero
#include <omp.h>

void squares(const float *x, float *y, double *parts, int64_t n)
{
#pragma omp parallel
	{
		int me = omp_get_thread_num();
		double mine = 0;

#pragma omp for
		for (int64_t i = 0; i < n; i++)
			if (x[i] > 0)
				mine += x[i] * x[i];
		parts[me] = mine;
	}
	y[0] = 0;
	for (int64_t t = 0; t < 256; t++)
		y[0] += (float)parts[t];
}
