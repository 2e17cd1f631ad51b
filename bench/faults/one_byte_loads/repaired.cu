// repaired: 16 bytes a load
//@ kernel scale grid=(n / 4096) block=(256) args=(x, y)
//@ require n % 4096 == 0
__global__ void scale(const signed char *__restrict__ x, half *__restrict__ y)
{
	int i = (blockIdx.x * 256 + threadIdx.x) * 16;
	uint4 packed = *(const uint4 *)(x + i);
	const signed char *v = (const signed char *)&packed;
	__align__(16) half out[16];

#pragma unroll
	for (int k = 0; k < 16; k++)
		out[k] = __float2half(v[k] * 0.5f);
	*(uint4 *)(y + i) = *(const uint4 *)out;
	*(uint4 *)(y + i + 8) = *(const uint4 *)(out + 8);
}
