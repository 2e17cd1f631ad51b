//# task average_u8
//# expect ok
//# why A sum of bytes is a byte, as in numpy, before it is divided.
//@ kernel candidate args=(x, z, y, n:i64)
void candidate(const uint8_t *x, const uint8_t *z, uint8_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = (uint8_t)(x[i] + z[i]) / 2;
}
