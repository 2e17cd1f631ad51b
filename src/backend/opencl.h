/* opencl.h - the pieces of the OpenCL backend: what runtimes print (opencl_log.c), whether kernels and plan fit each other
 * and the device (opencl_check.c), and the build itself (opencl.c), which a child in the compiler's box does. */
#ifndef KW_BACKEND_OPENCL_H
#define KW_BACKEND_OPENCL_H

#include "backend/backend.h"
#include "backend/diagnostics.h"
#include "device/opencl.h"

#define KW_CL_FILE "candidate.cl"         /* what the compiler is told that the source is called */

/* A build log: PoCL puts the word "error" first, clang and its kin behind the place; what neither knows is kept as one
 * message when the build failed. */
void kw_cl_log_parse(struct kw_diagnostics *d, const char *log, size_t len, const char *source, bool failed);

struct kw_cl_fault {
	enum kw_verdict_class cls;
	enum kw_subclass subclass;
	int line;                         /* of the plan line */
	char message[480];
};
/* Every check returns true when nothing is wrong. Before the build: what a launch on OpenCL must and cannot have. */
bool kw_cl_check_plan(const struct kw_plan *plan, struct kw_cl_fault *f);
/* After it: that each kernel is there and takes what the plan passes. kernels: the child's description. */
bool kw_cl_check_kernels(const struct kw_plan *plan, const struct kw_bound_plan *bound, const json_t *kernels,
			 struct kw_cl_fault *f);
/* And that the device can launch it. */
bool kw_cl_check_limits(const struct kw_plan *plan, const struct kw_bound_plan *bound, const json_t *kernels,
			const struct kw_cl_info *device, struct kw_cl_fault *f);

const char *const *kw_cl_flags_allowed(size_t *count);

#endif
