/* Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 (instruction format) and appendix A (maps of
 * opcodes); volume 3, 6.15 (interrupt 13). */
#include "device/refusal.h"

#include <stdbool.h>
#include <string.h>

enum map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_OTHER };
enum { RSP = 4, RSI = 6, RDI = 7 };

struct decoded {
	const uint8_t *code;
	size_t bytes, at;
	uint8_t rex;                   /* R, X and B as REX has them */
	bool vector;                   /* by VEX or EVEX */
	enum map map;
	uint8_t opcode;
};

static int next(struct decoded *d)
{
	return d->at < d->bytes ? d->code[d->at++] : -1;
}

/* Bits 48 to 63 repeat bit 47. */
static bool possible(uint64_t address)
{
	uint64_t top = address >> 47;

	return top == 0 || top == 0x1ffff;
}

static bool is_prefix(int b)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3 };

	return b >= 0 && memchr(prefixes, b, sizeof(prefixes));
}

static enum map map_of(int number)
{
	return number == 1 ? MAP_0F : number == 2 ? MAP_0F38 : number == 3 ? MAP_0F3A : MAP_OTHER;
}

/* C5, C4 and 62: registers' high bits are kept inverted, and the map is a number. */
static int vector_prefix(struct decoded *d, int b)
{
	int p = next(d);

	if (p < 0)
		return -1;
	d->vector = true;
	d->rex = (uint8_t)(~p >> 5 & 7);
	d->map = MAP_0F;
	if (b == 0xc5)
		d->rex &= 4;
	else
		d->map = map_of(p & (b == 0xc4 ? 31 : 7));
	for (int more = b == 0xc5 ? 0 : b == 0xc4 ? 1 : 2; more > 0; more--)
		next(d);
	return next(d);
}

static bool decode_opcode(struct decoded *d)
{
	int b = next(d);

	while (is_prefix(b))
		b = next(d);
	if (b >= 0x40 && b < 0x50) {
		d->rex = (uint8_t)(b & 7);
		b = next(d);
	}
	if (b == 0xc4 || b == 0xc5 || b == 0x62) {
		b = vector_prefix(d, b);
	} else if (b == 0x0f) {
		b = next(d);
		d->map = b == 0x38 ? MAP_0F38 : b == 0x3a ? MAP_0F3A : MAP_0F;
		if (d->map != MAP_0F)
			b = next(d);
	}
	d->opcode = (uint8_t)b;
	return b >= 0;
}

/* cli, hlt, in, out, int n, wrmsr, a move to a control register ... */
static bool is_privileged(const struct decoded *d)
{
	static const uint8_t one[] = { 0x6c, 0x6d, 0x6e, 0x6f, 0xcd, 0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, 0xf4, 0xfa, 0xfb };
	static const uint8_t two[] = { 0x00, 0x01, 0x06, 0x08, 0x09, 0x20, 0x21, 0x22, 0x23, 0x30, 0x31, 0x32, 0x33, 0x35 };

	if (d->vector)
		return false;
	return (d->map == MAP_ONE && memchr(one, d->opcode, sizeof(one))) || (d->map == MAP_0F && memchr(two, d->opcode, sizeof(two)));
}

/* Gathers and scatters: the index is a vector, which is not known here. */
static bool vector_index(const struct decoded *d)
{
	return d->vector && d->map == MAP_0F38 && ((d->opcode >= 0x90 && d->opcode <= 0x93) || (d->opcode >= 0xa0 && d->opcode <= 0xa3));
}

/* The operand in memory that ModRM, SIB and displacement name; a register that is jumped to stands for its content. A short displacement
 * of EVEX counts in vectors, which is too little to make an address impossible. */
static bool operand(struct decoded *d, uint64_t rip, const uint64_t *r, uint64_t *out)
{
	int modrm = next(d), mod = modrm >> 6, base = modrm & 7, index = RSP, scale = 0;
	int32_t shift = 0;
	size_t length;

	if (modrm < 0)
		return false;
	if (mod == 3) {
		*out = r[base | (d->rex & 1) << 3];
		return d->map == MAP_ONE && d->opcode == 0xff;
	}
	*out = 0;
	if (base == 4) {
		int sib = next(d);

		if (sib < 0)
			return false;
		base = sib & 7;
		index = (sib >> 3 & 7) | (d->rex & 2) << 2;
		scale = sib >> 6;
	} else if (base == 5 && mod == 0) {
		*out = rip;
	}
	length = mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0;
	if (length > d->bytes - d->at)
		return false;
	memcpy(&shift, d->code + d->at, length);
	if (length == 1)
		shift = (int8_t)shift;
	if (base != 5 || mod != 0)
		*out += r[base | (d->rex & 1) << 3];
	if (index != RSP && !vector_index(d))
		*out += r[index] << scale;
	*out += (uint64_t)(int64_t)shift;
	return true;
}

/* ret, and string instructions: no ModRM. A return goes where the top of the stack says. */
static bool implied(const struct decoded *d, const uint64_t *r, uint64_t *out)
{
	bool string = d->opcode >= 0xa4 && d->opcode <= 0xaf && d->opcode != 0xa8 && d->opcode != 0xa9;

	if (d->vector || d->map != MAP_ONE || !(string || d->opcode == 0xc2 || d->opcode == 0xc3))
		return false;
	if (string)
		*out = possible(r[RSI]) ? r[RDI] : r[RSI];
	else if (possible(r[RSP]))
		memcpy(out, (const void *)(uintptr_t)r[RSP], sizeof(*out)); /* it was just read: there is something */
	else
		*out = r[RSP];
	return true;
}

enum refusal kw_refusal(const uint8_t *code, size_t bytes, uint64_t rip, const uint64_t *registers, uint64_t *address)
{
	struct decoded d = { .code = code, .bytes = bytes };

	*address = rip;
	if (!possible(rip))
		return REFUSAL_ADDRESS;
	if (!decode_opcode(&d))
		return REFUSAL_ALIGNMENT;
	if (is_privileged(&d))
		return REFUSAL_INSTRUCTION;
	if ((implied(&d, registers, address) || operand(&d, rip, registers, address)) && !possible(*address))
		return REFUSAL_ADDRESS;
	return REFUSAL_ALIGNMENT;
}
