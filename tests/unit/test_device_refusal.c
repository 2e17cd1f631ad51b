/* What the processor refused without an address: read from the instruction's bytes, as an assembler wrote them. */
#include "device/refusal.h"

#include <string.h>

#include "base/alloc.h"
#include "tap.h"

#define WILD 0x4141414141414141u
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

static uint64_t stack[2] = { WILD, 0 };

/* Every register holds something harmless but one; its number -1: none. */
static void refused(const char *text, const uint8_t *code, size_t bytes, int wild, enum refusal want, uint64_t want_address)
{
	uint64_t registers[REFUSAL_REGISTERS], address = 0;
	enum refusal got;

	for (int i = 0; i < REFUSAL_REGISTERS; i++)
		registers[i] = 0x1008;
	registers[RSP] = (uint64_t)(uintptr_t)stack;
	if (wild >= 0)
		registers[wild] = WILD;
	got = kw_refusal(code, bytes, 0x5000, registers, &address);
	is_int(got, want, "%s", text);
	if (want == REFUSAL_ADDRESS)
		ok(address == want_address, "%s: 0x%llx", text, (unsigned long long)address);
}
#define REFUSED(text, wild, want, address, ...)                                                            \
	refused(text, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), wild, want, address)
#define ALIGNED(text, ...) REFUSED(text, -1, REFUSAL_ALIGNMENT, 0, __VA_ARGS__)
#define PRIVILEGED(text, ...) REFUSED(text, -1, REFUSAL_INSTRUCTION, 0, __VA_ARGS__)

static void test_alignment(void)
{
	ALIGNED("movaps (%rax), %xmm0", 0x0f, 0x28, 0x00);
	ALIGNED("movaps 8(%rsp), %xmm0", 0x0f, 0x28, 0x44, 0x24, 0x08);
	ALIGNED("movdqa (%rip), %xmm0", 0x66, 0x0f, 0x6f, 0x05, 0, 0, 0, 0);
	ALIGNED("vmovaps (%rax), %ymm0", 0xc5, 0xfc, 0x28, 0x00);
	ALIGNED("vmovaps (%r8), %zmm0", 0x62, 0xd1, 0x7c, 0x48, 0x28, 0x00);
	ALIGNED("vmovntdqa (%rax), %ymm0", 0xc4, 0xe2, 0x7d, 0x2a, 0x00);
	REFUSED("a wild register that is not used", RCX, REFUSAL_ALIGNMENT, 0, 0x0f, 0x28, 0x00);
	REFUSED("nor as an index", RSP, REFUSAL_ALIGNMENT, 0, 0x0f, 0x28, 0x04, 0x20);
	REFUSED("a gather's index is a vector", RDX, REFUSAL_ALIGNMENT, 0, 0xc4, 0xe2, 0x75, 0x92, 0x04, 0x10);
}

static void test_addresses(void)
{
	REFUSED("movl $1, (%rax)", RAX, REFUSAL_ADDRESS, WILD, 0xc7, 0x00, 1, 0, 0, 0);
	REFUSED("movss -4(%r13), %xmm0", R13, REFUSAL_ADDRESS, WILD - 4, 0xf3, 0x41, 0x0f, 0x10, 0x45, 0xfc);
	REFUSED("movss 0x100(%rbx,%r9,4), %xmm0", R9, REFUSAL_ADDRESS, 4 * WILD + 0x1008 + 0x100, 0xf3, 0x42, 0x0f, 0x10, 0x84, 0x8b, 0x00,
		0x01, 0, 0);
	REFUSED("movl 0x10(,%rcx,8), %eax", RCX, REFUSAL_ADDRESS, 8 * WILD + 0x10, 0x8b, 0x04, 0xcd, 0x10, 0, 0, 0);
	REFUSED("vmovups (%r8), %ymm0", R8, REFUSAL_ADDRESS, WILD, 0xc4, 0xc1, 0x7c, 0x10, 0x00);
	REFUSED("vmovups (%rax,%r15), %zmm0", R15, REFUSAL_ADDRESS, WILD + 0x1008, 0x62, 0xb1, 0x7c, 0x48, 0x10, 0x04, 0x38);
	REFUSED("call *%rax", RAX, REFUSAL_ADDRESS, WILD, 0xff, 0xd0);
	REFUSED("jmp *%r11", R11, REFUSAL_ADDRESS, WILD, 0x41, 0xff, 0xe3);
	REFUSED("ret", -1, REFUSAL_ADDRESS, WILD, 0xc3);
	REFUSED("rep movsb: from", RSI, REFUSAL_ADDRESS, WILD, 0xf3, 0xa4);
	REFUSED("rep stosb: to", RDI, REFUSAL_ADDRESS, WILD, 0xf3, 0xaa);
}

static void test_instructions(void)
{
	PRIVILEGED("hlt", 0xf4);
	PRIVILEGED("cli", 0xfa);
	PRIVILEGED("in $0x70, %al", 0xe4, 0x70);
	PRIVILEGED("int $0x40", 0xcd, 0x40);
	PRIVILEGED("wrmsr", 0x0f, 0x30);
	PRIVILEGED("mov %rax, %cr0", 0x0f, 0x22, 0xc0);
	ALIGNED("a vector instruction with the same byte", 0xc5, 0xfc, 0xf4, 0x00);
}

/* Whatever the bytes are, no more of them are read than there are. */
static void test_cut_short(void)
{
	static const uint8_t longest[] = { 0x66, 0xf3, 0x42, 0x0f, 0x10, 0x84, 0x8b, 0x00, 0x01, 0, 0 };
	uint64_t registers[REFUSAL_REGISTERS] = { 0 }, address;
	bool calm = true;

	for (size_t n = 0; n < sizeof(longest); n++) {
		uint8_t *copy = kw_alloc(n + 1); /* its end is watched where sanitizers are built in */

		memcpy(copy, longest, n);
		calm = calm && kw_refusal(copy, n, 0x5000, registers, &address) == REFUSAL_ALIGNMENT;
		kw_free(copy);
	}
	ok(calm, "a cut instruction says nothing");
}

int main(void)
{
	test_alignment();
	test_addresses();
	test_instructions();
	test_cut_short();
	return done();
}
