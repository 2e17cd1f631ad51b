//# task copy
//# expect ok
//# why A plain copy: its time is what the memory takes.
//# alone yes
//@ kernel candidate grid=(cdiv(n, 4096)) block=(256) args=(x, y, n:i64)
//@ require x.align >= 16 && y.align >= 16
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 4096ll + threadIdx.x * 4ll;

	if ((blockIdx.x + 1) * 4096ll <= n) {
		float4 v[4];

		for (int k = 0; k < 4; k++)
			v[k] = *(const float4 *)(x + i + k * 1024);
		for (int k = 0; k < 4; k++)
			*(float4 *)(y + i + k * 1024) = v[k];
		return;
	}
	for (int64_t c = blockIdx.x * 4096ll + threadIdx.x; c < n; c += 256)
		y[c] = x[c];
}
