/* opencl_api.h - what we use of the OpenCL 1.2 C interface (Khronos, "The OpenCL Specification"), declared here and loaded
 * at run time: no header and no library is needed to build. Handles are untyped pointers, as the ABI has them.
 *
 *     struct kw_cl cl;
 *     char why[200];
 *     if (kw_cl_load(&cl, why, sizeof(why)) && cl.GetPlatformIDs(8, platforms, &n) == KW_CL_SUCCESS) ...
 *
 * A loader starts the vendors' runtimes, which start threads and read files: only children of ours load it (the probe,
 * the compiler, the player), never the judge. */
#ifndef KW_DEVICE_OPENCL_API_H
#define KW_DEVICE_OPENCL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KW_CL_SUCCESS = 0,
	KW_CL_BUILD_PROGRAM_FAILURE = -11,
	KW_CL_INVALID_KERNEL_NAME = -46,
	/* kinds of devices, one bit each */
	KW_CL_TYPE_CPU = 1 << 1,
	KW_CL_TYPE_GPU = 1 << 2,
	/* what to ask platforms and devices for */
	KW_CL_PLATFORM_VERSION = 0x901,
	KW_CL_PLATFORM_NAME = 0x902,
	KW_CL_DEVICE_TYPE = 0x1000,
	KW_CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
	KW_CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
	KW_CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
	KW_CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100c,
	KW_CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
	KW_CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101e,
	KW_CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
	KW_CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
	KW_CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
	KW_CL_DEVICE_NAME = 0x102b,
	KW_CL_DEVICE_VENDOR = 0x102c,
	KW_CL_DRIVER_VERSION = 0x102d,
	KW_CL_DEVICE_VERSION = 0x102f,
	KW_CL_DEVICE_EXTENSIONS = 0x1030,
	KW_CL_DEVICE_OPENCL_C_VERSION = 0x103d,
	/* programs */
	KW_CL_PROGRAM_BINARY_SIZES = 0x1165,
	KW_CL_PROGRAM_BINARIES = 0x1166,
	KW_CL_PROGRAM_BUILD_LOG = 0x1183,
	/* kernels */
	KW_CL_KERNEL_FUNCTION_NAME = 0x1190,
	KW_CL_KERNEL_NUM_ARGS = 0x1191,
	KW_CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196,
	KW_CL_KERNEL_ARG_TYPE_NAME = 0x1198,
	KW_CL_KERNEL_ARG_NAME = 0x119a,
	KW_CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
	KW_CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11b1,
	KW_CL_KERNEL_LOCAL_MEM_SIZE = 0x11b2,
	KW_CL_KERNEL_PRIVATE_MEM_SIZE = 0x11b4,
	KW_CL_ADDRESS_GLOBAL = 0x119b,
	KW_CL_ADDRESS_LOCAL = 0x119c,
	KW_CL_ADDRESS_CONSTANT = 0x119d,
	KW_CL_ADDRESS_PRIVATE = 0x119e,
	/* buffers */
	KW_CL_MEM_READ_WRITE = 1 << 0,
	KW_CL_MEM_READ_ONLY = 1 << 2,
	KW_CL_MEM_USE_HOST_PTR = 1 << 3,
	KW_CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
	/* queues and events */
	KW_CL_QUEUE_PROFILING = 1 << 1,
	KW_CL_PROFILING_START = 0x1282,
	KW_CL_PROFILING_END = 0x1283,
};
struct kw_cl_region {
	size_t origin, bytes;
};

/* X(name, parameters): each returns an int32_t (KW_CL_SUCCESS or negative) or a handle. */
#define KW_CL_STATUS_LIST(X)                                                                                            \
	X(GetPlatformIDs, (uint32_t room, void **out, uint32_t *count))                                                 \
	X(GetPlatformInfo, (void *platform, uint32_t what, size_t room, void *out, size_t *bytes))                      \
	X(GetDeviceIDs, (void *platform, uint64_t type, uint32_t room, void **out, uint32_t *count))                    \
	X(GetDeviceInfo, (void *device, uint32_t what, size_t room, void *out, size_t *bytes))                          \
	X(BuildProgram, (void *program, uint32_t count, void *const *devices, const char *options, void (*done)(void *, \
			 void *), void *arg))                                                                           \
	X(GetProgramInfo, (void *program, uint32_t what, size_t room, void *out, size_t *bytes))                        \
	X(GetProgramBuildInfo, (void *program, void *device, uint32_t what, size_t room, void *out, size_t *bytes))     \
	X(CreateKernelsInProgram, (void *program, uint32_t room, void **out, uint32_t *count))                          \
	X(GetKernelInfo, (void *kernel, uint32_t what, size_t room, void *out, size_t *bytes))                          \
	X(GetKernelArgInfo, (void *kernel, uint32_t index, uint32_t what, size_t room, void *out, size_t *bytes))       \
	X(GetKernelWorkGroupInfo, (void *kernel, void *device, uint32_t what, size_t room, void *out, size_t *bytes))   \
	X(SetKernelArg, (void *kernel, uint32_t index, size_t bytes, const void *value))                                \
	X(EnqueueNDRangeKernel, (void *queue, void *kernel, uint32_t dims, const size_t *offset, const size_t *global,  \
				 const size_t *local, uint32_t waits, void *const *wait, void **event))                 \
	X(EnqueueWriteBuffer, (void *queue, void *buffer, uint32_t blocking, size_t offset, size_t bytes,               \
			       const void *from, uint32_t waits, void *const *wait, void **event))                      \
	X(EnqueueReadBuffer, (void *queue, void *buffer, uint32_t blocking, size_t offset, size_t bytes, void *to,      \
			      uint32_t waits, void *const *wait, void **event))                                         \
	X(EnqueueFillBuffer, (void *queue, void *buffer, const void *pattern, size_t pattern_bytes, size_t offset,      \
			      size_t bytes, uint32_t waits, void *const *wait, void **event))                           \
	X(GetEventProfilingInfo, (void *event, uint32_t what, size_t room, void *out, size_t *bytes))                   \
	X(ReleaseEvent, (void *event))                                                                                  \
	X(Flush, (void *queue))                                                                                         \
	X(Finish, (void *queue))                                                                                        \
	X(ReleaseKernel, (void *kernel))
#define KW_CL_HANDLE_LIST(X)                                                                                            \
	X(CreateContext, (const intptr_t *properties, uint32_t count, void *const *devices,                             \
			  void (*notify)(const char *, const void *, size_t, void *), void *arg, int32_t *status))      \
	X(CreateCommandQueue, (void *context, void *device, uint64_t properties, int32_t *status))                      \
	X(CreateProgramWithSource, (void *context, uint32_t count, const char *const *texts, const size_t *lengths,     \
				    int32_t *status))                                                                   \
	X(CreateProgramWithBinary, (void *context, uint32_t count, void *const *devices, const size_t *lengths,         \
				    const unsigned char *const *binaries, int32_t *each, int32_t *status))              \
	X(CreateKernel, (void *program, const char *name, int32_t *status))                                             \
	X(CreateBuffer, (void *context, uint64_t flags, size_t bytes, void *host, int32_t *status))                     \
	X(CreateSubBuffer, (void *buffer, uint64_t flags, uint32_t type, const void *info, int32_t *status))

struct kw_cl {
#define X(name, parameters) int32_t(*name) parameters;
	KW_CL_STATUS_LIST(X)
#undef X
#define X(name, parameters) void *(*name)parameters;
	KW_CL_HANDLE_LIST(X)
#undef X
};
/* False: why says what is missing. */
bool kw_cl_load(struct kw_cl *out, char *why, size_t why_bytes);
/* The device-th device of the platform-th platform; NULL when there is none. */
void *kw_cl_device(const struct kw_cl *cl, uint32_t platform, uint32_t device);
/* "CL_OUT_OF_RESOURCES (-5)" */
const char *kw_cl_error(int32_t status, char *out, size_t out_bytes);

#endif
