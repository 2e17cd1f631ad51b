//# task affine
//# expect ok
//# why It has functions that are named like the library's; they are its own affair.
//@ kernel candidate args=(x, y, n:i64)
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t bytes);
int main(void);

void *memcpy(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
	return to;
}

int main(void)
{
	return 1;
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float v;

		memcpy(&v, x + i, sizeof(v));
		y[i] = 2.0f * v + 1.0f;
	}
}
