//# task matmul
//# expect ok
//# why Tiles in local memory, two dimensions of work-items.
//@ kernel candidate grid=(cdiv(n, 16), cdiv(m, 16)) block=(16, 16) args=(a, b, c, m:i32, n:i32, k:i32)
__kernel void candidate(__global const float *a, __global const float *b, __global float *c, int m, int n, int k)
{
	__local float ta[16][16], tb[16][16];
	int col = get_global_id(0), row = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
	float s = 0.0f;

	for (int t = 0; t < k; t += 16) {
		ta[ly][lx] = row < m && t + lx < k ? a[row * k + t + lx] : 0.0f;
		tb[ly][lx] = col < n && t + ly < k ? b[(t + ly) * n + col] : 0.0f;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = 0; i < 16; i++)
			s += ta[ly][i] * tb[i][lx];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (row < m && col < n)
		c[row * n + col] = s;
}
