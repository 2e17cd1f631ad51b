//# task affine
//# expect ok
//# why What a kernel may want to know: cores, pages, caches, its core, the time, a random seed; and huge
//# why pages for scratch.
//@ kernel candidate args=(x, y, n:i64)
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	size_t bytes = ((size_t)n * sizeof(*x) | 4095) + 1;
	float *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec nap = { 0, 1000 };
	unsigned seed;

	if (copy == MAP_FAILED || get_nprocs() < 1 || get_nprocs_conf() < 1 || sysconf(_SC_NPROCESSORS_ONLN) < 1 ||
	    sysconf(_SC_PHYS_PAGES) < 1 || sysconf(_SC_LEVEL2_CACHE_SIZE) < -1 || omp_get_num_procs() < 1 ||
	    omp_get_max_threads() < 1 || getrandom(&seed, sizeof(seed), 0) < 0)
		abort();
	madvise(copy, bytes, MADV_HUGEPAGE);
	sched_yield();
	nanosleep(&nap, NULL);
	memcpy(copy, x, (size_t)n * sizeof(*x));
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * copy[i] + 1.0f;
	munmap(copy, bytes);
}
