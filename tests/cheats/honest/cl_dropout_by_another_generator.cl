//# task dropout
//# expect ok
//# why Not the reference's generator, but as random: every place has a number of its own, every seed others.
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
	y[i] = number(key, i) < p ? 0.0f : x[i] * (1.0f / (1.0f - p));
}
