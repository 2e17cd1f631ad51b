//# task rmsnorm_f16
//# expect ok
//# why f16 through the builder's conversions, f32 inside.
//@ kernel candidate grid=(rows) block=(64) args=(x, y, cols:i64)
__kernel void candidate(__global const kw_f16 *x, __global kw_f16 *y, long cols)
{
	__local float part[64];
	__global const kw_f16 *p = x + get_group_id(0) * cols;
	__global kw_f16 *q = y + get_group_id(0) * cols;
	int l = get_local_id(0);
	float s = 0.0f;

	for (long c = l; c < cols; c += 64)
		s += KW_F32(p[c]) * KW_F32(p[c]);
	part[l] = s;
	for (int w = 32; w > 0; w /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < w)
			part[l] += part[l + w];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	s = sqrt(part[0] / (float)cols + 0.00001f);
	for (long c = l; c < cols; c += 64)
		kw_store(&q[c], KW_F32(p[c]) / s);
}
