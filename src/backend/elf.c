#include "backend/elf.h"

#include <string.h>

static bool read_at(const struct kw_elf *o, uint64_t at, void *out, size_t n)
{
	if (at > o->len || n > o->len - at)
		return false;
	memcpy(out, o->bytes + at, n);
	return true;
}

bool kw_elf_open(struct kw_elf *o, const void *bytes, size_t len)
{
	*o = (struct kw_elf){ .bytes = bytes, .len = len };
	return read_at(o, 0, &o->header, sizeof(o->header)) && memcmp(o->header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       o->header.e_ident[EI_CLASS] == ELFCLASS64 && o->header.e_ident[EI_DATA] == ELFDATA2LSB &&
	       o->header.e_shentsize == sizeof(Elf64_Shdr);
}

bool kw_elf_section(const struct kw_elf *o, unsigned i, Elf64_Shdr *out)
{
	return i < o->header.e_shnum && read_at(o, o->header.e_shoff + (uint64_t)i * sizeof(*out), out, sizeof(*out));
}

const char *kw_elf_contents(const struct kw_elf *o, const Elf64_Shdr *s)
{
	if (s->sh_type == SHT_NOBITS || s->sh_size == 0 || s->sh_offset > o->len || s->sh_size > o->len - s->sh_offset)
		return NULL;
	return o->bytes + s->sh_offset;
}

const char *kw_elf_string(const struct kw_elf *o, unsigned table, uint64_t at)
{
	Elf64_Shdr s;
	const char *names = kw_elf_section(o, table, &s) ? kw_elf_contents(o, &s) : NULL;

	return names && at < s.sh_size && names[s.sh_size - 1] == '\0' ? names + at : NULL;
}

/* STT_GNU_IFUNC: one that is chosen when it is loaded (target_clones). */
static bool is_function(const Elf64_Sym *s)
{
	int type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF;
}

/* Calls fn for each exported, defined function; stops when it returns true. */
static bool each_function(const void *bytes, size_t len, bool (*fn)(void *arg, const char *name), void *arg)
{
	struct kw_elf o;
	Elf64_Shdr symbols;
	Elf64_Sym s;

	if (!kw_elf_open(&o, bytes, len))
		return false;
	for (unsigned i = 0; kw_elf_section(&o, i, &symbols); i++) {
		if (symbols.sh_type != SHT_DYNSYM)
			continue;
		for (uint64_t k = 0; k < symbols.sh_size / sizeof(s); k++) {
			const char *name;

			if (!read_at(&o, symbols.sh_offset + k * sizeof(s), &s, sizeof(s)))
				return false;
			if (!is_function(&s))
				continue;
			name = kw_elf_string(&o, symbols.sh_link, s.st_name);
			if (name && fn(arg, name))
				return true;
		}
	}
	return false;
}

static bool of_runtime(const char *name)
{
	return strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0;
}

static bool same_name(void *arg, const char *name)
{
	return strcmp(arg, name) == 0;
}

bool kw_elf_has_function(const void *bytes, size_t len, const char *name)
{
	char wanted[512];
	size_t n = strlen(name);

	if (n >= sizeof(wanted))
		return false;
	memcpy(wanted, name, n + 1);
	return each_function(bytes, len, same_name, wanted);
}

static bool add_name(void *arg, const char *name)
{
	struct kw_buf *out = arg;

	if (!of_runtime(name))
		kw_buf_printf(out, "%s%s", out->len ? ", " : "", name);
	return false;
}

void kw_elf_list_functions(const void *bytes, size_t len, struct kw_buf *out)
{
	each_function(bytes, len, add_name, out);
}

static bool count_name(void *arg, const char *name)
{
	*(size_t *)arg += !of_runtime(name);
	return false;
}

static bool is_variable(const struct kw_elf *o, const Elf64_Sym *s)
{
	int type = ELF64_ST_TYPE(s->st_info);
	Elf64_Shdr home;

	return (type == STT_OBJECT || type == STT_TLS) && s->st_shndx < SHN_LORESERVE && kw_elf_section(o, s->st_shndx, &home) &&
	       (home.sh_flags & SHF_WRITE);
}

/* Every object has a byte of the start files' too, which come under their own file name. False: there are no symbols. */
static bool count_variables(const struct kw_elf *o, const Elf64_Shdr *symbols, int64_t *bytes)
{
	bool theirs = false;
	Elf64_Sym s;

	if (symbols->sh_type != SHT_SYMTAB)
		return false;
	*bytes = 0;
	for (uint64_t k = 0; k < symbols->sh_size / sizeof(s); k++) {
		const char *name;

		if (!read_at(o, symbols->sh_offset + k * sizeof(s), &s, sizeof(s)))
			return false;
		name = kw_elf_string(o, symbols->sh_link, s.st_name);
		if (ELF64_ST_TYPE(s.st_info) == STT_FILE)
			theirs = name && strcmp(name, "crtstuff.c") == 0;
		else if (is_variable(o, &s) && !(theirs && ELF64_ST_BIND(s.st_info) == STB_LOCAL))
			*bytes += (int64_t)(s.st_size & INT64_MAX);
	}
	return true;
}

bool kw_elf_facts(const void *bytes, size_t len, struct kw_elf_facts *out)
{
	struct kw_elf o;
	Elf64_Shdr s;
	int64_t variables = 0;
	bool known = false;

	*out = (struct kw_elf_facts){ 0 };
	if (!kw_elf_open(&o, bytes, len))
		return false;
	/* NOBITS is .bss; linkers keep their own tables (.got, .dynamic) under other names and types. */
	for (unsigned i = 0; kw_elf_section(&o, i, &s); i++) {
		known = known || count_variables(&o, &s, &variables);
		if (s.sh_flags & SHF_EXECINSTR)
			out->text_bytes += (int64_t)(s.sh_size & INT64_MAX);
		else if ((s.sh_flags & SHF_WRITE) && (s.sh_flags & SHF_ALLOC) &&
			 (s.sh_type == SHT_NOBITS || (s.sh_type == SHT_PROGBITS && s.sh_addralign >= 4 && s.sh_size > 8)))
			out->writable_bytes += (int64_t)(s.sh_size & INT64_MAX);
	}
	if (known)
		out->writable_bytes = variables;
	each_function(bytes, len, count_name, &out->function_count);
	return true;
}
