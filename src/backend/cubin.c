#include "backend/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINE_CUDA = 190, OSABI_CUDA_13 = 0x41, ENTRY = 0x10 /* of a symbol's st_other */ };
/* From 9.0 on the system's own kilobyte is part of a kernel's section. */
enum { SYSTEM_SMEM_FROM = 90, SYSTEM_SMEM = 1024 };
enum format { NO_VALUE = 1, BYTE_VALUE = 2, HALF_VALUE = 3, SIZED = 4 };
enum attribute {
	MAX_THREADS = 0x05,
	PARAM_BANK = 0x0a, /* where the parameter block begins, and its size */
	REQUIRED_THREADS = 0x10,
	FRAME_SIZE = 0x11,
	MIN_STACK_SIZE = 0x12,
	PARAM_INFO = 0x17,
	PARAM_BYTES = 0x19,
	REGISTER_COUNT = 0x2f,
	CLUSTER = 0x3d,
	MAX_CLUSTER = 0x3f,
	PARAM_INFO_2 = 0x45, /* where parameters are over 4 KiB */
	BARRIER_COUNT = 0x4c
};

/* ---- sections and symbols ---- */

static const char *section_name(const struct kw_cubin *c, const Elf64_Shdr *s)
{
	const char *name = kw_elf_string(&c->elf, c->elf.header.e_shstrndx, s->sh_name);

	return name ? name : "";
}

static bool find_section(const struct kw_cubin *c, const char *prefix, const char *name,
			 Elf64_Shdr *out)
{
	size_t n = strlen(prefix);

	for (unsigned i = 0; kw_elf_section(&c->elf, i, out); i++) {
		const char *got = section_name(c, out);

		if (strncmp(got, prefix, n) == 0 && strcmp(got + n, name) == 0)
			return true;
	}
	return false;
}

/* The k-th symbol and its name; false behind the last. */
static bool symbol(const struct kw_cubin *c, size_t k, Elf64_Sym *out, const char **name)
{
	Elf64_Shdr table;
	const char *bytes;

	if (!find_section(c, ".symtab", "", &table) ||
	    !(bytes = kw_elf_contents(&c->elf, &table)) || k >= table.sh_size / sizeof(*out))
		return false;
	memcpy(out, bytes + k * sizeof(*out), sizeof(*out));
	*name = kw_elf_string(&c->elf, table.sh_link, out->st_name);
	*name = *name ? *name : "";
	return true;
}

static bool is_writable(const char *section)
{
	return strncmp(section, ".nv.global", 10) == 0;
}

static int sm_of(const Elf64_Ehdr *h)
{
	return h->e_ident[EI_OSABI] == OSABI_CUDA_13 ? (int)(h->e_flags >> 8 & 0xff)
						     : (int)(h->e_flags & 0xff);
}

bool kw_cubin_open(struct kw_cubin *c, const void *bytes, size_t len)
{
	Elf64_Shdr s;

	*c = (struct kw_cubin){ .sm = 0 };
	if (!kw_elf_open(&c->elf, bytes, len) || c->elf.header.e_machine != MACHINE_CUDA)
		return false;
	c->sm = sm_of(&c->elf.header);
	for (unsigned i = 0; kw_elf_section(&c->elf, i, &s); i++) {
		const char *name = section_name(c, &s);
		int64_t size = (int64_t)(s.sh_size & INT32_MAX);

		if (strncmp(name, ".text.", 6) == 0)
			c->code_bytes += size;
		else if (is_writable(name))
			c->writable_bytes += size;
		else if (strcmp(name, ".nv.constant3") == 0)
			c->constant_bytes += size;
	}
	return true;
}

/* ---- attributes ---- */

/* One attribute; at: its place, moved behind it. value: of BYTE and HALF; data: of SIZED. */
struct info {
	enum format format;
	int attribute, value;
	const char *data;
	size_t bytes;
};

static bool next_info(const char *p, size_t len, size_t *at, struct info *out)
{
	uint16_t value;

	if (len - *at < 4)
		return false;
	*out = (struct info){ .format = (enum format)(unsigned char)p[*at],
			      .attribute = (unsigned char)p[*at + 1] };
	memcpy(&value, p + *at + 2, 2);
	*at += 4;
	out->value = out->format == BYTE_VALUE ? value & 0xff : value;
	if (out->format != SIZED)
		return true;
	if (value > len - *at)
		return false;
	out->data = p + *at;
	out->bytes = value;
	*at += value;
	return true;
}

static uint32_t word(const struct info *i, size_t k)
{
	uint32_t v = 0;

	if (i->bytes >= 4 * (k + 1))
		memcpy(&v, i->data + 4 * k, 4);
	return v;
}

static void three(const struct info *i, int64_t out[3])
{
	for (size_t k = 0; k < 3 && i->bytes >= 12; k++)
		out[k] = word(i, k);
}

/* .nv.info: attributes of every function, by its symbol. */
static void read_common(const struct kw_cubin *c, size_t index, struct kw_kernel_facts *f)
{
	Elf64_Shdr s;
	const char *p = find_section(c, ".nv.info", "", &s) ? kw_elf_contents(&c->elf, &s) : NULL;
	struct info i;

	for (size_t at = 0; p && next_info(p, s.sh_size, &at, &i);) {
		if (i.format != SIZED || word(&i, 0) != index || i.bytes < 8)
			continue;
		if (i.attribute == REGISTER_COUNT)
			f->registers = (int)(word(&i, 1) & 0xffff);
		else if (i.attribute == FRAME_SIZE || i.attribute == MIN_STACK_SIZE)
			f->stack_bytes =
				f->stack_bytes > word(&i, 1) ? f->stack_bytes : word(&i, 1);
	}
}

/* Index of the kernel (0), ordinal and offset, then the size: in the upper 14 bits, or by itself.
 */
static bool read_param(const struct info *i, struct kw_cubin_kernel *k)
{
	uint32_t place = word(i, 1), packed = word(i, 2);
	size_t ordinal = place & 0xffff;

	if (i->bytes < 12 || ordinal >= KW_CUBIN_MAX_PARAMS)
		return false;
	k->params[ordinal] = (struct kw_cubin_param){
		.offset = (int)(place >> 16),
		.bytes = (int)(i->attribute == PARAM_INFO ? packed >> 18 : packed & 0xffff)
	};
	k->param_count = k->param_count > ordinal + 1 ? k->param_count : ordinal + 1;
	return true;
}

static bool read_own(const struct kw_cubin *c, struct kw_cubin_kernel *k)
{
	Elf64_Shdr s;
	const char *p = find_section(c, ".nv.info.", k->facts.symbol, &s)
				? kw_elf_contents(&c->elf, &s)
				: NULL;
	int64_t most[3] = { 0 }, threads;
	bool good = p != NULL;
	struct info i;

	for (size_t at = 0; good && next_info(p, s.sh_size, &at, &i);) {
		switch (i.attribute) {
		case PARAM_INFO:
		case PARAM_INFO_2:
			good = read_param(&i, k);
			break;
		case PARAM_BYTES:
			k->facts.param_bytes = i.value;
			break;
		case PARAM_BANK:
			k->param_base = (int)(word(&i, 1) & 0xffff);
			break;
		case MAX_THREADS:
			three(&i, most);
			break;
		case REQUIRED_THREADS:
			three(&i, k->facts.block);
			break;
		case CLUSTER:
			three(&i, k->facts.cluster);
			break;
		case MAX_CLUSTER:
			k->facts.max_cluster = (int)(word(&i, 0) & INT32_MAX);
			break;
		case BARRIER_COUNT:
			k->facts.barriers = i.value;
			break;
		default:
			break;
		}
	}
	if (!__builtin_mul_overflow(most[0], most[1], &threads) && !__builtin_mul_overflow(threads, most[2], &threads) &&
	    threads > 0 && threads <= INT32_MAX)
		k->facts.max_threads = (int)threads;
	k->facts.param_count = (int64_t)k->param_count;
	return good;
}

/* ---- kernels ---- */

/* "f" or "_Z1f…" as the Itanium ABI mangles a plain function. */
static bool is_named(const char *symbol_name, const char *name)
{
	char mangled[192];

	if (strcmp(symbol_name, name) == 0)
		return true;
	snprintf(mangled, sizeof(mangled), "_Z%zu%.140s", strlen(name), name);
	/* An 'I' would begin template arguments; no type of a parameter begins with it. */
	return strncmp(symbol_name, mangled, strlen(mangled)) == 0 &&
	       symbol_name[strlen(mangled)] != 'I' && symbol_name[strlen(mangled)] != '\0';
}

static bool is_kernel(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
	       (s->st_other & ENTRY);
}

bool kw_cubin_kernel(const struct kw_cubin *c, const char *name, struct kw_cubin_kernel *out,
		     bool *several)
{
	const char *got, *found = NULL;
	Elf64_Sym s;
	Elf64_Shdr shared;
	size_t index = 0;

	*out = (struct kw_cubin_kernel){ .param_count = 0 };
	*several = false;
	for (size_t k = 0; symbol(c, k, &s, &got); k++) {
		if (!is_kernel(&s) || !is_named(got, name))
			continue;
		*several = *several || found;
		found = got;
		index = k;
	}
	if (!found || *several || strlen(found) >= sizeof(out->facts.symbol))
		return false;
	memcpy(out->facts.symbol, found, strlen(found) + 1);
	read_common(c, index, &out->facts);
	if (find_section(c, ".nv.shared.", found, &shared)) {
		out->facts.static_smem_bytes = (int64_t)(shared.sh_size & INT32_MAX);
		if (c->sm >= SYSTEM_SMEM_FROM && out->facts.static_smem_bytes >= SYSTEM_SMEM)
			out->facts.static_smem_bytes -= SYSTEM_SMEM;
	}
	return read_own(c, out);
}

/* "_ZN2ns4tileILi128EEvPKc" is "ns::tile<...>": names and no more, of what the Itanium ABI mangles. False: another form. */
static bool plain_name(const char *name, struct kw_buf *out)
{
	bool is_mangled = strncmp(name, "_Z", 2) == 0, nested = is_mangled && name[2] == 'N', first = true;
	const char *at;

	if (!is_mangled)
		return false;
	at = name + 2 + nested;
	while (*at >= '1' && *at <= '9' && (first || nested)) {
		char *end;
		unsigned long n = strtoul(at, &end, 10);

		if (n > strlen(end))
			return false;
		/* What has no name is called so by the compilers. */
		kw_buf_printf(out, "%s%.*s", first ? "" : "::", (int)n, strncmp(end, "_GLOBAL__N_", 11) == 0 ? "(anonymous)" : end);
		at = end + n;
		first = false;
	}
	if (*at == 'I')
		kw_buf_addz(out, "<...>");
	return !first;
}

const char *kw_cubin_symbol(const struct kw_cubin *c, size_t i)
{
	const char *name;
	Elf64_Sym s;

	for (size_t k = 0; symbol(c, k, &s, &name); k++)
		if (is_kernel(&s) && i-- == 0)
			return name;
	return NULL;
}

void kw_cubin_list_kernels(const struct kw_cubin *c, struct kw_buf *out)
{
	const char *name;
	Elf64_Sym s;

	for (size_t k = 0; symbol(c, k, &s, &name); k++) {
		if (!is_kernel(&s))
			continue;
		kw_buf_addz(out, out->len ? ", " : "");
		if (!plain_name(name, out))
			kw_buf_addz(out, name);
	}
}

/* ---- functions and variables ---- */

const char *kw_cubin_undefined(const struct kw_cubin *c, size_t i)
{
	const char *name;
	Elf64_Sym s;

	for (size_t k = 0; symbol(c, k, &s, &name); k++)
		if (s.st_shndx == SHN_UNDEF && ELF64_ST_TYPE(s.st_info) == STT_FUNC && *name &&
		    i-- == 0)
			return name;
	return NULL;
}

const char *kw_cubin_global(const struct kw_cubin *c, size_t i, int64_t *bytes)
{
	const char *name;
	Elf64_Sym s;
	Elf64_Shdr section;

	for (size_t k = 0; symbol(c, k, &s, &name); k++) {
		if (ELF64_ST_TYPE(s.st_info) != STT_OBJECT ||
		    !kw_elf_section(&c->elf, s.st_shndx, &section) ||
		    !is_writable(section_name(c, &section)) || i-- != 0)
			continue;
		*bytes = (int64_t)(s.st_size & INT64_MAX);
		return name;
	}
	return NULL;
}
