//# task offsets
//# expect ok
//# why The index is widened before the product.
//@ kernel offsets args=(batch, offset, n:i64)
#include <stdint.h>

void offsets(const int64_t *batch, int64_t *offset, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		offset[i] = batch[i] * (2560 * 3072);
}
