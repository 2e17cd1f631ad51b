//# task softmax
//# expect ok
//# why A work-group a row, with a tree in local memory.
//@ kernel candidate grid=(rows) block=(THREADS) smem=(THREADS * 4) args=(x, y, cols:i64)
//@ tune THREADS in {64, 16} default 64
static float combine(__local float *part, float v, int largest)
{
	int l = get_local_id(0);

	barrier(CLK_LOCAL_MEM_FENCE);
	part[l] = v;
	for (int w = THREADS / 2; w > 0; w /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < w)
			part[l] = largest ? kw_maxf(part[l + w], part[l]) : part[l] + part[l + w];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	return part[0];
}

__kernel void candidate(__global const float *x, __global float *y, long cols, __local float *part)
{
	__global const float *p = x + get_group_id(0) * cols;
	__global float *q = y + get_group_id(0) * cols;
	float m = -INFINITY, s = 0.0f;

	for (long c = get_local_id(0); c < cols; c += THREADS)
		m = kw_maxf(p[c], m);
	m = combine(part, m, 1);
	for (long c = get_local_id(0); c < cols; c += THREADS)
		s += exp(p[c] - m);
	s = combine(part, s, 0);
	for (long c = get_local_id(0); c < cols; c += THREADS)
		q[c] = exp(p[c] - m) / s;
}
