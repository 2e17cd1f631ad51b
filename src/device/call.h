/* call.h - calls a C function whose signature is known only at run time. Private to device/. */
#ifndef KW_DEVICE_CALL_H
#define KW_DEVICE_CALL_H

#include "device/wire.h"

#include <stdbool.h>

/* An argument ready to pass: integers and pointers in `bits`, floats as their bits. */
struct call_arg {
	bool is_float;                 /* goes to a vector register */
	uint64_t bits;
};
struct call_frame {
	uint64_t ints[8];
	double floats[8];
	uint64_t stack[WIRE_ARGS_MAX];
	int stack_count;
};
/* Lays the arguments out once, as the calling convention says. */
void kw_call_prepare(struct call_frame *f, const struct call_arg *args, int count);
void kw_call(void (*function)(void), const struct call_frame *f);

#endif
