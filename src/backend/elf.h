/* elf.h - what a shared object offers and keeps, read from its bytes without loading it. x86-64 and other
 * little-endian 64-bit ELF; anything malformed is refused, never trusted. */
#ifndef KW_BACKEND_ELF_H
#define KW_BACKEND_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct kw_elf_facts {
	int64_t text_bytes;               /* executable segments */
	int64_t writable_bytes;           /* of its own variables (.data, .bss) */
	size_t function_count;            /* exported */
};
/* False when the bytes are no such object. */
bool kw_elf_facts(const void *bytes, size_t len, struct kw_elf_facts *out);
/* Whether it exports a function of this name. */
bool kw_elf_has_function(const void *bytes, size_t len, const char *name);
/* "a, b, c": exported functions, but those of the runtime (_init, _fini). */
void kw_elf_list_functions(const void *bytes, size_t len, struct kw_buf *out);

#endif
