//# task affine
//# expect runtime_error/crash
//# why It sends the player's message of a fault, with the number of SIGTERM, as if somebody had ended it.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

void candidate(const float *x, float *y, int64_t n)
{
	struct { uint32_t kind; int32_t number; uint64_t nonce, address; uint32_t write, layers; int32_t abi, pad; char text[160]; } m;

	memset(&m, 0, sizeof(m));
	m.kind = 0x7279 + 5;
	m.number = 15;
	send(3, &m, sizeof(m), 0x4000);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
