#include "backend/hip_object.h"

#include "backend/elf.h"

#include <stdio.h>
#include <string.h>

#define ENDING ".kd"                   /* of the symbol that is a kernel's descriptor */
enum { MACHINE_AMDGPU = 224, DESCRIPTOR_BYTES = 64 };
/* Offsets in a descriptor. */
enum { GROUP_BYTES = 0, PRIVATE_BYTES = 4, ARGUMENT_BYTES = 8, RSRC1 = 48 };
enum { VGPR_MASK = 63, GRANULE_CDNA2 = 8, GRANULE_GCN = 4, GRANULE_RDNA = 8 };

static uint32_t word(const char *p, size_t at)
{
	uint32_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

/* The i-th kernel's name (without the ending, *len long) and descriptor; false behind the last. */
static bool kernel_at(const struct kw_elf *o, size_t i, const char **name, size_t *len, const char **descriptor)
{
	Elf64_Shdr table, holder;

	for (unsigned k = 0; kw_elf_section(o, k, &table); k++) {
		const char *symbols = table.sh_type == SHT_DYNSYM ? kw_elf_contents(o, &table) : NULL;

		for (size_t n = 0; symbols && (n + 1) * sizeof(Elf64_Sym) <= table.sh_size; n++) {
			Elf64_Sym s;
			const char *contents;

			memcpy(&s, symbols + n * sizeof(s), sizeof(s));
			*name = kw_elf_string(o, table.sh_link, s.st_name);
			*len = *name ? strlen(*name) : 0;
			if (*len <= strlen(ENDING) || strcmp(*name + *len - strlen(ENDING), ENDING) != 0 ||
			    !kw_elf_section(o, s.st_shndx, &holder) || !(contents = kw_elf_contents(o, &holder)) ||
			    s.st_value < holder.sh_addr || holder.sh_size < DESCRIPTOR_BYTES ||
			    s.st_value - holder.sh_addr > holder.sh_size - DESCRIPTOR_BYTES)
				continue;
			if (i-- > 0)
				continue;
			*len -= strlen(ENDING);
			*descriptor = contents + (s.st_value - holder.sh_addr);
			return true;
		}
	}
	return false;
}

static bool open_object(struct kw_elf *o, const void *bytes, size_t len)
{
	return kw_elf_open(o, bytes, len) && o->header.e_machine == MACHINE_AMDGPU;
}

/* "f" or "_Z1f..." as the Itanium ABI mangles a plain function. */
static bool is_named(const char *symbol, size_t len, const char *name)
{
	char mangled[192];
	int n = snprintf(mangled, sizeof(mangled), "_Z%zu%.140s", strlen(name), name);

	if (strlen(name) == len && strncmp(symbol, name, len) == 0)
		return true;
	/* An 'I' would begin template arguments. */
	return (size_t)n < len && strncmp(symbol, mangled, (size_t)n) == 0 && symbol[n] != 'I';
}

/* Vector registers are given in granules; the field is how many, less one. */
static int registers(uint32_t rsrc1, const char *arch)
{
	int granule = strncmp(arch, "gfx90a", 6) == 0 || strncmp(arch, "gfx94", 5) == 0 || strncmp(arch, "gfx95", 5) == 0 ?
			      GRANULE_CDNA2 : strncmp(arch, "gfx1", 4) == 0 ? GRANULE_RDNA : GRANULE_GCN;

	return (int)((rsrc1 & VGPR_MASK) + 1) * granule;
}

bool kw_hip_kernel(const void *bytes, size_t len, const char *name, const char *arch, struct kw_kernel_facts *out, bool *several)
{
	struct kw_elf o;
	const char *symbol, *descriptor;
	size_t n, found = 0;

	*out = (struct kw_kernel_facts){ 0 };
	*several = false;
	for (size_t i = 0; open_object(&o, bytes, len) && kernel_at(&o, i, &symbol, &n, &descriptor); i++) {
		if (!is_named(symbol, n, name) || n >= sizeof(out->symbol))
			continue;
		found++;
		memcpy(out->symbol, symbol, n);
		out->symbol[n] = '\0';
		out->static_smem_bytes = word(descriptor, GROUP_BYTES);
		out->stack_bytes = word(descriptor, PRIVATE_BYTES);
		out->param_bytes = word(descriptor, ARGUMENT_BYTES);
		out->registers = registers(word(descriptor, RSRC1), arch);
	}
	*several = found > 1;
	return found == 1;
}

void kw_hip_list_kernels(const void *bytes, size_t len, struct kw_buf *out)
{
	struct kw_elf o;
	const char *symbol, *descriptor;
	size_t n;

	for (size_t i = 0; open_object(&o, bytes, len) && kernel_at(&o, i, &symbol, &n, &descriptor); i++)
		kw_buf_printf(out, "%s%.*s", out->len ? ", " : "", (int)n, symbol);
}
