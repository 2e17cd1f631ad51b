//# task affine
//# expect wrong/unwritten
//# why Standard output is not an answer. It prints a verdict and computes nothing.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <stdio.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	printf("ok 1 - %lld elements right\n{\"verdict\":\"ok\",\"speedup\":100}\n", (long long)n);
	fprintf(stderr, "verdict: ok\n");
	fflush(NULL);
}
