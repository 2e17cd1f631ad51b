/* cuda_object.h - a CUDA object against the plan that is to launch it. Private to backend/.
 *
 *     struct kw_cuda_check check = { .job = &b->job };
 *     kw_cuda_check_undefined(&check, &cubin);
 *     for (each kernel i) if (kw_cuda_check_kernel(&check, &cubin, i, 0, &kernel)) use(kernel.facts);
 *     // job->out->cls says whether all of it was fine
 *
 * What does not fit is the candidate's fault: the build is turned down. Thread rule: as the backend's. */
#ifndef KW_BACKEND_CUDA_OBJECT_H
#define KW_BACKEND_CUDA_OBJECT_H

#include "backend/cubin.h"
#include "backend/cuda.h"
#include "backend/job.h"

struct kw_cuda_check {
	struct kw_build_job *job;
	const struct kw_cuda_usage *usage;  /* of the assembler's log: for the spills */
	size_t usage_count;
};
/* Functions that are called and not there. */
void kw_cuda_check_undefined(struct kw_cuda_check *b, const struct kw_cubin *cubin);
/* The plan's index-th kernel: it is there, and takes what the plan passes and then `hidden` pointers. k is filled. */
bool kw_cuda_check_kernel(struct kw_cuda_check *b, const struct kw_cubin *cubin, size_t index, size_t hidden,
			  struct kw_cubin_kernel *k);
/* What the judge must put back between calls: a list of {name, bytes}. NULL: out of memory. */
json_t *kw_cuda_globals(const struct kw_cubin *cubin);

#endif
