//# task rowsum
//# expect wrong/race wrong/mismatch wrong/nan cheat/state
//# why The tree of sums has no barriers.
//@ kernel candidate grid=(rows) block=(64) smem=(64 * 4) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols, __local float *part)
{
	int l = get_local_id(0);
	float s = 0.0f;

	for (long c = l; c < cols; c += 64)
		s += x[get_group_id(0) * cols + c];
	part[l] = s;
	for (int w = 32; w > 0; w /= 2)
		if (l < w)
			part[l] += part[l + w];
	if (l == 0)
		y[get_group_id(0)] = part[0];
}
