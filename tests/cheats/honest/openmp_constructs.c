//# task rowsum
//# expect ok
//# why What else OpenMP has: a reduction of one's own, teams, ordered, locks, threadprivate, more threads
//# why than cores and a large stack.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <omp.h>
#include <stdint.h>
#include <string.h>

#pragma omp declare reduction(plus : float : omp_out += omp_in) initializer(omp_priv = 0)

static int calls;
#pragma omp threadprivate(calls)

static float row(const float *p, int64_t cols)
{
	float s = 0.0f, copy[256 << 10];

	memcpy(copy, p, (size_t)cols * sizeof(*p));
#pragma omp simd reduction(+ : s)
	for (int64_t c = 0; c < cols; c++)
		s += copy[c];
	calls++;
	return s;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t third = rows / 3;
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel for ordered schedule(dynamic, 8) num_threads(3)
	for (int64_t r = 0; r < third; r++) {
		float s = row(x + r * cols, cols);

#pragma omp ordered
		{
			omp_set_lock(&lock);
			y[r] = s;
			omp_unset_lock(&lock);
		}
	}
	omp_destroy_lock(&lock);
#pragma omp teams distribute parallel for
	for (int64_t r = third; r < 2 * third; r++)
		y[r] = row(x + r * cols, cols);
	for (int64_t r = 2 * third; r < rows; r++) {
		float s = 0.0f;

#pragma omp parallel for reduction(plus : s) schedule(guided)
		for (int64_t c = 0; c < cols; c++)
			s += x[r * cols + c];
		y[r] = s;
	}
}
