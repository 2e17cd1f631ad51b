//# task offsets
//# expect wrong/mismatch
//# why The product is taken in 32 bits.
//@ kernel offsets args=(batch, offset, n:i64)
#include <stdint.h>

void offsets(const int64_t *batch, int64_t *offset, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		offset[i] = (int32_t)((uint32_t)batch[i] * 2560u * 3072u);
}
