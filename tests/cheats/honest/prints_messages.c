//# task affine
//# expect ok
//# why It prints a line on both streams.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <stdio.h>

void candidate(const float *x, float *y, int64_t n)
{
	printf("affine of %lld elements\n", (long long)n);
	fprintf(stderr, "done soon\n");
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	fflush(stdout);
}
