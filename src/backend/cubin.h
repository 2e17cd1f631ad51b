/* cubin.h - what a CUDA object says of itself, read from its bytes: kernels with their parameters
 * and resources, globals that a kernel could write, functions that it calls but does not have.
 *
 *     struct kw_cubin c;
 *     if (kw_cubin_open(&c, bytes, len) && kw_cubin_kernel(&c, "softmax_row", &k))
 *             printf("%d registers, %zu parameters\n", k.facts.registers, k.param_count);
 *
 * A cubin is ELF with NVIDIA's sections: .nv.info and .nv.info.KERNEL hold attributes (a format
 * byte, an attribute byte, and a 16-bit value or the size of what follows), .nv.shared.KERNEL the
 * size of static shared memory, .nv.global* the globals. What each attribute means was read off
 * `cuobjdump -elf` of CUDA 13. Anything malformed is refused, never trusted. Bytes are borrowed.
 * Pure functions; any thread. */
#ifndef KW_BACKEND_CUBIN_H
#define KW_BACKEND_CUBIN_H

#include "backend/elf.h"
#include "core/launch.h"

enum { KW_CUBIN_MAX_PARAMS = 128 };

struct kw_cubin {
	struct kw_elf elf;
	int sm; /* 90 */
	int64_t code_bytes, constant_bytes, writable_bytes;
};
struct kw_cubin_param {
	int offset, bytes; /* in the parameter block */
};
struct kw_cubin_kernel {
	struct kw_kernel_facts facts; /* but the spills, which only the compiler's log tells */
	struct kw_cubin_param params[KW_CUBIN_MAX_PARAMS];
	size_t param_count;
	int param_base; /* offset of the block; what is aligned is base + offset */
};
/* False when the bytes are no cubin. */
bool kw_cubin_open(struct kw_cubin *c, const void *bytes, size_t len);
/* The kernel of this plain name: extern "C", or the one C++ function (no namespace, no template) of
 * this name. *several: there is more than one of them. */
bool kw_cubin_kernel(const struct kw_cubin *c, const char *name, struct kw_cubin_kernel *out,
		     bool *several);
/* The i-th kernel's name as the object has it ("_Z4tileILi64EEvPf"), by which it is found; NULL behind the last. */
const char *kw_cubin_symbol(const struct kw_cubin *c, size_t i);
/* "a, tile<...>": the kernels, for people. */
void kw_cubin_list_kernels(const struct kw_cubin *c, struct kw_buf *out);
/* The i-th function that is called and not there ("vprintf"), NULL behind the last. */
const char *kw_cubin_undefined(const struct kw_cubin *c, size_t i);
/* The i-th variable in memory that kernels can write; NULL behind the last. */
const char *kw_cubin_global(const struct kw_cubin *c, size_t i, int64_t *bytes);

#endif
