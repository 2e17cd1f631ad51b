/* The judge's own kernels, in its own context. */
#include "device/nvidia.h"

#include "base/alloc.h"

#include <string.h>

enum { FUNCTIONS_MAX = 64, NAME_MAX_BYTES = 64 };

struct kw_program {
	struct nvidia *device;
	cuda_module module;
	struct {
		char name[NAME_MAX_BYTES];
		cuda_function function;
	} known[FUNCTIONS_MAX];
	int count;
};

static enum kw_status load(struct kw_device *d, const struct kw_artefact *code, struct kw_program **out, struct kw_error *err)
{
	struct nvidia *n = kw_nvidia_of(d);
	struct kw_program *p = kw_calloc(1, sizeof(*p));
	cuda_result r = CUDA_SUCCESS;
	enum kw_status st;

	*out = NULL;
	if (!p)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a program");
	p->device = n;
	st = kw_nvidia_enter(n, err);
	if (st == KW_OK)
		r = n->cu->ModuleLoadData(&p->module, code->code);
	if (st == KW_OK)
		st = kw_nvidia_driver_is_older(n, code, r, err) ? KW_ERR_ENV : kw_cuda_status(n->cu, r, "cuModuleLoadData", err);
	if (st != KW_OK) {
		kw_free(p);
		return st;
	}
	*out = p;
	return KW_OK;
}

static void unload(struct kw_program *p)
{
	if (!p)
		return;
	if (kw_nvidia_enter(p->device, NULL) == KW_OK)
		p->device->cu->ModuleUnload(p->module);
	kw_free(p);
}

static enum kw_status find(struct kw_program *p, const char *name, cuda_function *out, struct kw_error *err)
{
	enum kw_status st;

	for (int i = 0; i < p->count; i++)
		if (strcmp(p->known[i].name, name) == 0) {
			*out = p->known[i].function;
			return KW_OK;
		}
	st = kw_cuda_status(p->device->cu, p->device->cu->ModuleGetFunction(out, p->module, name), "cuModuleGetFunction", err);
	if (st == KW_OK && p->count < FUNCTIONS_MAX && strlen(name) < NAME_MAX_BYTES) {
		memcpy(p->known[p->count].name, name, strlen(name) + 1);
		p->known[p->count++].function = *out;
	}
	return st;
}

static enum kw_status launch(struct kw_program *p, const char *kernel, const int64_t grid[3], const int64_t block[3], void **args,
			     struct kw_error *err)
{
	const struct kw_cuda *cu = p->device->cu;
	cuda_function f;
	enum kw_status st = kw_nvidia_enter(p->device, err);

	if (st == KW_OK)
		st = find(p, kernel, &f, err);
	if (st != KW_OK)
		return st;
	return kw_cuda_status(cu, cu->LaunchKernel(f, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], (unsigned)block[0],
						   (unsigned)block[1], (unsigned)block[2], 0, NULL, args, NULL),
			      "cuLaunchKernel", err);
}

static enum kw_status alloc(struct kw_device *d, size_t bytes, uint64_t *out, struct kw_error *err)
{
	struct nvidia *n = kw_nvidia_of(d);
	enum kw_status st = kw_nvidia_enter(n, err);

	*out = 0;
	return st == KW_OK ? kw_cuda_status(n->cu, n->cu->MemAlloc(out, bytes ? bytes : 1), "cuMemAlloc", err) : st;
}

static void release(struct kw_device *d, uint64_t p)
{
	struct nvidia *n = kw_nvidia_of(d);

	if (p && kw_nvidia_enter(n, NULL) == KW_OK)
		n->cu->MemFree(p);
}

static enum kw_status read_back(struct kw_device *d, void *to, uint64_t from, size_t bytes, struct kw_error *err)
{
	struct nvidia *n = kw_nvidia_of(d);
	enum kw_status st = kw_nvidia_enter(n, err);

	return st == KW_OK ? kw_cuda_status(n->cu, n->cu->MemcpyDtoH(to, from, bytes), "cuMemcpyDtoH", err) : st;
}

static uint64_t address(struct kw_session *session, int slot, int buffer)
{
	const struct gpu_buffer *b = kw_gpu_buffer(kw_gpu_session_of(session), slot, buffer);

	return b->map + b->offset;
}

static void changed(struct kw_session *session, int slot, int buffer)
{
	struct gpu_mirror *m = &kw_gpu_session_of(session)->mirrors[buffer];

	if (m->slot == slot)
		m->slot = -1;
}

const struct kw_compute_ops kw_nvidia_compute = {
	.load = load,
	.unload = unload,
	.launch = launch,
	.alloc = alloc,
	.release = release,
	.read = read_back,
	.address = address,
	.changed = changed,
};
