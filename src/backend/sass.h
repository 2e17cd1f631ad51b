/* sass.h - what a CUDA object's machine code is made of: counts of its instructions, by kernel,
 * from nvdisasm.
 *
 *     json_t *counts = NULL;
 *     kw_sass_count(artefact->code, artefact->code_bytes, &counts, err); // KW_NO: there is no nvdisasm
 *
 * One object a kernel, by its symbol:
 *     { "instructions": 451, "opcodes": { "LDG": 4, "FFMA": 64, ... }, "global_loads": { "128": 4 },
 *       "global_stores": { "128": 2 }, "local": 0, "fp64": 0, "matrix": 0, "divisions": 0 }
 * Loads and stores are by bits a thread; local counts LDL and STL (spills, arrays with running indices); fp64 arithmetic and
 * conversions on doubles; matrix what runs on the matrix units; divisions and remainders of integers by a divisor that the
 * compiler does not know. Padding is not counted. Thread rule: any thread. */
#ifndef KW_BACKEND_SASS_H
#define KW_BACKEND_SASS_H

#include "base/error.h"
#include "base/json.h"

/* Runs nvdisasm (of the toolkit, or on PATH) in the compiler's box. *out: json_decref. */
enum kw_status kw_sass_count(const void *cubin, size_t bytes, json_t **out, struct kw_error *err);
/* The same from nvdisasm's text. NULL: out of memory. */
json_t *kw_sass_parse(const char *text, size_t len);

#endif
