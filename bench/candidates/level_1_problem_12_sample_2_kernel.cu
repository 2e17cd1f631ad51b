// Rows scaled by a vector, with plan lines.
//@ kernel scale_rows grid=(cdiv(1024, 256), 4096) block=(256) args=(A, B, y)
extern "C" __global__ void scale_rows(const float *a, const float4 *b, float4 *c)
{
	const long long row = blockIdx.y, i = row * 1024 + blockIdx.x * 256 + threadIdx.x;
	const float s = a[row];
	float4 v = b[i];

	v.x *= s;
	v.y *= s;
	v.z *= s;
	v.w *= s;
	c[i] = v;
}
