/* hip_object.h - an AMD code object read from its bytes: kernels with what they need. The layout of a kernel descriptor is
 * that of LLVM's "User Guide for AMDGPU Backend", code objects of version 3 and later. Malformed bytes are refused. */
#ifndef KW_BACKEND_HIP_OBJECT_H
#define KW_BACKEND_HIP_OBJECT_H

#include "core/launch.h"

/* A kernel by its plain name, `extern "C"` or not. False: there is none, or (*several) more than one. */
bool kw_hip_kernel(const void *bytes, size_t len, const char *name, const char *arch, struct kw_kernel_facts *out, bool *several);
/* "a, b": the kernels that are there. */
void kw_hip_list_kernels(const void *bytes, size_t len, struct kw_buf *out);

#endif
