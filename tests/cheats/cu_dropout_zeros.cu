//# task dropout
//# expect cheat/constant_output
//# why Everything is dropped.
//@ kernel candidate grid=(cdiv(rows * cols, 256)) block=(256) args=(x, seed, p, y, rows * cols:i64, cols:i64)

static __device__ uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 33) * 0xff51afd7ed558ccdull;
	z = (z ^ z >> 33) * 0xc4ceb9fe1a85ec53ull;
	return z ^ z >> 33;
}

/* In [0, 1). */
static __device__ float number(uint64_t key, int64_t i)
{
	return (float)(mix(key + (uint64_t)i) >> 40) * 0x1p-24f;
}

extern "C" __global__ void candidate(const float *x, const int64_t *seed, float p, float *y, int64_t n, int64_t cols)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	uint64_t key = mix((uint64_t)*seed + 77);

	if (i >= n)
		return;
	y[i] = 0.0f;
}
