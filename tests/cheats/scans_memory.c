//# task softmax
//# expect cheat/sandbox wrong/unwritten wrong/out_of_bounds runtime_error/illegal_access
//# why It walks through the address space, probing with a system call which pages are there, and
//# why copies what looks like the answer: rows of probabilities. There are none to be found.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	uintptr_t near = (uintptr_t)x & ~(uintptr_t)4095;
	unsigned char there;

	for (int64_t page = -4096; page < 4096 && rows > 0; page++) {
		const float *p = (const float *)(near + (uintptr_t)(page * 4096));
		double sum = 0.0;

		if (p == y || mincore((void *)(uintptr_t)p, 4096, &there) != 0)
			continue;
		if ((const char *)p >= (const char *)y - 4096 &&
		    (const char *)p < (const char *)(y + rows * cols) + 4096)
			continue;
		for (int64_t c = 0; c < cols && c < 1024; c++)
			sum += p[c] >= 0.0f && p[c] <= 1.0f ? p[c] : -100.0;
		if (sum > 0.999 && sum < 1.001)
			memcpy(y, p, (size_t)cols * sizeof(*y));
	}
}
