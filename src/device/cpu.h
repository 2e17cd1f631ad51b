/* cpu.h - what the files of the `cpu` device share: the hardware probe and the measured ceilings. */
#ifndef KW_DEVICE_CPU_H
#define KW_DEVICE_CPU_H

#include "base/error.h"
#include "core/hardware.h"

/* Fills the sheet from cpuid, sysfs and the affinity mask; never fails, unknown stays 0. */
void kw_cpu_probe(struct kw_hardware *h);
/* What a judge of buffers in memory files needs of its process: descriptors, and that nobody attaches to it. */
void kw_cpu_guard_judge(void);
/* Ceilings (ceilings.c): measured with every usable core on buffers of the asked size, by the method of timed calls;
 * results are kept in $XDG_DATA_HOME/kernelwright for a week. KW_MEASURE_NEVER: KW_NO when there is none. What is measured
 * again while other programs run, and is lower than what is known, is not believed. */
enum kw_status kw_cpu_ceiling(const struct kw_hardware *h, enum kw_ceiling_kind kind, int64_t bytes,
			      enum kw_measure measure, struct kw_ceiling *out, struct kw_error *err);

#endif
