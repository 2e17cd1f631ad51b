/* elf.h - what a shared object offers and keeps, read from its bytes without loading it. x86-64 and other
 * little-endian 64-bit ELF; anything malformed is refused, never trusted. */
#ifndef KW_BACKEND_ELF_H
#define KW_BACKEND_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* An object's bytes, borrowed; every reader below stays within them. */
struct kw_elf {
	const char *bytes;
	size_t len;
	Elf64_Ehdr header;
};
bool kw_elf_open(struct kw_elf *o, const void *bytes, size_t len);
bool kw_elf_section(const struct kw_elf *o, unsigned i, Elf64_Shdr *out);       /* false behind the last */
const char *kw_elf_contents(const struct kw_elf *o, const Elf64_Shdr *s);       /* NULL: none, or not within */
const char *kw_elf_string(const struct kw_elf *o, unsigned table, uint64_t at); /* of a string section; NULL: none */

struct kw_elf_facts {
	int64_t text_bytes;               /* executable segments */
	int64_t writable_bytes;           /* of its own variables; by symbols, else the size of .data and .bss */
	size_t function_count;            /* exported */
};
/* False when the bytes are no such object. */
bool kw_elf_facts(const void *bytes, size_t len, struct kw_elf_facts *out);
/* Whether it exports a function of this name. */
bool kw_elf_has_function(const void *bytes, size_t len, const char *name);
/* "a, b, c": exported functions, but those of the runtime (_init, _fini). */
void kw_elf_list_functions(const void *bytes, size_t len, struct kw_buf *out);

#endif
