//# task affine
//# expect cheat/sandbox
//# why It reads /proc/self/maps to find where things are.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void candidate(const float *x, float *y, int64_t n)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[256];
	int expected = 0;

	if (f) {
		while (fgets(line, sizeof(line), f))
			expected += strstr(line, "memfd") != NULL;
		fclose(f);
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f + (float)(expected < 0);
}
