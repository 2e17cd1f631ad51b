/* sanitized.h - one call of a CUDA kernel in a process of its own, for tools that watch a program: `kwright __sanitized FILE`.
 *
 *     struct kw_sanitized s = { .code = artefact, .plan = &bound, .buffers = specs, .buffer_count = n, .tensor_count = t,
 *                               .contents = contents };
 *     kw_sanitized_write(&s, "job", err);
 *     // compute-sanitizer --tool memcheck kwright __sanitized job
 *
 * The process loads the very object that was judged and launches it by its plan, on allocations of exactly the buffers' sizes.
 * Inputs have contents; what a kernel must write first has none. It prints "buffer INDEX ADDRESS BYTES" for each, so that a
 * tool's addresses can be told by name, and says on standard error why it could not run (exit code 1). `kwright __sanitized FILE
 * LIBCUPTI OUT` counts its launches by CUPTI and writes a profile to OUT; an empty LIBCUPTI is the loader's. */
/* `kwright __boxed DIR PROGRAM...` becomes PROGRAM in a box that is narrower than a tool's can be (kw_sandbox_own_proc). */
#ifndef KW_DEVICE_SANITIZED_H
#define KW_DEVICE_SANITIZED_H

#include "device/device.h"

struct kw_sanitized {
	const struct kw_artefact *code;
	const struct kw_bound_plan *plan;
	const struct kw_buffer_spec *buffers;
	size_t buffer_count, tensor_count;
	const void *const *contents;      /* of each buffer; NULL: none */
};
enum kw_status kw_sanitized_write(const struct kw_sanitized *s, const char *path, struct kw_error *err);

#endif
