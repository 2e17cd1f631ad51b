/* cuda_driver.h - the CUDA driver, loaded at run time. Private to device/.
 *
 * Our own declarations of what we use of libcuda's interface (CUDA Driver API reference; every symbol is there since
 * CUDA 12.0), so that one program runs with and without a GPU and needs no header to build. tests/unit/test_cuda_abi.c
 * compares them with cuda.h where a toolkit is installed.
 *
 *     const struct kw_cuda *cu;
 *     kw_cuda_load(&cu, err);                       // KW_ERR_ENV: no driver; says what to install
 *     kw_cuda_status(cu, cu->Init(0), "cuInit", err);
 *
 * Thread rule: loading is once, from any thread; the driver itself is thread-safe. */
#ifndef KW_DEVICE_CUDA_DRIVER_H
#define KW_DEVICE_CUDA_DRIVER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef int cuda_result;
typedef int cuda_device;
typedef uint64_t cuda_ptr;
typedef uint64_t cuda_allocation;
typedef struct cuda_context_s *cuda_context;
typedef struct cuda_module_s *cuda_module;
typedef struct cuda_function_s *cuda_function;
typedef struct cuda_stream_s *cuda_stream;
typedef struct cuda_event_s *cuda_event;
typedef struct cuda_graph_s *cuda_graph;
typedef struct cuda_graph_exec_s *cuda_graph_exec;

enum { CUDA_SUCCESS = 0, CUDA_INVALID_VALUE = 1, CUDA_OUT_OF_MEMORY = 2, CUDA_STUB = 34, CUDA_UNAVAILABLE = 46,
       CUDA_NO_DEVICE = 100, CUDA_INVALID_IMAGE = 200, CUDA_NO_BINARY = 209, CUDA_INVALID_PTX = 218, CUDA_UNSUPPORTED_PTX = 222,
       CUDA_NOT_FOUND = 500, CUDA_ILLEGAL_ADDRESS = 700, CUDA_LAUNCH_RESOURCES = 701, CUDA_LAUNCH_TIMEOUT = 702,
       CUDA_ASSERT = 710, CUDA_STACK_ERROR = 714, CUDA_ILLEGAL_INSTRUCTION = 715, CUDA_MISALIGNED = 716,
       CUDA_INVALID_ADDRESS_SPACE = 717, CUDA_INVALID_PC = 718, CUDA_LAUNCH_FAILED = 719, CUDA_VERSIONS_DIFFER = 803 };
/* Of CUDA_COMPUTE_MODE. */
enum { CUDA_MODE_PROHIBITED = 2, CUDA_MODE_EXCLUSIVE = 3 };
/* CU_DEVICE_ATTRIBUTE_... */
enum { CUDA_THREADS_PER_BLOCK = 1, CUDA_BLOCK_X = 2, CUDA_GRID_X = 5, CUDA_WARP = 10, CUDA_REGISTERS_PER_BLOCK = 12,
       CUDA_CLOCK_KHZ = 13, CUDA_UNITS = 16, CUDA_COMPUTE_MODE = 20, CUDA_MEMORY_CLOCK_KHZ = 36, CUDA_BUS_BITS = 37,
       CUDA_L2_BYTES = 38, CUDA_THREADS_PER_UNIT = 39, CUDA_MAJOR = 75, CUDA_MINOR = 76, CUDA_SMEM_PER_UNIT = 81,
       CUDA_REGISTERS_PER_UNIT = 82, CUDA_SMEM_OPTIN = 97, CUDA_HAS_VMM = 102, CUDA_HAS_FD = 103,
       CUDA_BLOCKS_PER_UNIT = 106, CUDA_SMEM_RESERVED = 111, CUDA_HAS_CLUSTERS = 120 };
/* CU_FUNC_ATTRIBUTE_... */
enum { CUDA_FUNC_SMEM = 1, CUDA_FUNC_REGISTERS = 4, CUDA_FUNC_DYNAMIC_SMEM = 8, CUDA_FUNC_WIDE_CLUSTER = 14 };

struct cuda_location {
	int type, id;                  /* type 1: a device */
};
struct cuda_allocation_prop {
	int type, handle_types;        /* 1: pinned; 1: a file descriptor */
	struct cuda_location location;
	void *windows;
	unsigned char flags[8];
};
struct cuda_access {
	struct cuda_location location;
	int flags;                     /* 1: read, 3: read and write */
};
struct cuda_attribute {
	int id;
	char pad[4];
	union {
		char room[64];
		int on;
		struct {
			unsigned x, y, z;
		} cluster;
	} value;
};
enum { CUDA_LAUNCH_COOPERATIVE = 2, CUDA_LAUNCH_CLUSTER = 4, CUDA_LAUNCH_PDL = 6 };
struct cuda_launch {
	unsigned grid[3], block[3], smem_bytes;
	cuda_stream stream;
	struct cuda_attribute *attributes;
	unsigned attribute_count;
};
struct cuda_tensor_map {
	_Alignas(64) uint64_t opaque[16];
};

/* X(field, symbol, parameters) */
#define KW_CUDA_LIST(X)                                                                                          \
	X(Init, "cuInit", (unsigned))                                                                            \
	X(DriverGetVersion, "cuDriverGetVersion", (int *))                                                       \
	X(GetErrorName, "cuGetErrorName", (cuda_result, const char **))                                          \
	X(GetErrorString, "cuGetErrorString", (cuda_result, const char **))                                      \
	X(DeviceGetCount, "cuDeviceGetCount", (int *))                                                           \
	X(DeviceGet, "cuDeviceGet", (cuda_device *, int))                                                        \
	X(DeviceGetName, "cuDeviceGetName", (char *, int, cuda_device))                                          \
	X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, cuda_device))                                 \
	X(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, cuda_device))                                  \
	X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, cuda_device))                                        \
	X(PrimaryRetain, "cuDevicePrimaryCtxRetain", (cuda_context *, cuda_device))                              \
	X(PrimaryRelease, "cuDevicePrimaryCtxRelease_v2", (cuda_device))                                         \
	X(CtxSetCurrent, "cuCtxSetCurrent", (cuda_context))                                                      \
	X(CtxSynchronize, "cuCtxSynchronize", (void))                                                            \
	X(MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                                   \
	X(MemGranularity, "cuMemGetAllocationGranularity",                                                       \
	  (size_t *, const struct cuda_allocation_prop *, int))                                                  \
	X(MemCreate, "cuMemCreate",                                                                              \
	  (cuda_allocation *, size_t, const struct cuda_allocation_prop *, unsigned long long))                  \
	X(MemRelease, "cuMemRelease", (cuda_allocation))                                                         \
	X(MemExport, "cuMemExportToShareableHandle", (void *, cuda_allocation, int, unsigned long long))         \
	X(MemImport, "cuMemImportFromShareableHandle", (cuda_allocation *, void *, int))                         \
	X(MemReserve, "cuMemAddressReserve", (cuda_ptr *, size_t, size_t, cuda_ptr, unsigned long long))         \
	X(MemAddressFree, "cuMemAddressFree", (cuda_ptr, size_t))                                                \
	X(MemMap, "cuMemMap", (cuda_ptr, size_t, size_t, cuda_allocation, unsigned long long))                   \
	X(MemUnmap, "cuMemUnmap", (cuda_ptr, size_t))                                                            \
	X(MemSetAccess, "cuMemSetAccess", (cuda_ptr, size_t, const struct cuda_access *, size_t))                \
	X(MemAlloc, "cuMemAlloc_v2", (cuda_ptr *, size_t))                                                       \
	X(MemFree, "cuMemFree_v2", (cuda_ptr))                                                                   \
	X(HostRegister, "cuMemHostRegister_v2", (void *, size_t, unsigned))                                      \
	X(HostUnregister, "cuMemHostUnregister", (void *))                                                       \
	X(MemcpyHtoD, "cuMemcpyHtoD_v2", (cuda_ptr, const void *, size_t))                                       \
	X(MemcpyDtoH, "cuMemcpyDtoH_v2", (void *, cuda_ptr, size_t))                                             \
	X(MemsetD8, "cuMemsetD8_v2", (cuda_ptr, unsigned char, size_t))                                          \
	X(MemsetD32, "cuMemsetD32_v2", (cuda_ptr, unsigned, size_t))                                             \
	X(MemsetD8Async, "cuMemsetD8Async", (cuda_ptr, unsigned char, size_t, cuda_stream))                      \
	X(StreamCreate, "cuStreamCreate", (cuda_stream *, unsigned))                                             \
	X(StreamSynchronize, "cuStreamSynchronize", (cuda_stream))                                               \
	X(StreamBeginCapture, "cuStreamBeginCapture_v2", (cuda_stream, int))                                     \
	X(StreamEndCapture, "cuStreamEndCapture", (cuda_stream, cuda_graph *))                                   \
	X(EventCreate, "cuEventCreate", (cuda_event *, unsigned))                                                \
	X(EventRecord, "cuEventRecord", (cuda_event, cuda_stream))                                               \
	X(EventElapsed, "cuEventElapsedTime", (float *, cuda_event, cuda_event))                                 \
	X(ModuleLoadData, "cuModuleLoadData", (cuda_module *, const void *))                                     \
	X(ModuleUnload, "cuModuleUnload", (cuda_module))                                                         \
	X(ModuleGetFunction, "cuModuleGetFunction", (cuda_function *, cuda_module, const char *))                \
	X(ModuleGetGlobal, "cuModuleGetGlobal_v2", (cuda_ptr *, size_t *, cuda_module, const char *))            \
	X(FuncGetAttribute, "cuFuncGetAttribute", (int *, int, cuda_function))                                   \
	X(BlocksPerUnit, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, cuda_function, int, size_t))         \
	X(FuncSetAttribute, "cuFuncSetAttribute", (cuda_function, int, int))                                     \
	X(LaunchKernel, "cuLaunchKernel",                                                                        \
	  (cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cuda_stream, void **, void **)) \
	X(LaunchKernelEx, "cuLaunchKernelEx", (const struct cuda_launch *, cuda_function, void **, void **))     \
	X(GraphInstantiate, "cuGraphInstantiateWithFlags", (cuda_graph_exec *, cuda_graph, unsigned long long))  \
	X(GraphUpload, "cuGraphUpload", (cuda_graph_exec, cuda_stream))                                          \
	X(GraphLaunch, "cuGraphLaunch", (cuda_graph_exec, cuda_stream))                                          \
	X(GraphDestroy, "cuGraphDestroy", (cuda_graph))                                                          \
	X(GraphExecDestroy, "cuGraphExecDestroy", (cuda_graph_exec))                                             \
	X(TensorMapEncode, "cuTensorMapEncodeTiled",                                                             \
	  (struct cuda_tensor_map *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, \
	   const uint32_t *, int, int, int, int))

struct kw_cuda {
#define X(field, symbol, parameters) cuda_result(*field) parameters;
	KW_CUDA_LIST(X)
#undef X
};

/* KW_ERR_ENV when there is no driver or it is too old. */
enum kw_status kw_cuda_load(const struct kw_cuda **out, struct kw_error *err);
/* KW_OK for CUDA_SUCCESS; KW_ERR_NOMEM when the device is full; else KW_ERR_ENV with the call and the driver's words. */
enum kw_status kw_cuda_status(const struct kw_cuda *cu, cuda_result r, const char *call, struct kw_error *err);
/* "CUDA_ERROR_ILLEGAL_ADDRESS (700)" */
const char *kw_cuda_error(const struct kw_cuda *cu, cuda_result r, char *out, size_t out_bytes);

#endif
