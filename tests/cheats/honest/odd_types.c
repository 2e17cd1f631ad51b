//# task rowsum
//# expect ok
//# why Rows in turn by long double, quadruple precision, recursion, a variable-length array and memory of
//# why alloca.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <alloca.h>
#include <stdint.h>
#include <string.h>

static float in_pairs(const float *p, int64_t n)
{
	return n == 0 ? 0.0f : n == 1 ? p[0] : in_pairs(p, n / 2) + in_pairs(p + n / 2, n - n / 2);
}

static float in_long_double(const float *p, int64_t n)
{
	long double s = 0;

	for (int64_t i = 0; i < n; i++)
		s += p[i];
	return (float)s;
}

static float in_quad(const float *p, int64_t n)
{
#if defined(__x86_64__)
	__float128 s = 0;
#else
	long double s = 0;
#endif

	for (int64_t i = 0; i < n; i++)
		s += p[i];
	return (float)s;
}

static float by_copies(const float *p, int64_t n)
{
	float one[n + 1], *other = alloca((size_t)n * sizeof(*other) + 1);

	memcpy(one, p, (size_t)n * sizeof(*p));
	memcpy(other, one, (size_t)n * sizeof(*p));
	return in_pairs(other, n);
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	static float (*const ways[])(const float *, int64_t) = { in_pairs, in_long_double, in_quad, by_copies };

	for (int64_t r = 0; r < rows; r++)
		y[r] = ways[r % 4](x + r * cols, cols);
}
