#include "device/cpu.h"
#include "device/device.h"

#include "base/str.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

int kw_host_cores(void)
{
	/* 8192 cores: larger masks make the call fail, and sysconf answers. */
	static cpu_set_t set[8192 / CPU_SETSIZE];
	int n = sched_getaffinity(0, sizeof(set), set) == 0 ? CPU_COUNT_S(sizeof(set), set) : 0;

	if (n < 1)
		n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n;
}

int kw_host_idle_cores(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	int running = 0, cores = kw_host_cores();
	bool known = f && fscanf(f, "%*f %*f %*f %d/", &running) == 1; /* this thread is among them */

	if (f)
		fclose(f);
	return known && running < cores ? cores - running : 0;
}

static bool read_text(const char *path, char *out, size_t out_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, out_bytes - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == ' '))
		n--;
	out[n] = '\0';
	return true;
}

/* "32768K" -> bytes. */
static int64_t size_of(const char *text)
{
	char *end;
	long long v = strtoll(text, &end, 10);

	return *end == 'K' ? v << 10 : *end == 'M' ? v << 20 : *end == 'G' ? v << 30 : v;
}

static void probe_caches(struct kw_hardware *h)
{
	for (int i = 0; i < 8; i++) {
		char path[96], level[16], type[24], size[24];
		int64_t bytes;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
		if (!read_text(path, level, sizeof(level)))
			break;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
		if (!read_text(path, type, sizeof(type)) || strcmp(type, "Instruction") == 0)
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		if (!read_text(path, size, sizeof(size)))
			continue;
		bytes = size_of(size);
		if (level[0] == '1')
			h->l1d_bytes = bytes;
		else if (level[0] == '2')
			h->l2_bytes = bytes;
		if (bytes > h->last_level_cache_bytes)
			h->last_level_cache_bytes = bytes;
	}
	/* Without sysfs (some containers) the C library asks cpuid. */
	if (!h->l1d_bytes)
		h->l1d_bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE) > 0 ? sysconf(_SC_LEVEL1_DCACHE_SIZE) : 0;
	if (!h->l2_bytes)
		h->l2_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE) > 0 ? sysconf(_SC_LEVEL2_CACHE_SIZE) : 0;
	if (!h->last_level_cache_bytes) {
		long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);

		h->last_level_cache_bytes = l3 > 0 ? l3 : h->l2_bytes;
	}
}

static void probe_cpuinfo(struct kw_hardware *h)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');
		struct kw_str value;

		if (!colon)
			continue;
		value = kw_str_trim(kw_str_from(colon + 1));
		if (strncmp(line, "model name", 10) == 0 && !h->name[0])
			snprintf(h->name, sizeof(h->name), KW_STR_FMT, KW_STR_ARG(value));
		else if (strncmp(line, "vendor_id", 9) == 0 && !h->vendor[0])
			snprintf(h->vendor, sizeof(h->vendor), KW_STR_FMT, KW_STR_ARG(value));
		else if (strncmp(line, "cpu MHz", 7) == 0 && h->clock_hz == 0.0)
			h->clock_hz = strtod(colon + 1, NULL) * 1e6;
		if (h->name[0] && h->vendor[0] && h->clock_hz > 0.0)
			break;
	}
	if (f)
		fclose(f);
}

#if defined(__x86_64__)
static void probe_simd(struct kw_hardware *h)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f")) {
		h->simd_bytes = 64;
		snprintf(h->arch, sizeof(h->arch), "x86-64 avx512 fma");
	} else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		h->simd_bytes = 32;
		snprintf(h->arch, sizeof(h->arch), "x86-64 avx2 fma");
	} else if (__builtin_cpu_supports("avx")) {
		h->simd_bytes = 32;
		snprintf(h->arch, sizeof(h->arch), "x86-64 avx");
	} else {
		h->simd_bytes = 16;
		snprintf(h->arch, sizeof(h->arch), "x86-64");
	}
}
#else
static void probe_simd(struct kw_hardware *h)
{
	struct utsname u;

	h->simd_bytes = 16;
	snprintf(h->arch, sizeof(h->arch), "%.31s", uname(&u) == 0 ? u.machine : "");
}
#endif

void kw_cpu_probe(struct kw_hardware *h)
{
	struct utsname u;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	*h = (struct kw_hardware){ 0 };
	h->units = kw_host_cores();
	h->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
	probe_cpuinfo(h);
	probe_caches(h);
	probe_simd(h);
	if (!h->name[0])
		snprintf(h->name, sizeof(h->name), "%s", h->arch);
	if (uname(&u) == 0)
		snprintf(h->driver, sizeof(h->driver), "Linux %.50s", u.release);
}
