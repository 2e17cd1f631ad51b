//# task affine
//# expect cheat/sandbox cheat/library
//# why dlopen of a library of the machine.
//@ kernel candidate args=(x, y, n:i64)
#include <dlfcn.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	void *lib = dlopen("libblas.so.3", RTLD_NOW);

	if (!lib)
		lib = dlopen("/usr/lib/x86_64-linux-gnu/libopenblas.so.0", RTLD_NOW);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
