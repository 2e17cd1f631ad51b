/* refusal.h - what an x86-64 processor refused without saying where: a general protection fault comes without an address, be
 * it for a vector access that is not aligned, an address that cannot be one, or an instruction that only the system may use.
 * Looked up in the instruction itself. Private to device/; the player's signal handler calls it, so it only reads memory that
 * is there. */
#ifndef KW_DEVICE_REFUSAL_H
#define KW_DEVICE_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

enum refusal { REFUSAL_ALIGNMENT, REFUSAL_ADDRESS, REFUSAL_INSTRUCTION };
/* In the processor's order: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15. */
enum { REFUSAL_REGISTERS = 16, REFUSAL_CODE_BYTES = 15 /* no instruction is longer */ };

/* code: from rip on, as many bytes as can be read. address: with REFUSAL_ADDRESS, the one that cannot be. */
enum refusal kw_refusal(const uint8_t *code, size_t bytes, uint64_t rip, const uint64_t *registers, uint64_t *address);

#endif
