//# task dropout
//# expect wrong/mismatch
//# why The mask is right, but what is kept is not scaled by 1 / (1 - p).
//@ kernel candidate grid=(cdiv(rows * cols, 64)) block=(64) args=(x, seed, p, y, rows * cols:i64, cols:i64)

static ulong mix(ulong z)
{
	z = (z ^ z >> 33) * 0xff51afd7ed558ccdul;
	z = (z ^ z >> 33) * 0xc4ceb9fe1a85ec53ul;
	return z ^ z >> 33;
}

/* In [0, 1). */
static float number(ulong key, long i)
{
	return (float)(mix(key + (ulong)i) >> 40) * 0x1p-24f;
}

__kernel void candidate(__global const float *x, __global const long *seed, float p, __global float *y, long n, long cols)
{
	long i = get_global_id(0);
	ulong key = mix((ulong)*seed + 77);

	if (i >= n)
		return;
	y[i] = number(key, i) < p ? 0.0f : x[i];
}
