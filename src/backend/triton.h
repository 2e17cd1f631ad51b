/* triton.h - what the Triton backend and the device that interprets its kernels share.
 *
 * The artefact for that device ("triton-source") is the question that the compiler was asked, as JSON: the source, the values of its
 * constants, and per kernel the types of its arguments. */
#ifndef KW_BACKEND_TRITON_H
#define KW_BACKEND_TRITON_H

#include "base/hash.h"
#include "python/python.h"

/* In the arch of that device's hardware, behind the architecture that its kernels are compiled for: "sm_90a interpreter". */
#define KW_TRITON_INTERPRETER "interpreter"
/* What python/triton_source.py calls the source: of an artefact, which is kept under no name. */
#define KW_TRITON_FILE "candidate.py"

/* A process of python/FILE.py in the compiler's box, which may write to dir alone. wants: as kw_python_find. */
enum kw_status kw_triton_start(const char *file, const char *dir, unsigned wants, struct kw_python **out, struct kw_error *err);
/* Everything of the compiler that an object depends on. file: of python/, besides those that all have; or NULL. */
enum kw_status kw_triton_hash(struct kw_hasher *h, const struct kw_python_found *python, const char *file, struct kw_error *err);

#endif
