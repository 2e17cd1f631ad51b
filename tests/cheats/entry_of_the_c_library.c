//# task copy
//# expect launch_error/entry
//# why Names a function of the C library as its kernel and has none of its own.
//@ kernel memcpy args=(y, x, n:i64)
#include <stdint.h>

int64_t nothing;
