#include "backend/c.h"

#include "backend/source.h"

#include <string.h>

/* Names end there; what ends in '=' takes a value of letters, digits, '-', '_', '.', ',' and '='. */
static const char *const allowed[] = {
	"-O0", "-O1", "-O2", "-O3", "-Ofast",
	"-ffast-math", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffinite-math-only",
	"-fassociative-math", "-freciprocal-math", "-funsafe-math-optimizations", "-ffp-contract=", "-fno-fast-math",
	"-funroll-loops", "-fno-unroll-loops", "-funroll-all-loops", "-fpeel-loops", "-fno-tree-vectorize", "-ftree-vectorize",
	"-fno-tree-slp-vectorize", "-fvect-cost-model=", "-fsimd-cost-model=", "-fprefetch-loop-arrays",
	"-ftree-loop-distribution", "-floop-nest-optimize", "-floop-interchange", "-fstrict-aliasing", "-fno-strict-aliasing",
	"-fwrapv", "-fno-wrapv", "-fomit-frame-pointer", "-finline-functions", "-fno-inline", "-finline-limit=",
	"-fopenmp", "-fno-openmp", "-fopenmp-simd", "-mprefer-vector-width=", "-mno-avx512f", "-mno-avx2", "-mno-fma", "-mfma",
	"-mavx2", "-mavx512f", "-mtune=", "-falign-loops=", "-falign-functions=", "-fno-semantic-interposition",
};
enum { ALLOWED_COUNT = sizeof(allowed) / sizeof(allowed[0]) };

bool kw_flag_allowed(const char *flag)
{
	return kw_source_flag_allowed(allowed, ALLOWED_COUNT, flag);
}

const char *const *kw_flags_allowed(size_t *count)
{
	*count = ALLOWED_COUNT;
	return allowed;
}

/* gcc before 13 and clang link crtfastmath.o for these, which flushes subnormals in every thread of the process. */
bool kw_flag_is_fast_math(const char *flag)
{
	return strcmp(flag, "-ffast-math") == 0 || strcmp(flag, "-Ofast") == 0 ||
	       strcmp(flag, "-funsafe-math-optimizations") == 0;
}
