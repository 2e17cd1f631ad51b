#include "device/call.h"

#include <string.h>

/* Both conventions pass integers and floats in register classes of their own, each filled in order, and the rest as
 * 8-byte words in order: System V ABI AMD64 1.0, 3.2.3; AAPCS64, 6.8.2. So a call that loads every register, and
 * behind them a fixed number of words, suits any void function of such arguments; what it does not ask for it does not see. */
#if defined(__x86_64__)
enum { INT_REGISTERS = 6 };
#define INTS uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define PASS_INTS(f) f->ints[0], f->ints[1], f->ints[2], f->ints[3], f->ints[4], f->ints[5]
#elif defined(__aarch64__)
enum { INT_REGISTERS = 8 };
#define INTS uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define PASS_INTS(f) f->ints[0], f->ints[1], f->ints[2], f->ints[3], f->ints[4], f->ints[5], f->ints[6], f->ints[7]
#else
#error "the calling convention of this architecture is not known here"
#endif
enum { FLOAT_REGISTERS = 8, FEW_WORDS = 8 };
#define FLOATS double, double, double, double, double, double, double, double
#define PASS_FLOATS(f) f->floats[0], f->floats[1], f->floats[2], f->floats[3], f->floats[4], f->floats[5], f->floats[6], f->floats[7]
#define WORDS8 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define PASS8(w, i) w[i], w[i + 1], w[i + 2], w[i + 3], w[i + 4], w[i + 5], w[i + 6], w[i + 7]

typedef void (*in_registers)(INTS, FLOATS);
typedef void (*with_few)(INTS, FLOATS, WORDS8);
typedef void (*with_many)(INTS, FLOATS, WORDS8, WORDS8, WORDS8, WORDS8, WORDS8);
_Static_assert(WIRE_ARGS_MAX == 40, "with_many passes 40 words");

void kw_call_prepare(struct call_frame *f, const struct call_arg *args, int count)
{
	int ints = 0, floats = 0;

	memset(f, 0, sizeof(*f));
	for (int i = 0; i < count; i++) {
		if (args[i].is_float && floats < FLOAT_REGISTERS)
			memcpy(&f->floats[floats++], &args[i].bits, sizeof(uint64_t));
		else if (!args[i].is_float && ints < INT_REGISTERS)
			f->ints[ints++] = args[i].bits;
		else
			f->stack[f->stack_count++] = args[i].bits;
	}
}

void kw_call(void (*function)(void), const struct call_frame *f)
{
	const uint64_t *w = f->stack;

	if (f->stack_count == 0)
		((in_registers)function)(PASS_INTS(f), PASS_FLOATS(f));
	else if (f->stack_count <= FEW_WORDS)
		((with_few)function)(PASS_INTS(f), PASS_FLOATS(f), PASS8(w, 0));
	else
		((with_many)function)(PASS_INTS(f), PASS_FLOATS(f), PASS8(w, 0), PASS8(w, 8), PASS8(w, 16), PASS8(w, 24),
				      PASS8(w, 32));
}
