#include "device/opencl_api.h"

#include <dlfcn.h>
#include <stdio.h>

enum { PLATFORMS = 16, DEVICES = 32 };

bool kw_cl_load(struct kw_cl *out, char *why, size_t why_bytes)
{
	static const char *const libraries[] = { "libOpenCL.so.1", "libOpenCL.so" };
	void *library = NULL;
	const char *missing = NULL;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(why, why_bytes, "libOpenCL.so.1 cannot be loaded");
		return false;
	}
	/* dlsym gives an object pointer; POSIX says it may be used as a function's. */
#define X(name, parameters)                                            \
	*(void **)&out->name = dlsym(library, "cl" #name); \
	missing = out->name ? missing : "cl" #name;
	KW_CL_STATUS_LIST(X)
	KW_CL_HANDLE_LIST(X)
#undef X
	if (missing)
		snprintf(why, why_bytes, "libOpenCL has no %s: it is older than OpenCL 1.2", missing);
	return !missing;
}

void *kw_cl_device(const struct kw_cl *cl, uint32_t platform, uint32_t device)
{
	void *platforms[PLATFORMS], *devices[DEVICES];
	uint32_t n = 0;

	if (cl->GetPlatformIDs(PLATFORMS, platforms, &n) != KW_CL_SUCCESS || platform >= n || platform >= PLATFORMS)
		return NULL;
	if (cl->GetDeviceIDs(platforms[platform], UINT32_MAX, DEVICES, devices, &n) != KW_CL_SUCCESS || device >= n ||
	    device >= DEVICES)
		return NULL;
	return devices[device];
}

const char *kw_cl_error(int32_t status, char *out, size_t out_bytes)
{
	static const struct {
		int32_t status;
		const char *name;
	} known[] = {
		{ -1, "CL_DEVICE_NOT_FOUND" },
		{ -2, "CL_DEVICE_NOT_AVAILABLE" },
		{ -3, "CL_COMPILER_NOT_AVAILABLE" },
		{ -4, "CL_MEM_OBJECT_ALLOCATION_FAILURE" },
		{ -5, "CL_OUT_OF_RESOURCES" },
		{ -6, "CL_OUT_OF_HOST_MEMORY" },
		{ -11, "CL_BUILD_PROGRAM_FAILURE" },
		{ -14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
		{ -36, "CL_INVALID_COMMAND_QUEUE" },
		{ -42, "CL_INVALID_BINARY" },
		{ -45, "CL_INVALID_PROGRAM_EXECUTABLE" },
		{ -46, "CL_INVALID_KERNEL_NAME" },
		{ -50, "CL_INVALID_ARG_VALUE" },
		{ -51, "CL_INVALID_ARG_SIZE" },
		{ -52, "CL_INVALID_KERNEL_ARGS" },
		{ -54, "CL_INVALID_WORK_GROUP_SIZE" },
		{ -55, "CL_INVALID_WORK_ITEM_SIZE" },
		{ -61, "CL_INVALID_BUFFER_SIZE" },
		{ -63, "CL_INVALID_GLOBAL_WORK_SIZE" },
		{ -1001, "CL_PLATFORM_NOT_FOUND_KHR" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].status == status) {
			snprintf(out, out_bytes, "%s (%d)", known[i].name, (int)status);
			return out;
		}
	snprintf(out, out_bytes, "OpenCL error %d", (int)status);
	return out;
}
