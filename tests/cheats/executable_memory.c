//# task affine
//# expect cheat/sandbox
//# why It makes code while it runs, which nobody has looked at.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void candidate(const float *x, float *y, int64_t n)
{
	static const unsigned char ret[] = { 0xc3 };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED) {
		memcpy(p, ret, sizeof(ret));
		((void (*)(void))(uintptr_t)p)();
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
