/* cupti.h - counters of the launches of this process by CUPTI's range profiler, loaded at run time. Private to device/.
 *
 * Our own declarations of what we use of CUPTI's interface (CUPTI API reference, range profiling and profiler host; there since CUDA
 * 12.6), each structure with its size in front, which is how the library knows its version.
 *
 *     kw_cupti_begin("/usr/local/cuda/lib64/libcupti.so");   // a context is current, kernels are loaded
 *     ... launches, and the stream is waited for ...
 *     kw_cupti_end(kernels, names, facts, fd);
 *
 * Each launch is a range, and is played again as often as the counters need passes; its memory is restored before each. What was
 * measured is written as a profile with a row a metric, with the names that Nsight Compute gives them, and what went wrong as a line
 * of that tool: so whoever reads one reads both. Thread rule: the thread that launches. */
#ifndef KW_DEVICE_CUPTI_H
#define KW_DEVICE_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cupti_head {
	size_t bytes;
	void *none;
};
struct cupti_chip {
	struct cupti_head head;
	size_t device;
	const char *name;
};
struct cupti_host {
	struct cupti_head head;
	int type;                      /* 0: ranges */
	const char *chip;
	const uint8_t *availability;
	void *host;
};
struct cupti_metrics {
	struct cupti_head head;
	void *host;
	const char **names;
	size_t count;
};
struct cupti_image_size {
	struct cupti_head head;
	void *host;
	size_t bytes;
};
struct cupti_image {
	struct cupti_head head;
	void *host;
	size_t bytes;
	uint8_t *image;
};
struct cupti_enable {
	struct cupti_head head;
	void *context, *profiler;
};
struct cupti_data_size {
	struct cupti_head head;
	void *profiler;
	const char **names;
	size_t count, ranges;
	uint32_t nodes;
	size_t bytes;
};
struct cupti_data_init {
	struct cupti_head head;
	void *profiler;
	size_t bytes;
	uint8_t *data;
};
struct cupti_config {
	struct cupti_head head;
	void *profiler;
	size_t config_bytes;
	const uint8_t *config;
	size_t data_bytes;
	uint8_t *data;
	int range, replay;             /* 1: each launch; 2: of the kernel */
	size_t ranges;
	uint16_t levels, least_level;
	size_t pass;
	uint16_t target_level;
};
struct cupti_plain {               /* start, disable */
	struct cupti_head head;
	void *profiler;
};
struct cupti_stop {
	struct cupti_head head;
	void *profiler;
	size_t pass, level;
	uint8_t all;
};
struct cupti_decode {
	struct cupti_head head;
	void *profiler;
	size_t dropped;
};
struct cupti_count {
	struct cupti_head head;
	const uint8_t *data;
	size_t bytes, ranges;
};
struct cupti_values {
	struct cupti_head head;
	void *host;
	const uint8_t *data;
	size_t bytes, range;
	const char **names;
	size_t count;
	double *values;
};
/* As the C compiler pads them, the size ends with the last field. */
#define CUPTI_BYTES(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* What the launcher knows of a launch. */
struct cupti_launch {
	const char *name;
	unsigned grid[3], block[3], smem_bytes;
	int registers, static_smem_bytes, local_bytes, units, blocks_per_unit, warps_per_unit, major, minor;
};
/* library: a path, or ""; then the loader's names are tried. What goes wrong is kept for the end. */
void kw_cupti_begin(const char *library, void *context, int device);
void kw_cupti_end(const struct cupti_launch *launches, size_t count, int fd);

#endif
