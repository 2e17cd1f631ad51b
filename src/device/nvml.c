#include "device/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, TOO_SMALL = 7, CLOCK_SM = 1, CLOCK_MEMORY = 2 };
/* Reasons for a lower clock that are not the program's doing: power cap, thermal, board limits (nvmlClocksThrottleReason...). */
#define SLOWED (0x4ull | 0x8ull | 0x20ull | 0x40ull | 0x80ull)

static struct {
	int (*init)(void);
	int (*driver)(char *out, unsigned bytes);
	int (*by_bus)(const char *pci, void **device);
	int (*clock)(void *device, int which, unsigned *mhz);
	int (*programs)(void *device, unsigned *count, void *list);
	int (*reasons)(void *device, unsigned long long *mask); /* NULL: not there */
} nvml;
static bool usable;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *library, const char *name, void *out)
{
	void *at = dlsym(library, name);

	memcpy(out, &at, sizeof(at)); /* POSIX: a data pointer can hold a function's */
	return at != NULL;
}

static void load(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	usable = find(library, "nvmlInit_v2", &nvml.init) && find(library, "nvmlSystemGetDriverVersion", &nvml.driver) &&
		 find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_bus) &&
		 find(library, "nvmlDeviceGetClockInfo", &nvml.clock) &&
		 (find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml.programs) ||
		  find(library, "nvmlDeviceGetComputeRunningProcesses", &nvml.programs)) &&
		 nvml.init() == SUCCESS;
	find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons);
}

bool kw_nvml_look(const char *pci_bus_id, struct kw_device_state *out)
{
	unsigned mhz = 0, count = 0;
	unsigned long long mask = 0;
	void *device = NULL;
	int r;

	*out = (struct kw_device_state){ .programs = -1 };
	pthread_once(&once, load);
	if (!usable || nvml.by_bus(pci_bus_id, &device) != SUCCESS)
		return false;
	if (nvml.driver(out->driver, sizeof(out->driver)) != SUCCESS)
		out->driver[0] = '\0';
	if (nvml.clock(device, CLOCK_SM, &mhz) == SUCCESS)
		out->clock_mhz = (int)mhz;
	if (nvml.clock(device, CLOCK_MEMORY, &mhz) == SUCCESS)
		out->memory_clock_mhz = (int)mhz;
	r = nvml.programs(device, &count, NULL);
	if (r == SUCCESS || r == TOO_SMALL)
		out->programs = (int)count;
	out->slowed = nvml.reasons && nvml.reasons(device, &mask) == SUCCESS && (mask & SLOWED) != 0;
	return true;
}
