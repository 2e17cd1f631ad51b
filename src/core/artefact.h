/* artefact.h - what a backend makes of a candidate: code bytes + entry points + facts.
 *
 * Heap-owned (kw_artefact_release); may be cached on disk by its key. */
#ifndef KW_CORE_ARTEFACT_H
#define KW_CORE_ARTEFACT_H

#include "base/hash.h"
#include "base/json.h"
#include "core/verdict.h"

enum kw_severity { KW_NOTE, KW_WARNING, KW_ERROR };
struct kw_diagnostic {
	enum kw_severity severity;
	enum kw_subclass cls;             /* SYNTAX, TYPE, UNDEFINED, INCLUDE, RESOURCES, ... */
	char file[128];
	int line, column;
	char message[480];
};
struct kw_artefact {
	char key[KW_SHA256_HEX];          /* build cache key (STYLE 17) */
	const char *kind;                 /* "elf-so", "cubin", "triton-source", ...: static strings */
	void *code;
	size_t code_bytes;
	struct kw_diagnostic *diagnostics;
	size_t diagnostic_count;
	char *log;                        /* the compiler's own text, bounded */
	json_t *facts;                    /* registers, spills, sizes: backend's own keys */
	char toolchain[160];              /* "gcc 12.2.0" */
	int64_t build_ns;                 /* 0 when it came from the cache */
	bool cached;
};
void kw_artefact_release(struct kw_artefact *a);
/* "softmax.c:12:7", or the file alone where no line is known. Returns out. */
const char *kw_diagnostic_place(const struct kw_diagnostic *d, char *out, size_t out_bytes);

#endif
