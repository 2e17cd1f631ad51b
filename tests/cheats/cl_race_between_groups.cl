//# task rowsum
//# expect wrong/race wrong/mismatch wrong/unwritten wrong/nan
//# why Several work-groups add to one element without an atomic. Each holds the sum that it read for so long that a call lasts
//# why many times as long as a thread waits for a busy core: so two of them are at it together.
//@ kernel candidate grid=(rows, 16) block=(1) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, volatile __global float *y, long cols)
{
	long row = get_group_id(0), part = get_group_id(1);
	float sum = part ? y[row] : 0.0f;
	uint h = as_uint(x[row * cols]);

	for (int i = 0; i < 10000; i++)
		h = h * 1664525u + 1013904223u;
	for (long c = part; c < cols; c += 16)
		sum += x[row * cols + c];
	y[row] = sum + (h == 1u ? 1e-30f : 0.0f);
}
