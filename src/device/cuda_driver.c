#include "device/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct kw_cuda driver;
static const char *missing;            /* a symbol that the driver does not have */
static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *symbol(const char *name)
{
	void *p = dlsym(library, name);

	if (!p && !missing)
		missing = name;
	return p;
}

static void load(void)
{
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	/* POSIX says that a pointer from dlsym may be used as a function's. */
#define X(field, name, parameters) *(void **)&driver.field = symbol(name);
	KW_CUDA_LIST(X)
#undef X
}

enum kw_status kw_cuda_load(const struct kw_cuda **out, struct kw_error *err)
{
	*out = NULL;
	pthread_once(&once, load);
	if (!library)
		return kw_fail(err, KW_ERR_ENV, "", "no NVIDIA driver: libcuda.so.1 was not found; install the driver of the GPU, "
						    "or build for one that is elsewhere: kwright eval --device SHEET");
	if (missing)
		return kw_fail(err, KW_ERR_ENV, "libcuda.so.1", "the driver is too old: it has no %s; CUDA 12.0 (driver 525) "
								"or later is needed", missing);
	*out = &driver;
	return KW_OK;
}

const char *kw_cuda_error(const struct kw_cuda *cu, cuda_result r, char *out, size_t out_bytes)
{
	const char *name = NULL;

	if (cu->GetErrorName(r, &name) != CUDA_SUCCESS || !name)
		name = "an unknown error";
	snprintf(out, out_bytes, "%s (%d)", name, r);
	return out;
}

enum kw_status kw_cuda_status(const struct kw_cuda *cu, cuda_result r, const char *call, struct kw_error *err)
{
	const char *words = NULL;
	char name[80];

	if (r == CUDA_SUCCESS)
		return KW_OK;
	cu->GetErrorString(r, &words);
	return kw_fail(err, r == CUDA_OUT_OF_MEMORY ? KW_ERR_NOMEM : KW_ERR_ENV, "", "%s failed: %s%s%s", call,
		       kw_cuda_error(cu, r, name, sizeof(name)), words ? ": " : "", words ? words : "");
}
