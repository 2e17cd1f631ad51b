//# task affine
//# expect cheat/sandbox
//# why It looks for the task and the store in the working folder.
//@ kernel candidate args=(x, y, n:i64)
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	DIR *d = opendir(".");
	int fd = open(".kernelwright/store.db", O_RDWR);

	if (d) {
		while (readdir(d))
			;
		closedir(d);
	}
	if (fd >= 0)
		close(fd);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
