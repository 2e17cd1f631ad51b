//@ kernel softmax_row grid=(rows) block=(THREADS) smem=(THREADS * 4) args=(x, y, cols:i32)
//@ tune THREADS in {64, 256} default 64
__kernel void softmax_row(__global const float *x, __global float *y, int cols, __local float *part)
{
	int row = get_group_id(0), l = get_local_id(0);
	__global const float *in = x + (long)row * cols;
	__global float *out = y + (long)row * cols;
	float m = -INFINITY, s = 0.0f;

	for (int c = l; c < cols; c += THREADS)
		m = kw_maxf(in[c], m);
	part[l] = m;
	for (int w = THREADS / 2; w > 0; w /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < w)
			part[l] = kw_maxf(part[l + w], part[l]);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	m = part[0];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int c = l; c < cols; c += THREADS)
		s += exp(in[c] - m);
	part[l] = s;
	for (int w = THREADS / 2; w > 0; w /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < w)
			part[l] += part[l + w];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	s = part[0];
	for (int c = l; c < cols; c += THREADS)
		out[c] = exp(in[c] - m) / s;
}
