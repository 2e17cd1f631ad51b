/* NVIDIA's management library that is none: fixed answers, and four programs on the device: the
 * judge, two players that wait, and another. Built beside fake_cuda.c. */
#include <stdio.h>

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlSystemGetDriverVersion(char *out, unsigned n)
{
	snprintf(out, n, "580.12.34");
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out)
{
	static int device;

	*out = &device;
	return bus[0] == '0' ? 0 : 6;
}

int nvmlDeviceGetClockInfo(void *d, int which, unsigned *mhz)
{
	(void)d;
	*mhz = which == 1 ? 1755 : which == 2 ? 3201 : 0;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, void *list)
{
	(void)d;
	(void)list;
	*count = 4;
	return 7; /* there are more than the list has room for */
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *mask)
{
	(void)d;
	*mask = 0x4;
	return 0;
}
