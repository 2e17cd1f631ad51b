/* c.h - the pieces of the C backend: which compiler (toolchain.c), which flags (flags.c), the build itself (c.c). */
#ifndef KW_BACKEND_C_H
#define KW_BACKEND_C_H

#include "backend/backend.h"
#include "backend/diagnostics.h"

struct kw_toolchain {
	char path[512];                   /* absolute */
	char version[128];                /* "gcc 12.2.0" */
	char identity[256];               /* whole first line of --version, size and time of the program */
	bool clang;
};
/* name NULL: $KWRIGHT_CC, gcc, clang. KW_ERR_ENV with what to install. Asks a compiler for its version once. */
enum kw_status kw_toolchain_find(const char *name, struct kw_toolchain *out, struct kw_error *err);
/* Model and feature flags of this processor: what -march=native depends on. */
const char *kw_toolchain_cpu(void);

/* Whether a candidate may ask for this flag (`//@ flags`). */
bool kw_flag_allowed(const char *flag);
const char *const *kw_flags_allowed(size_t *count);   /* for messages and docs; a '=' ends a prefix */
/* Whether it makes the linker add code that changes how the whole process rounds: then it is given to the compiler only. */
bool kw_flag_is_fast_math(const char *flag);

#endif
