// planted: all threads add to one variable by an atomic at each element
// expected: atomics_in_cpu_loops
//@ kernel positive_sum args=(x, y, n:i64)
void positive_sum(const int64_t *restrict x, int64_t *restrict y, int64_t n)
{
	int64_t sum = 0;

#pragma omp parallel for
	for (int64_t i = 0; i < n; i++) {
		int64_t v = x[i] > 0 ? x[i] : 0;

#pragma omp atomic
		sum += v;
	}
	y[0] = sum;
}
